// What libFuzzer, or replay.cc, calls: the target's run().
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    layline::fuzz::run(std::as_bytes(std::span(data, size)));
  } catch (const layline::UserError&) {
  }
  return 0;
}

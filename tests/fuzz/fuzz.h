// A fuzz target is one function from bytes: libFuzzer calls it with bytes that it makes up, and
// without libFuzzer replay.cc calls it with every file of the target's corpus. What a user's file
// may cause is a UserError; anything else that is thrown, and every report of a sanitizer, is a
// find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/error.h"

namespace layline::fuzz {

/// Reads `bytes` as whatever the target is about.
void run(std::span<const std::byte> bytes);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A property that must hold whatever the bytes are.
inline void require(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", law);
  std::abort();
}

}  // namespace layline::fuzz

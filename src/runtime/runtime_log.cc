#include "runtime/runtime_log.h"

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>

namespace layline {
namespace {

constexpr size_t kKeptLines = 4;  // the first lines of a failure name the cause

struct Log {
  std::mutex mutex;
  std::deque<std::string> lines;
};

Log& log() {
  static Log* const instance = new Log;  // never destroyed: threads may log until the very end
  return *instance;
}

void keep_message(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
                  const char* message, size_t length) {
  if (level != kError && level != kFatal) return;
  std::string line(message, length);
  // Lines quote names from the file, which may hold anything.
  std::replace_if(
      line.begin(), line.end(), [](signed char c) { return c < 0x20 || c == 0x7f; }, '?');
  const std::lock_guard lock(log().mutex);
  if (log().lines.size() < kKeptLines) log().lines.push_back(std::move(line));
}

/// Ends the process: the runtime found a program that it cannot even refuse in order. No stack
/// trace, no core dump.
[[noreturn]] void stop_process() {
  std::fprintf(stderr, "error: the ExecuTorch runtime stopped: %s\n",
               take_runtime_errors().c_str());
  std::_Exit(1);
}

}  // namespace

void capture_runtime_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    namespace et = executorch::runtime;
    et::PalImpl pal = et::PalImpl::create(keep_message, __FILE__);
    pal.abort = stop_process;
    et::register_pal(pal);
    et::runtime_init();
    take_runtime_errors();
  });
}

std::string take_runtime_errors() {
  const std::lock_guard lock(log().mutex);
  std::string joined;
  for (const std::string& line : log().lines) {
    if (!joined.empty()) joined += "; ";
    joined += line;
  }
  log().lines.clear();
  return joined;
}

}  // namespace layline

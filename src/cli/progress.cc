#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <utility>

namespace layline {
namespace {

void show_until_stopped(const std::stop_token& stop, const std::string& activity) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  for (int seconds = 1;; ++seconds) {
    stopped.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    if (stop.stop_requested()) {
      if (seconds > 1) std::fputs("\r\033[K", stderr);
      return;
    }
    const std::string line = fmt::format("\r{} ... {} s", activity, seconds);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  }
}

}  // namespace

Progress::Progress(std::string activity) {
  if (isatty(STDERR_FILENO) != 1) return;
  thread_ = std::jthread([activity = std::move(activity)](const std::stop_token& stop) {
    show_until_stopped(stop, activity);
  });
}

}  // namespace layline

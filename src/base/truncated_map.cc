#include "base/truncated_map.h"

#include <signal.h>
#include <unistd.h>

#include <string_view>

namespace layline {
namespace {

// Only what is safe in a signal handler: no allocation, no stdio, no destructors.
void report_and_exit(int) {
  constexpr std::string_view kMessage =
      "layline: a file was cut short, or its disk failed, while it was read; nothing was written\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(1);
}

}  // namespace

void exit_on_truncated_map() {
  struct sigaction action {};
  action.sa_handler = report_and_exit;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace layline

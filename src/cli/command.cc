#include "cli/command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace layline {

Assignment parse_assignment(std::string_view option, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    throw UserError("{} takes NAME=VALUE, not '{}'", option, text);
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw UserError("cannot write to standard output: {}", std::strerror(errno));
  }
}

}  // namespace layline

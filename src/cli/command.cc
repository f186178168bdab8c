#include "cli/command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace layline {

namespace fs = std::filesystem;

Assignment parse_assignment(std::string_view option, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    throw UserError("{} takes NAME=VALUE, not '{}'", option, text);
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error_a, error_b;
  // Made absolute first: weakly_canonical leaves a relative path as it is if nothing is there.
  const fs::path path_a = fs::weakly_canonical(fs::absolute(a, error_a), error_a);
  const fs::path path_b = fs::weakly_canonical(fs::absolute(b, error_b), error_b);
  return !error_a && !error_b && path_a == path_b;
}

void check_stays(const std::string& read, std::string_view what, const std::string& written) {
  if (!read.empty() && !written.empty() && same_file(read, written))
    throw UserError("'{}' would be written over the {}", written, what);
}

void write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw UserError("cannot write to standard output: {}", std::strerror(errno));
  }
}

}  // namespace layline

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"

namespace layline {
namespace {

constexpr std::array<std::string_view, 3> kOwn = {"compile", "explain", "diff"};

}  // namespace

void add_runtime_commands(CLI::App&) {}

void hand_over(std::span<char* const> arguments) {
  if (arguments.size() > 1 && std::ranges::find(kOwn, arguments[1]) != kOwn.end()) return;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto other =
      (error ? std::filesystem::path(arguments[0]) : self).parent_path() / "layline-runtime";
  execv(other.c_str(), arguments.data());
  throw UserError("cannot start '{}', which runs programs and is installed with layline: {}",
                  other.string(), std::strerror(errno));
}

}  // namespace layline

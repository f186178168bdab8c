#include "cli/runtime/huge_pages.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace layline {
namespace {

// The tunable of glibc's manual, "Memory Allocation Tunables": 1 asks the kernel for transparent
// huge pages.
constexpr const char* kVariable = "GLIBC_TUNABLES";
constexpr std::string_view kTunable = "glibc.malloc.hugetlb=1";

/// This process's arguments, its own name first.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string word; std::getline(file, word, '\0');) arguments.push_back(std::move(word));
  return arguments;
}

}  // namespace

void allocate_in_huge_pages() {
  const char* given = std::getenv(kVariable);
  std::string tunables = given == nullptr ? "" : given;
  if (tunables.find(kTunable) != std::string::npos) return;
  tunables.append(tunables.empty() ? "" : ":").append(kTunable);
  setenv(kVariable, tunables.c_str(), 1);
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  execv("/proc/self/exe", words.data());
  throw UserError("cannot start anew with huge pages: {}", std::strerror(errno));
}

}  // namespace layline

// The graphs of tests/near_misses through the whole compiler: whatever the passes make of them
// together, the program gives what the graph means, on the runtime.
#include "../near_misses.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace layline {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = LAYLINE_TEST_DATA "/../near_misses";

class NearMissPrograms : public testing::TestWithParam<std::string> {};

TEST_P(NearMissPrograms, GiveWhatTheGraphsMean) {
  const fs::path scratch =
      fs::path(testing::TempDir()) / fmt::format("near_misses_{}_{}", GetParam(), ::getpid());
  fs::create_directories(scratch);
  for (const NearMiss& near : read_near_misses(kFolder / (GetParam() + ".near"))) {
    if (near.target == "tosa" || near.alone) continue;
    const fs::path model = scratch / "model.lay", told = scratch / "told";
    std::ofstream(model) << near.text;
    std::string profile;  // "xnnpack avx2" is for that machine
    if (const size_t machine = near.target.find(' '); machine != std::string::npos)
      profile = "--profile epyc-" + near.target.substr(machine + 1);
    const int status = std::system(fmt::format("cd '{}' && '{}' verify model.lay {} >told 2>&1",
                                               scratch.string(), LAYLINE_BINARY, profile)
                                       .c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    // What the runtime has no kernels for is refused, with one line that says so.
    if (code == 0 || code == 1) continue;
    std::ifstream file(told);
    ADD_FAILURE() << near.name << "\n" << std::string(std::istreambuf_iterator<char>(file), {});
  }
  fs::remove_all(scratch);
}

INSTANTIATE_TEST_SUITE_P(Passes, NearMissPrograms, testing::ValuesIn(near_miss_files(kFolder)),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace layline

// The same model gives the same program, byte for byte, however often, where and by how many
// processors it is compiled. Builds of other kinds are compared by `make same-programs`.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fixture.h"
#include "layline/version.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

class Determinism : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) /
                 fmt::format("layline_determinism_{}_{}", GetParam(), ::getpid());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  /// The program of a model; `environment` is shell text before the command.
  std::string program(const std::string& environment, const fs::path& model,
                      const std::string& target) const {
    const fs::path output = directory_ / "program";
    const std::string command = fmt::format(
        "cd '{}' && {} '{}' compile '{}' --target {} -o '{}' >/dev/null", directory_.string(),
        environment, LAYLINE_BINARY, model.string(), target, output.string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream file(output, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path directory_;
};

TEST_P(Determinism, OneModelIsOneProgram) {
  const fs::path model = model_of(GetParam());
  const fs::path copy = directory_ / "another_name.pt2";
  fs::copy_file(model, copy);
  for (const std::string target : {"xnnpack", "tosa"}) {
    SCOPED_TRACE(target);
    const std::string once = program("", model, target);
    ASSERT_FALSE(once.empty());
    // EXPECT_TRUE: nobody wants to read the difference of two binary files.
    EXPECT_TRUE(program("", model, target) == once) << "another run";
    EXPECT_TRUE(program("", copy, target) == once) << "a copy of the model, elsewhere";
    EXPECT_TRUE(program("OMP_NUM_THREADS=1 taskset -c 0", model, target) == once) << "one core";
    EXPECT_TRUE(program("OMP_NUM_THREADS=7", model, target) == once) << "more threads than cores";
    EXPECT_TRUE(program("MALLOC_PERTURB_=165 MALLOC_CONF=junk:true", model, target) == once)
        << "memory that is not zero";
  }
}

TEST_P(Determinism, TheProgramSaysWhichVersionWroteIt) {
  const fs::path model = model_of(GetParam());
  EXPECT_NE(program("", model, "xnnpack").find("\"compiler\":\"layline " LAYLINE_VERSION "\""),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Models, Determinism,
                         testing::Values("deit", "dense_net", "shuffle_net", "attention_groups",
                                         "quantised_pt2e_static"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace layline

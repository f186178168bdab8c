// `layline tune`: what it measures is a profile that `compile` takes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/compile.h"
#include "fixture.h"
#include "targets/xnnpack/profile.h"

namespace layline {
namespace {

namespace fs = std::filesystem;

class Tune : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) / fmt::format("layline_tune_{}", ::getpid());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string file(const std::string& name) const { return directory_ / name; }

  /// Exit status of layline.
  int layline(const std::string& arguments) const {
    const int status = std::system(fmt::format("cd '{}' && '{}' {} >out 2>err </dev/null",
                                               directory_.string(), LAYLINE_BINARY, arguments)
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string contents(const std::string& name) const {
    std::ifstream stream(file(name));
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path directory_;
};

TEST_F(Tune, WritesAProfileThatCompileTakes) {
  ASSERT_EQ(layline("tune -o device.json --iterations 5"), 0) << contents("err");
  EXPECT_NE(contents("out").find("channel shuffle"), std::string::npos);
  const xnnpack::Profile profile = xnnpack::find_profile(file("device.json"));
  EXPECT_EQ(profile.name, "device");
  EXPECT_FALSE(profile.moves.slice.points.empty());
  EXPECT_EQ(layline(fmt::format("compile '{}' --profile device.json -o net.pte",
                                model_of("shuffle_net"))),
            0)
      << contents("err");
}

TEST_F(Tune, ABadProfileIsRefused) {
  std::ofstream(file("bad.json")) << "{\"version\": 7}";
  const std::string model = fmt::format("'{}'", model_of("shuffle_net"));
  EXPECT_EQ(layline("compile " + model + " --profile bad.json -o net.pte"), 1);
  EXPECT_NE(contents("err").find("bad.json: a cost profile of version 7"), std::string::npos)
      << contents("err");
  EXPECT_EQ(layline("compile " + model + " --profile none.json -o net.pte"), 1);
  EXPECT_NE(contents("err").find("there is no profile `none.json`; give one of any-device"),
            std::string::npos)
      << contents("err");
  EXPECT_FALSE(fs::exists(file("net.pte")));
}

/// Costs decide: where slices of single elements are dear, a permute is better than many of them.
TEST_F(Tune, CostsDecideWhatIsPermuted) {
  xnnpack::Profile profile = xnnpack::default_profile();
  const auto permutes = [&](int64_t run_ps) {
    profile.moves.slice.points = {{4, run_ps}, {1'000'000'000, run_ps}};
    profile.moves.concat.points = profile.moves.slice.points;
    std::ofstream(file("costs.json")) << xnnpack::to_json(profile);
    CompileOptions options;
    options.for_target.profile = file("costs.json");
    return compile(model_of("shuffle_net"), options).report.permutes.final;
  };
  EXPECT_GT(permutes(1'000'000'000), permutes(0));
}

}  // namespace
}  // namespace layline

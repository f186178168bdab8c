// Fixtures with convolutions, compiled for a machine on which windows are slow
// (profiles/FORMAT.md).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/compile.h"
#include "fixture.h"
#include "targets/xnnpack/profile.h"

namespace layline {
namespace {

/// Where copying costs nothing, and a window a thousand times as much as a plain product.
std::string slow_windows() {
  xnnpack::Profile profile = xnnpack::default_profile();
  profile.moves.call_ps = 0;
  for (RunCosts* runs : {&profile.moves.slice, &profile.moves.concat}) runs->points = {{1, 0}};
  profile.products = {.window_fs = 1'000'000, .pointwise_fs = 1'000};
  const auto path = std::filesystem::temp_directory_path() /
                    ("layline-slow-windows-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << xnnpack::to_json(profile);
  return path;
}

class Unfolded : public testing::TestWithParam<std::string> {};

TEST_P(Unfolded, MatchesTorch) {
  const std::filesystem::path base = std::filesystem::path(LAYLINE_TEST_DATA) / GetParam();
  CompileOptions options;
  options.explain = true;
  options.profile = slow_windows();
  const Compiled compiled = compile(base.string() + ".pt2", options);
  std::filesystem::remove(options.profile);
  EXPECT_TRUE(std::ranges::any_of(compiled.explanations, [](const Explanation& explanation) {
    return explanation.pass == "unfold_convs" && explanation.text.starts_with("becomes");
  }));
  EXPECT_EQ(compiled.report.delegates, 1);
  expect_outputs(compiled.program, "forward", base, {1e-5});
}

INSTANTIATE_TEST_SUITE_P(All, Unfolded,
                         testing::Values("conv2d", "conv2d_pad", "conv2d_pad.channels_last",
                                         "dense_net", "fire_net", "residual_net", "shuffle_net",
                                         "segmentation_net", "vgg_net", "npu_resnet", "npu_unet"),
                         test_name);

}  // namespace
}  // namespace layline

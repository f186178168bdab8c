// Fixtures with convolutions, compiled for machines on which one of several is made of others
// (profiles/FORMAT.md).
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/sink.h"
#include "compiler/compile.h"
#include "fixture.h"
#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "pte/writer.h"
#include "runtime/program.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/profile.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/pipeline.h"

namespace layline {
namespace {

/// Where copying costs nothing, and only these products do.
std::string profile_of(const ProductCosts& products) {
  xnnpack::Profile profile = xnnpack::default_profile();
  profile.moves.call_ps = 0;
  for (RunCosts* runs : {&profile.moves.slice, &profile.moves.concat}) runs->points = {{1, 0}};
  profile.products = products;
  const auto path = std::filesystem::temp_directory_path() /
                    ("layline-conv-choice-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << xnnpack::to_json(profile);
  return path;
}

/// Compiles with the profile, sees the pass at work, and compares with torch's results.
void expect_remade(const std::string& fixture, const std::string& pass,
                   const ProductCosts& products) {
  CompileOptions options;
  options.explain = true;
  options.for_target.profile = profile_of(products);
  for (const char* other : {"split_depthwise", "winograd_convs", "unfold_convs"})
    if (pass != other) options.disabled_passes.emplace_back(other);
  const Compiled compiled = compile(model_of(fixture), options);
  std::filesystem::remove(options.for_target.profile);
  EXPECT_TRUE(std::ranges::any_of(compiled.explanations, [&](const Explanation& explanation) {
    return explanation.pass == pass && explanation.text.starts_with("becomes");
  }));
  EXPECT_EQ(compiled.report.delegates, 1);
  expect_outputs(compiled, fixture, {1e-5});
}

class Windows : public testing::TestWithParam<std::string> {};

TEST_P(Windows, UnfoldedMatchTorch) {
  expect_remade(GetParam(), "unfold_convs", {.window_fs = 1'000'000, .pointwise_fs = 1'000});
}

INSTANTIATE_TEST_SUITE_P(All, Windows,
                         testing::Values("conv2d", "conv2d_pad", "conv2d_pad.channels_last",
                                         "dense_net", "fire_net", "residual_net", "shuffle_net",
                                         "segmentation_net", "vgg_net", "npu_resnet", "npu_unet"),
                         test_name);

/// With windows of 3x3 that neither have a stride nor groups.
class PlainWindows : public testing::TestWithParam<std::string> {};

TEST_P(PlainWindows, ByWinogradMatchTorch) {
  expect_remade(GetParam(), "winograd_convs", {.window_fs = 1'000'000, .pointwise_fs = 1'000});
}

INSTANTIATE_TEST_SUITE_P(All, PlainWindows,
                         testing::Values("conv2d", "conv2d_pad", "conv2d_pad.channels_last",
                                         "dense_net", "fire_net", "segmentation_net", "vgg_net",
                                         "npu_resnet", "npu_unet"),
                         test_name);

class LargeWindows : public testing::TestWithParam<std::string> {};

TEST_P(LargeWindows, SplitMatchTorch) {
  expect_remade(GetParam(), "split_depthwise", {.depthwise_fs = 1'000, .grouped_fs = 1'000'000});
}

INSTANTIATE_TEST_SUITE_P(All, LargeWindows,
                         testing::Values("convnext_block", "convnext_block.decomposed",
                                         "npu_convnext", "npu_two_convnext"),
                         test_name);

TEST(IntegerWindows, OnRealsMatchTorch) {
  expect_remade("quantised_pt2e_static", "real_depthwise",
                {.depthwise_fs = 1'000,
                 .integer_depthwise9_fs = 1'000'000,
                 .integer_depthwise25_fs = 1'000'000,
                 .convert_fs = 1});
}

Tensor random_tensor(Shape shape, std::mt19937& random) {
  Tensor tensor({DType::f32, std::move(shape)});
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, normal(random));
  return tensor;
}

/// The largest difference to the evaluator's result, as a part of the largest result.
double error_of(const Graph& written, const Tensor& x, const TargetRules& target) {
  Graph graph = parse_graph(print(written), "the convolution");
  run_pipeline(graph, {.target = target});
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  Report report;
  MemorySink sink;
  write_program(xnnpack::lower(graphs, report), sink);
  LoadedProgram loaded = LoadedProgram::from_compiled(sink.bytes(), "the convolution");
  const std::vector<HostTensor> outputs = loaded.run({as_host(x)});
  const Tensor expected = evaluate(written, std::vector{x}).at(0);
  const Tensor actual({DType::f32, expected.type().shape}, outputs.at(0).bytes);
  double largest = 0, error = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    largest = std::max(largest, std::abs(expected.get(i)));
    error = std::max(error, std::abs(expected.get(i) - actual.get(i)));
  }
  return error / largest;
}

TEST(Winograd, ErrsLittleMoreThanAPlainConvolution) {
  std::mt19937 random(11);
  Graph graph("forward");
  const Builder build(graph, nullptr);
  Value* x = graph.add_input("x", {DType::f32, {1, 14, 14, 256}});
  Value* weight = build.constant(random_tensor({64, 3, 3, 256}, random));
  graph.add_output(
      "y", build.add(Op::conv, {x, weight}, ConvAttrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}}));
  const Tensor input = random_tensor({1, 14, 14, 256}, random);
  TargetRules target = xnnpack::rules();
  target.products = {.window_fs = 1'000'000, .pointwise_fs = 1'000, .depthwise_fs = 1'000};
  const double by_winograd = error_of(graph, input, target);
  target.products = {};
  const double plain = error_of(graph, input, target);
  EXPECT_LT(by_winograd, 2e-6);
  EXPECT_NE(by_winograd, plain);  // or it was not done
}

}  // namespace
}  // namespace layline

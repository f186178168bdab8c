// 3x3 convolutions by Winograd's method (src/transforms/winograd_convs.cc).
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

/// On which products in windows are dear, and everything else costs next to nothing.
TargetRules slow_windows() {
  TargetRules rules;
  rules.products.window_fs = 1'000'000'000;
  rules.products.pointwise_fs = rules.products.depthwise_fs = 1;
  return rules;
}

ConvAttrs window(Ints low, Ints high, Bounds bounds = {}) {
  return {{1, 1}, {1, 1}, std::move(low), std::move(high), 1, bounds};
}

TEST(WinogradConvs, KeepsTheResultForAnySizeAndPadding) {
  std::mt19937 random(5);
  auto upto = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  int remade = 0;
  for (int i = 0; i < 300; ++i) {
    const int64_t channels = upto(3), outputs = upto(3);
    const ConvAttrs attrs = window({upto(3) - 1, upto(3) - 1}, {upto(3) - 1, upto(3) - 1},
                                   i % 3 == 0 ? Bounds{0, 0.5} : Bounds{});
    TestModel model;
    std::vector<Value*> operands = {model.input({upto(2), 2 + upto(6), 2 + upto(6), channels}),
                                    model.weights({outputs, 3, 3, channels})};
    if (i % 2 == 0) operands.push_back(model.weights({outputs}));
    model.output(model.add(Op::conv, operands, attrs));
    model.on(slow_windows()).run({"winograd_convs"});
    // Without padding before the input, tiles would begin outside of it.
    const bool has_tiles = attrs.low[0] > 0 && attrs.low[1] > 0;
    EXPECT_EQ(model.count(Op::conv), has_tiles ? 32 : 1);
    remade += has_tiles;
  }
  EXPECT_GT(remade, 100);
}

TEST(WinogradConvs, TakesSixteenProductsForATile) {
  TestModel model;
  model.output(model.add(Op::conv, {model.input({1, 8, 8, 5}), model.weights({7, 3, 3, 5})},
                         window({1, 1}, {1, 1}, {0, 6})));
  model.on(slow_windows()).run({"winograd_convs"});
  int pointwise = 0, depthwise = 0, bounded = 0;
  for (const Node* node : model.built()) {
    if (node->is(Op::add) || node->is(Op::sub))
      bounded += node->attrs<BinaryAttrs>().bounds == Bounds{0, 6};
    if (!node->is(Op::conv)) continue;
    EXPECT_EQ(node->result()->shape()[1], Dim(4));
    node->attrs<ConvAttrs>().groups == 5 ? ++depthwise : ++pointwise;
  }
  EXPECT_EQ(pointwise, 16);
  EXPECT_EQ(depthwise, 16);
  EXPECT_EQ(bounded, 4);  // each of the four images of results, and none of the sums before
}

/// The filters are summed in pieces, on several threads, from weights that are moved and scaled in
/// pieces of their own.
TEST(WinogradConvs, SumsManyFilters) {
  for (const int64_t channels : {64, 67}) {
    TestModel plain;
    plain.output(plain.add(Op::conv,
                           {plain.input({1, 3, 3, channels}), plain.weights({600, 3, 3, channels})},
                           window({1, 1}, {1, 1})));
    plain.on(slow_windows()).run({"winograd_convs"});
    EXPECT_EQ(plain.count(Op::conv), 32);

    for (const bool moved : {false, true}) {
      TestModel scaled;
      Value* weight = moved ? scaled.to_channels_last(scaled.weights({600, channels, 3, 3}))
                            : scaled.weights({600, 3, 3, channels});
      Value* conv =
          scaled.add(Op::conv, {scaled.input({1, 3, 3, channels}), weight}, window({1, 1}, {1, 1}));
      scaled.output(scaled.add(Op::mul, {conv, scaled.weights({600})}));
      scaled.on(slow_windows());
      if (moved) scaled.run({"fold_constants"});
      scaled.run({"fold_affine", "winograd_convs"});
      EXPECT_EQ(scaled.count(Op::conv), 32);
    }
  }
}

TEST(WinogradConvs, OnlyWhereTheProfileSaysSo) {
  const auto convs = [](const TargetRules& target, int64_t side, int64_t channels) {
    TestModel model;
    model.output(model.conv(model.input({1, side, side, channels}), channels, 3, 1));
    model.on(target).run({"winograd_convs"});
    return model.count(Op::conv);
  };
  EXPECT_EQ(convs(slow_windows(), 8, 4), 32);
  EXPECT_EQ(convs(TargetRules{}, 8, 4), 1);  // nothing was measured
  TargetRules measured;
  measured.products = {.window_fs = 17'000, .pointwise_fs = 17'000, .depthwise_fs = 42'000};
  EXPECT_EQ(convs(measured, 28, 64), 32);
  // Few channels: the sums before and after cost more than the products that they save.
  EXPECT_EQ(convs(measured, 28, 2), 1);
  measured.orders.moves.call_ps = 1'000'000'000;
  EXPECT_EQ(convs(measured, 28, 64), 1);
}

TEST(WinogradConvs, LeavesOtherWindows) {
  TestModel model;
  Value* x = model.input({1, 9, 9, 4});
  const auto conv = [&](Ints size, Ints stride, Ints dilation, int64_t groups) {
    model.output(
        model.add(Op::conv, {x, model.weights({4, size[0], size[1], 4 / groups})},
                  ConvAttrs{std::move(stride), std::move(dilation), {1, 1}, {1, 1}, groups, {}}));
  };
  conv({3, 3}, {2, 2}, {1, 1}, 1);
  conv({3, 3}, {1, 1}, {2, 2}, 1);
  conv({3, 3}, {1, 1}, {1, 1}, 2);
  conv({3, 3}, {1, 1}, {1, 1}, 4);
  conv({5, 3}, {1, 1}, {1, 1}, 1);
  conv({1, 3}, {1, 1}, {1, 1}, 1);
  Value* computed = model.input({4, 3, 3, 4});
  model.output(model.add(Op::conv, {x, computed}, window({1, 1}, {1, 1})));
  // So small that tiles would have enough rows.
  model.output(model.add(Op::conv, {model.input({1, 2, 2, 4}), model.weights({4, 3, 3, 4})},
                         ConvAttrs{{2, 2}, {1, 1}, {1, 1}, {2, 2}, 1, {}}));
  model.on(slow_windows()).run({"winograd_convs"});
  EXPECT_EQ(model.count(Op::conv), 8);
}

TEST(WinogradConvs, CutsOffWhatIsOdd) {
  const auto slices = [](int64_t height, int64_t width) {
    TestModel model;
    model.output(model.conv(model.input({1, height, width, 2}), 2, 3, 1));
    model.on(slow_windows()).run({"winograd_convs"});
    return model.count(Op::slice);
  };
  EXPECT_EQ(slices(4, 6), 0);
  EXPECT_EQ(slices(3, 6), 1);
  EXPECT_EQ(slices(4, 5), 1);
  EXPECT_EQ(slices(3, 5), 2);
}

}  // namespace
}  // namespace layline

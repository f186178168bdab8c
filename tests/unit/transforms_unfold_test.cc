// Convolutions by pointwise ones (src/transforms/unfold_convs.cc).
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

TargetRules costs(int64_t window_fs, int64_t pointwise_fs) {
  TargetRules rules;
  rules.products = {window_fs, pointwise_fs};
  return rules;
}

// A target on which windows are slow, and on which copying costs next to nothing.
TargetRules slow_windows() { return costs(1'000'000, 1'000); }

ConvAttrs window(int64_t stride, int64_t dilation, int64_t low, int64_t high) {
  return {{stride, stride}, {dilation, dilation}, {low, low}, {high, high}, 1, {}};
}

TEST(UnfoldConvs, KeepsTheResultForAnyWindow) {
  std::mt19937 random(3);
  auto upto = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  for (int i = 0; i < 300; ++i) {
    const int64_t rows = upto(4), columns = upto(4), channels = upto(3), outputs = upto(3);
    const ConvAttrs attrs{{upto(3), upto(3)},
                          {upto(2), upto(2)},
                          {upto(3) - 1, upto(3) - 1},
                          {upto(3) - 1, upto(3) - 1},
                          1,
                          i % 3 == 0 ? Bounds{0, 6} : Bounds{}};
    TestModel model;
    std::vector<Value*> operands = {model.input({upto(2), 6 + upto(5), 6 + upto(5), channels}),
                                    model.weights({outputs, rows, columns, channels})};
    if (i % 2 == 0) operands.push_back(model.weights({outputs}));
    model.output(model.add(Op::conv, operands, attrs));
    model.on(slow_windows()).run({"unfold_convs"});
    const bool pointwise = rows * columns == 1 && attrs.stride == Ints{1, 1};
    EXPECT_EQ(model.explanations().size(), pointwise ? 0 : 1);
    EXPECT_EQ(model.count(Op::conv), rows);
    for (const Node* node : model.built())
      if (node->is(Op::conv) && !pointwise) {
        EXPECT_EQ(node->operand(1)->shape()[2], Dim(1));
        EXPECT_EQ(node->attrs<ConvAttrs>().stride, (Ints{1, 1}));
      }
  }
}

TEST(UnfoldConvs, OnlyWhereTheProfileSaysSo) {
  const auto convs = [](const TargetRules& target) {
    TestModel model;
    Value* x = model.input({1, 28, 28, 64});
    model.output(model.conv(x, 64, 3, 1));
    model.on(target).run({"unfold_convs"});
    return model.count(Op::conv);
  };
  EXPECT_EQ(convs(slow_windows()), 3);
  EXPECT_EQ(convs(costs(0, 0)), 1);  // nothing was measured
  EXPECT_EQ(convs(costs(17'000, 17'500)), 1);
  EXPECT_EQ(convs(costs(20'000, 18'000)), 1);
  // Copying that costs more than is saved.
  TargetRules dear = slow_windows();
  dear.orders.moves.slice.points = {{1, 1'000'000'000}};
  EXPECT_EQ(convs(dear), 1);
}

TEST(UnfoldConvs, LeavesGroupsVolumesAndComputedWeights) {
  TestModel model;
  Value* x = model.input({1, 9, 9, 4});
  model.output(model.conv(x, 4, 3, 1, 2));
  model.output(model.conv(x, 4, 3, 1, 4));
  Value* computed = model.input({4, 3, 3, 4});
  model.output(model.add(Op::conv, {x, computed}, window(1, 1, 1, 1)));
  Value* volume = model.input({1, 5, 5, 5, 2});
  model.output(model.add(Op::conv, {volume, model.weights({2, 3, 3, 3, 2})},
                         ConvAttrs{{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 1, {}}));
  model.on(slow_windows()).run({"unfold_convs"});
  EXPECT_EQ(model.count(Op::conv), 4);
}

TEST(UnfoldConvs, CutsOnlyWhatIsNotWhole) {
  const auto slices = [](int64_t rows, int64_t columns) {
    TestModel model;
    model.output(model.add(Op::conv,
                           {model.input({1, 9, 9, 4}), model.weights({4, rows, columns, 4})},
                           window(1, 1, 0, 0)));
    model.on(slow_windows()).run({"unfold_convs"});
    EXPECT_EQ(model.count(Op::pad), 0);
    for (const Node* node : model.built())
      if (node->is(Op::conv)) {
        EXPECT_EQ(node->attrs<ConvAttrs>().dilation, (Ints{1, 1}));
      }
    return model.count(Op::slice);
  };
  EXPECT_EQ(slices(1, 3), 3);
  EXPECT_EQ(slices(3, 1), 3);
  EXPECT_EQ(slices(2, 3), 5);
}

TEST(UnfoldConvs, LeavesHalfPrecision) {
  TestModel model;
  Value* x = model.input({1, 9, 9, 4}, DType::f16);
  Value* weight = model.constant(
      Constant::owned(DType::f16, {4, 3, 3, 4}, std::vector<std::byte>(size_t{4} * 9 * 4 * 2)));
  model.output(model.add(Op::conv, {x, weight}, window(1, 1, 1, 1)));
  model.on(slow_windows()).run({"unfold_convs"});
  EXPECT_EQ(model.count(Op::conv), 1);
}

}  // namespace
}  // namespace layline

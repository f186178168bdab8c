// Depthwise convolutions with large windows (src/transforms/split_depthwise.cc).
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

/// On which products in large windows are dear, and everything else costs next to nothing.
TargetRules slow_groups() {
  TargetRules rules;
  rules.products.grouped_fs = 1'000'000'000;
  rules.products.depthwise_fs = 1;
  rules.depthwise_places = {3, 4, 9, 25};
  return rules;
}

int64_t places(const Node& conv) {
  return conv.operand(1)->shape()[1].value() * conv.operand(1)->shape()[2].value();
}

TEST(SplitDepthwise, KeepsTheResultForAnyWindow) {
  std::mt19937 random(7);
  auto upto = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  int split = 0;
  for (int i = 0; i < 300; ++i) {
    const int64_t rows = upto(11), columns = upto(11), channels = upto(3);
    const Ints dilation = {upto(2), upto(2)};
    // Mostly such that sizes stay, as in networks.
    const auto padding = [&](int64_t size, int64_t by) {
      return i % 4 == 0 ? upto(4) - 1 : (size - 1) * by / 2;
    };
    const int64_t low[] = {padding(rows, dilation[0]), padding(columns, dilation[1])};
    const int64_t high[] = {padding(rows, dilation[0]), padding(columns, dilation[1])};
    const ConvAttrs attrs{{upto(2), upto(2)}, dilation, {low[0], low[1]},
                          {high[0], high[1]}, channels, i % 3 == 0 ? Bounds{0, 0.5} : Bounds{}};
    TestModel model;
    std::vector<Value*> operands = {model.input({upto(2), 20 + upto(4), 20 + upto(4), channels}),
                                    model.weights({channels, rows, columns, 1})};
    if (i % 2 == 0) operands.push_back(model.weights({channels}));
    model.output(model.add(Op::conv, operands, attrs));
    model.on(slow_groups()).run({"split_depthwise"});
    const int convs = model.count(Op::conv);
    if (rows * columns <= 25) {
      EXPECT_EQ(convs, 1);
    }
    if (convs == 1) continue;
    ++split;
    int64_t all = 0;
    for (const Node* node : model.built())
      if (node->is(Op::conv)) {
        EXPECT_LE(places(*node), 25);
        all += places(*node);
      }
    EXPECT_EQ(all, rows * columns);
  }
  EXPECT_GT(split, 50);
}

TEST(SplitDepthwise, MakesThreeOfSevenBySeven) {
  const auto convs = [](const TargetRules& target) {
    TestModel model;
    model.output(model.conv(model.input({1, 14, 14, 8}), 8, 7, 3, 8));
    model.on(target).run({"split_depthwise"});
    return model.count(Op::conv);
  };
  EXPECT_EQ(convs(slow_groups()), 3);
  EXPECT_EQ(convs(TargetRules{}), 1);  // nothing was measured
  TargetRules alike = slow_groups();
  alike.products = {.depthwise_fs = 40'000, .grouped_fs = 60'000};
  EXPECT_EQ(convs(alike), 1);  // a kernel of 25 places three times, for 49
  TargetRules small = slow_groups();
  small.depthwise_places = {9};
  EXPECT_EQ(convs(small), 8);
  small.depthwise_places = {49};
  EXPECT_EQ(convs(small), 1);  // it has a kernel
  small.depthwise_places = {};
  EXPECT_EQ(convs(small), 1);  // it has none
}

/// The windows that one becomes, with their dilations.
std::string windows_of(int64_t rows, int64_t columns, int64_t low, int64_t high) {
  TestModel model;
  model.output(model.add(Op::conv,
                         {model.input({1, 20, 20, 2}), model.weights({2, rows, columns, 1})},
                         ConvAttrs{{1, 1}, {1, 1}, {low, low}, {high, high}, 2, {}}));
  model.on(slow_groups()).run({"split_depthwise"});
  std::string result;
  for (const Node* node : model.built()) {
    if (!node->is(Op::conv)) continue;
    const Shape& window = node->operand(1)->shape();
    result +=
        fmt::format("{}x{} by {},{}; ", window[1].value(), window[2].value(),
                    node->attrs<ConvAttrs>().dilation[0], node->attrs<ConvAttrs>().dilation[1]);
  }
  return result;
}

TEST(SplitDepthwise, TakesTheFewestWindows) {
  // A row each, though 2x7 and 2x6 would be as many.
  EXPECT_EQ(windows_of(2, 13, 1, 1), "1x13 by 1,1; 1x13 by 1,1; ");
  EXPECT_EQ(windows_of(2, 14, 1, 1), "1x14 by 1,1; 1x14 by 1,1; ");
  // Rows 0 and 2, and row 1: rows 0 and 1 would leave one that reaches no padding.
  EXPECT_EQ(windows_of(3, 9, 1, 1), "2x9 by 2,1; 1x9 by 1,1; ");
  // All rows, and every second column.
  EXPECT_EQ(windows_of(3, 13, 1, 1), "3x7 by 1,2; 3x6 by 1,2; ");
  EXPECT_EQ(windows_of(10, 5, 1, 1), "5x5 by 2,1; 5x5 by 2,1; ");
  // Rows 0, 2 and 4, and rows 1 and 3.
  EXPECT_EQ(windows_of(5, 6, 1, 3), "3x6 by 2,1; 2x6 by 2,1; ");
}

TEST(SplitDepthwise, ExplainsAWindowThatWouldCutItsInput) {
  TestModel model;
  model.output(model.add(Op::conv, {model.input({1, 14, 14, 8}), model.weights({8, 7, 7, 1})},
                         ConvAttrs{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 8, {}}));
  model.on(slow_groups()).run({"split_depthwise"});
  EXPECT_EQ(model.count(Op::conv), 1);
  ASSERT_EQ(model.explanations().size(), 1);
  EXPECT_EQ(model.explanations()[0].text,
            "stays one convolution: parts of its window would cut its input");
}

TEST(SplitDepthwise, LeavesGroupsOfSeveralChannels) {
  TestModel model;
  Value* x = model.input({1, 14, 14, 8});
  model.output(model.conv(x, 8, 7, 3, 4));
  model.output(model.conv(x, 16, 7, 3, 8));
  model.output(model.conv(x, 8, 7, 3));
  model.on(slow_groups()).run({"split_depthwise"});
  EXPECT_EQ(model.count(Op::conv), 3);
}

}  // namespace
}  // namespace layline

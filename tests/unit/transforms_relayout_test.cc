// fold_relayouts and place_layouts, and what they make of whole networks.
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

constexpr int kSwap[] = {1, 0};

TEST(FoldRelayouts, InversesCancel) {
  TestModel m;
  Value* x = m.input({1, 3, 4, 5});
  m.output(m.from_channels_last(m.to_channels_last(x))).run({"fold_relayouts"});
  EXPECT_EQ(m.count(Op::relayout), 0);
  EXPECT_EQ(m.built().outputs()[0].value, x);
}

TEST(FoldRelayouts, ViewsComposeWithMovements) {
  TestModel m;
  Value* x = m.input({2, 3, 4});
  Value* y = m.view(m.permute(m.view(x, {6, 4}), kSwap), {2, 2, 6});
  m.output(y).run({"fold_relayouts"});
  EXPECT_EQ(m.count(Op::relayout), 1);
}

TEST(FoldRelayouts, TwoStepsStayWhereOneCannotDo) {
  TestModel m;
  Value* x = m.permute(m.input({2, 3}), kSwap);  // [3,2], then split by 2
  m.output(m.permute(m.view(x, {2, 3}), kSwap)).run({"fold_relayouts", "fold_relayouts"});
  EXPECT_EQ(m.moves(), 2);
}

TEST(FoldRelayouts, SharedMovementIsNotRepeatedForAView) {
  TestModel m;
  Value* moved = m.permute(m.input({2, 3}), kSwap);
  m.output(moved).output(m.view(moved, {6})).run({"fold_relayouts"});
  EXPECT_EQ(m.moves(), 1);
}

TEST(FoldRelayouts, SharedMovementIsReadThroughByAnother) {
  TestModel m;
  Value* moved = m.permute(m.input({2, 3}), kSwap);
  m.output(moved).output(m.permute(moved, kSwap)).run({"fold_relayouts"});
  EXPECT_EQ(m.moves(), 1);
  EXPECT_EQ(m.built().outputs()[1].value, m.built().inputs()[0].value);
}

TEST(FoldRelayouts, StaysWithinTheFactorsThatAKernelMoves) {
  // Reversing seven axes is one relayout of seven factors; in two steps it is five and four.
  for (const size_t most : {6, 7}) {
    TestModel m;
    TargetRules target;
    target.orders.moves.most_factors = most;
    m.on(target);
    Value* x = m.input({2, 3, 2, 3, 2, 3, 2});
    x = m.permute(x, std::vector{3, 2, 1, 0, 4, 5, 6});
    m.output(m.permute(x, std::vector{6, 5, 4, 0, 1, 2, 3})).run({"fold_relayouts"});
    EXPECT_EQ(m.moves(), most == 6 ? 2 : 1);
  }
}

TEST(FoldRelayouts, WhatNoKernelMovesIsComposedOn) {
  TestModel m;
  Value* x = m.input({2, 3, 2, 3, 2, 3, 2});
  const std::vector reversal{6, 5, 4, 3, 2, 1, 0};
  m.output(m.permute(m.permute(x, reversal), reversal)).run({"fold_relayouts"});
  EXPECT_EQ(m.moves(), 0);
}

// ---- place_layouts ----

TEST(PlaceLayouts, ElementwiseOpsBetweenInverses) {
  TestModel m;
  Value* a = m.from_channels_last(m.input({1, 4, 5, 3}));
  Value* b = m.from_channels_last(m.input({1, 4, 5, 3}));
  m.output(m.to_channels_last(m.relu(m.add(Op::add, {a, b})))).run({"place_layouts"});
  EXPECT_EQ(m.count(Op::relayout), 0);
}

TEST(PlaceLayouts, ConstantsAndBroadcastOperandsFollow) {
  TestModel m;
  Value* x = m.from_channels_last(m.input({1, 4, 5, 3}));
  x = m.add(Op::mul, {x, m.weights({3, 1, 1})});
  x = m.add(Op::add, {x, m.weights({3, 4, 5})});
  x = m.add(Op::mul, {m.number(2), x});
  x = m.add(Op::mul, {x, m.input({1, 3, 1, 1})});  // only its shape changes
  x = m.add(Op::sub, {m.weights({5}), x});
  m.output(m.to_channels_last(x)).run({"place_layouts"});
  EXPECT_EQ(m.moves(), 0);
  for (const Node* node : m.built())
    EXPECT_TRUE(!node->is(Op::mul) || node->result()->shape() == (Shape{1, 4, 5, 3}));
}

TEST(PlaceLayouts, MovesTheSmallerOperandWhereTheyDisagree) {
  TestModel m;
  Value* a = m.from_channels_last(m.input({2, 4, 4, 4}));
  Value* b = m.input({4, 4, 4});
  m.output(m.to_channels_last(m.add(Op::add, {a, b}))).run({"place_layouts"});
  EXPECT_EQ(m.moves(), 1);
  EXPECT_EQ(m.only(Op::relayout)->operand(0), b);
}

TEST(PlaceLayouts, AMovedValueThatIsAnOutputIsMovedOnce) {
  TestModel m;
  Value* a = m.from_channels_last(m.input({1, 4, 5, 3}));
  m.output(a).output(m.relu(a)).output(m.add(Op::neg, {a})).run({"fold_relayouts"});
  m.run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(PlaceLayouts, NothingToGainLeavesTheGraphAlone) {
  TestModel m;
  m.output(m.relu(m.from_channels_last(m.input({1, 4, 5, 3}))));
  const std::string before = print(m.built());
  m.run({"place_layouts"});
  EXPECT_EQ(print(m.built()), before);
}

TEST(PlaceLayouts, DoesNotBreakBroadcastAcrossAMergedAxis) {
  TestModel m;
  Value* x = m.input({3, 2, 4});
  const Relayout merge = Relayout::from_factors({3, 2, 4}, {3, 2, 4}, {1, 0, 2}, {6, 4});
  m.output(m.add(Op::add, {m.relayout(x, merge), m.weights({6, 1})})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(PlaceLayouts, OpsAlongAxesBetweenInverses) {
  const auto crosses = [](auto&& make) {
    TestModel m;
    Value* x = m.from_channels_last(m.input({2, 4, 5, 3}));
    m.output(m.to_channels_last(make(m, x))).run({"place_layouts"});
    return m.moves() == 0;
  };
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) { return m.slice(x, 1, 1, 2); }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) { return m.slice(x, 2, 1, 2, 2); }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) {
    return m.concat({x, x, m.weights({2, 3, 4, 5})}, 1);
  }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) {
    return m.add(Op::pad, {x}, PadAttrs{{0, 1, 0, 2}, {0, 0, 3, 0}, PadMode::constant, 0.5});
  }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) {
    return m.add(Op::pad, {x}, PadAttrs{{0, 0, 1, 2}, {0, 0, 3, 0}, PadMode::reflect, 0});
  }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) {
    return m.add(Op::flip, {x}, AxesAttrs{{1, 3}});
  }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) {
    return m.add(Op::roll, {x}, RollAttrs{{3, 1}, {1, 2}});
  }));
  EXPECT_TRUE(
      crosses([](TestModel& m, Value* x) { return m.add(Op::softmax, {x}, AxisAttrs{1}); }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) { return m.add(Op::cumsum, {x}, AxisAttrs{2}); }));
  EXPECT_TRUE(
      crosses([](TestModel& m, Value* x) { return m.add(Op::reduce_max, {x}, AxesAttrs{{1}}); }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) { return m.add(Op::argmax, {x}, AxisAttrs{2}); }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) {
    return m.expand(m.slice(x, 1, 0, 1), {2, 3, 4, 5});
  }));
}

TEST(PlaceLayouts, OpsAlongAxesOfASplitTensor) {
  // [2,6,8] to [2,2,8,3]: the last axis of the source is the third of the target, 6 is split.
  const Relayout split =
      Relayout::from_factors({2, 6, 8}, {2, 3, 2, 8}, {0, 2, 3, 1}, {2, 2, 8, 3});
  const auto crosses = [&](auto&& make) {
    TestModel m;
    Value* y = make(m, m.relayout(m.input({2, 6, 8}), split));
    const Dim n = y->shape()[0], d = y->shape()[1], last = y->shape()[2], c = y->shape()[3];
    m.output(m.relayout(
        y, Relayout::from_factors(y->shape(), {n, d, last, c}, {0, 3, 1, 2}, {n, c * d, last})));
    m.run({"place_layouts"});
    return m.moves() == 0;
  };
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) { return m.slice(x, 2, 1, 3, 2); }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) { return m.concat({x, x}, 2); }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) {
    return m.add(Op::reduce_sum, {x}, AxesAttrs{{0, 2}});
  }));
  EXPECT_TRUE(crosses([](TestModel& m, Value* x) { return m.slice(x, 1, 1, 1); }));
  EXPECT_TRUE(
      crosses([](TestModel& m, Value* x) { return m.add(Op::softmax, {x}, AxisAttrs{3}); }));
}

TEST(PlaceLayouts, GlobalMeanLeavesAView) {
  TestModel m;
  Value* x = m.from_channels_last(m.input({2, 4, 5, 3}));
  m.output(m.add(Op::reduce_mean, {x}, AxesAttrs{{2, 3}})).run({"place_layouts"});
  EXPECT_EQ(m.moves(), 0);
}

TEST(PlaceLayouts, ThePadOfAConvolution) {
  TestModel m;
  Value* x = m.input({1, 3, 6, 6});
  Value* padded = m.add(Op::pad, {x}, PadAttrs{{0, 0, 1, 1}, {0, 0, 2, 2}, PadMode::constant, 0});
  m.output(m.conv(m.to_channels_last(padded), 4, 3)).run({"place_layouts"});
  EXPECT_EQ(m.only(Op::conv)->operand(0)->def()->op(), Op::pad);
  m.run_all();
  EXPECT_EQ(m.count(Op::pad), 0);
  EXPECT_EQ(m.only(Op::conv)->attrs<ConvAttrs>().high, (Ints{2, 2}));
}

// ---- Networks ----

TEST(Networks, ConvolutionsKeepOneRelayoutAtEachBorder) {
  TestModel m;
  Value* x = m.input({1, 3, 6, 6});
  for (int i = 0; i < 4; ++i) x = m.relu(m.batch_norm(m.conv_nchw(x, 4, 3, 1)));
  m.output(x).run_all();
  EXPECT_EQ(m.moves(), 2);
  EXPECT_EQ(m.work(), 2 + 4);  // every batch norm and every relu is gone
}

TEST(Networks, ResidualBlocks) {
  TestModel m;
  Value* x = m.relu(m.conv_nchw(m.input({1, 3, 6, 6}), 4));
  for (int i = 0; i < 3; ++i) {
    Value* y = m.relu(m.batch_norm(m.conv_nchw(x, 4, 3, 1)));
    y = m.batch_norm(m.conv_nchw(y, 4));
    x = m.relu(m.add(Op::add, {y, x}));
  }
  x = m.add(Op::reduce_mean, {x}, AxesAttrs{{2, 3}});
  x = m.add(Op::linear, {m.view(x, {1, 4}), m.weights({10, 4}), m.weights({10})}, LinearAttrs{});
  m.output(x).run_all();
  EXPECT_EQ(m.moves(), 1);
  EXPECT_EQ(m.work(), 1 + 7 + 3 + 1 + 1);
}

TEST(Networks, DenseBlocks) {
  TestModel m;
  std::vector<Value*> parts = {m.conv_nchw(m.input({1, 3, 6, 6}), 4)};
  for (int i = 0; i < 4; ++i) {
    Value* all = m.concat(std::vector<Value*>(parts), 1);
    parts.push_back(m.conv_nchw(m.relu(m.batch_norm(all)), 2));
  }
  m.output(m.add(Op::reduce_mean, {m.concat(parts, 1)}, AxesAttrs{{2, 3}})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(Networks, SqueezeAndExcite) {
  TestModel m;
  Value* x = m.input({2, 3, 6, 6});
  for (int i = 0; i < 2; ++i) {
    x = m.add(Op::hardswish, {m.conv_nchw(x, 4)});
    Value* gate = m.add(Op::reduce_mean, {x}, AxesAttrs{{2, 3}});
    gate = m.add(Op::sigmoid, {m.conv_nchw(m.relu(m.conv_nchw(gate, 2)), 4)});
    x = m.add(Op::mul, {x, gate});
  }
  m.output(x).run_all();
  EXPECT_EQ(m.moves(), 2);
  EXPECT_EQ(m.count(Op::clamp), 0);
}

TEST(Networks, BatchNormOfAPooledValueFoldsThroughTheView) {
  TestModel m;
  Value* x = m.add(Op::reduce_mean, {m.conv_nchw(m.input({1, 3, 6, 6}), 4)}, AxesAttrs{{2, 3}});
  m.output(m.relu(m.batch_norm(m.conv_nchw(x, 4)))).run_all();
  EXPECT_EQ(m.count(Op::mul) + m.count(Op::add) + m.count(Op::clamp), 0);
}

TEST(Networks, ChannelShuffle) {
  TestModel m;
  Value* x = m.input({1, 4, 4, 4});
  for (int i = 0; i < 2; ++i) {
    Value* y = m.relu(m.conv_nchw(m.slice(x, 1, 2, 2), 2));
    x = m.concat({m.slice(x, 1, 0, 2), y}, 1);
    const int swap[] = {0, 2, 1, 3, 4};
    x = m.view(m.permute(m.view(x, {1, 2, 2, 4, 4}), swap), {1, 4, 4, 4});
  }
  m.output(x).run_all();
}

}  // namespace
}  // namespace layline

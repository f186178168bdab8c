// What users see of the layout engine, on the XNNPACK target: one test for each requirement, named
// by it. Every pass is checked against the reference evaluator on the way.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "random_op.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms_testing.h"

namespace layline {
namespace {

TestModel xnnpack_model() {
  TestModel m;
  m.on(xnnpack::rules());
  return m;
}

Value* linear(TestModel& m, Value* x, int64_t outputs, bool bias = true) {
  std::vector<Value*> operands = {x, m.weights({outputs, x->shape().back()})};
  if (bias) operands.push_back(m.weights({outputs}));
  return m.add(Op::linear, std::move(operands), LinearAttrs{});
}
/// x W with a constant W, as torch.matmul.
Value* matmul(TestModel& m, Value* x, int64_t outputs) {
  return m.add(Op::matmul, {x, m.weights({x->shape().back(), outputs})}, MatmulAttrs{});
}
Value* permute(TestModel& m, Value* x, std::vector<int> order) { return m.permute(x, order); }
Value* mean(TestModel& m, Value* x, Ints axes) {
  return m.add(Op::reduce_mean, {x}, AxesAttrs{axes});
}

int contractions(const TestModel& m) {
  return m.count(Op::linear) + m.count(Op::matmul) + m.count(Op::conv);
}

// ---- A: operands that share a layout ----

TEST(A1, OperandsOfOneOpShareALayoutOrTheGraphIsRefused) {
  TestModel m;
  Value* nchw = m.input({1, 3, 4, 5});
  EXPECT_THROW(m.add(Op::add, {nchw, m.to_channels_last(nchw)}), UserError);
}

TEST(A4, OperandsConvergeToTheLayoutThatCostsLeast) {
  TestModel m = xnnpack_model();
  Value* x = m.input({1, 4, 6, 6});
  Value* a = m.conv_nchw(x, 8, 3, 1);
  Value* b = m.conv_nchw(x, 8);
  m.output(mean(m, m.add(Op::mul, {m.add(Op::add, {a, b}), m.weights({1, 8, 1, 1})}), {2, 3}));
  m.run_all();
  EXPECT_EQ(m.moves(), 1);
  EXPECT_TRUE(m.certificate().optimal());
}

TEST(A4, WhereNothingImprovesTheGraphIsAsWithoutPlacement) {
  const auto make = [](TestModel& m) {
    Value* x = permute(m, m.input({2, 3, 4}), {2, 0, 1});
    m.output(m.add(Op::mul, {m.add(Op::tanh, {x}), m.weights({3})}));
    m.output(m.add(Op::softmax, {m.input({5, 7})}, AxisAttrs{1}));
  };
  TestModel with, without;
  make(with);
  make(without);
  run_pipeline(with.built(), {.target = xnnpack::rules()});
  run_pipeline(without.built(), {.target = xnnpack::rules(), .disabled = {"place_layouts"}});
  EXPECT_EQ(print(with.built()), print(without.built()));
}

// ---- B: pointwise affine through layout ops ----

TEST(B1, LinearOverChannelsOfAnImageNeedsNoPermute) {
  for (const bool as_matmul : {false, true}) {
    TestModel m = xnnpack_model();
    Value* x = m.relu(m.conv_nchw(m.input({1, 3, 8, 8}), 16, 3, 1));
    Value* rows = m.view(permute(m, x, {0, 2, 3, 1}), {64, 16});
    rows = as_matmul ? matmul(m, rows, 24) : linear(m, rows, 24);
    Value* y = permute(m, m.view(rows, {1, 8, 8, 24}), {0, 3, 1, 2});
    m.output(mean(m, m.relu(y), {2, 3})).run_all();
    EXPECT_EQ(m.moves(), 1);  // of the input
    EXPECT_EQ(contractions(m), 2) << print(m.built(), {.elide_constants = true});
    EXPECT_TRUE(m.certificate().optimal());
  }
}

TEST(B1, AnyChainOfRelayoutsBetween) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 3, 4, 8}), 6);
  Value* y = x;
  for (int i = 0; i < 20; ++i) {
    y = permute(m, m.view(permute(m, y, {0, 2, 3, 1}), {1, 4, 8, 6}), {0, 3, 1, 2});
    y = m.view(m.view(y, {6, 4, 8, 1}), {1, 6, 4, 8});
  }
  y = m.view(permute(m, y, {0, 2, 3, 1}), {4, 8, 6});
  y = permute(m, m.view(linear(m, y, 6), {1, 32, 6}), {0, 2, 1});
  m.output(mean(m, m.add(Op::add, {m.view(y, {1, 6, 4, 8}), x}), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(B2, ChannelsLastAndTransformerShapesStayAsTheyAre) {
  TestModel m = xnnpack_model();
  Value* x = m.input({1, 14, 14, 32});
  m.output(m.add(Op::add, {linear(m, m.add(Op::gelu, {linear(m, x, 64)}, GeluAttrs{}), 32), x}));
  Value* tokens = m.input({2, 16, 32});
  m.output(m.add(Op::add, {linear(m, m.relu(linear(m, tokens, 64)), 32), tokens})).run_all();
  EXPECT_EQ(m.moves(), 0);
  EXPECT_EQ(contractions(m), 4);
}

TEST(B2, MixerTransposesBetweenTokensAndChannels) {
  // Two linears over different axes: one transpose each way is not needed, the second linear's
  // matmul can take its operand transposed.
  TestModel m = xnnpack_model();
  Value* x = m.input({1, 16, 32});
  for (int i = 0; i < 2; ++i) {
    Value* y = permute(m, linear(m, m.relu(linear(m, permute(m, x, {0, 2, 1}), 8)), 16), {0, 2, 1});
    x = m.add(Op::add, {x, y});
    x = m.add(Op::add, {x, linear(m, m.relu(linear(m, x, 64)), 32)});
  }
  m.output(x);
  const int before = m.moves();
  m.run_all();
  EXPECT_LE(m.moves(), before);
  EXPECT_TRUE(m.certificate().optimal());
}

TEST(B3, AReshapeThatMixesAxesIsLeftExactlyAsItIs) {
  TestModel m = xnnpack_model();
  Value* x = m.input({1, 2, 3, 4});
  m.output(m.view(linear(m, m.view(x, {12, 2}), 4, false), {1, 4, 3, 4}));
  const std::string before = print(m.built());
  m.run_all();
  EXPECT_EQ(print(m.built()), before);
}

TEST(B3, AlsoBetweenConvolutions) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 3, 3, 4}), 2);
  Value* y = m.view(linear(m, m.view(x, {12, 2}), 4, false), {1, 4, 3, 4});
  m.output(mean(m, m.conv_nchw(y, 5), {2, 3})).run_all();
  EXPECT_GE(m.moves(), 2);  // it cannot be had without moving data
}

TEST(B4, NeverMiscompiled) {
  using Between = Value* (*)(TestModel&, Value*);
  const Between kinds[] = {
      // A gather of pixels, then one of channels.
      [](TestModel& m, Value* rows) {
        return m.add(Op::gather,
                     {rows, m.constant(Constant::owned(DType::i64, {16},
                                                       [] {
                                                         Tensor order({DType::i64, {16}});
                                                         for (int64_t i = 0; i < 16; ++i)
                                                           order.set_int(i, (7 * i) % 16);
                                                         return std::vector<std::byte>(
                                                             order.bytes().begin(),
                                                             order.bytes().end());
                                                       }()))},
                     AxisAttrs{0});
      },
      // Spatial mixing.
      [](TestModel& m, Value* rows) {
        return permute(m, linear(m, permute(m, rows, {1, 0}), 16), {1, 0});
      },
      // The restore is not the inverse: rows and channels change places.
      [](TestModel& m, Value* rows) {
        return m.view(permute(m, linear(m, rows, 4), {1, 0}), {16, 4});
      },
      [](TestModel& m, Value* rows) {
        return m.view(permute(m, m.view(rows, {4, 4, 4}), {1, 0, 2}), {16, 4});
      },
      [](TestModel& m, Value* rows) { return m.add(Op::cumsum, {rows}, AxisAttrs{0}); },
      [](TestModel& m, Value* rows) { return m.add(Op::flip, {rows}, AxesAttrs{{0}}); },
  };
  // All dims are equal: H = W = C = 4, so that no axis can be told from another by its size.
  for (const std::vector<int>& restore :
       {std::vector{0, 3, 1, 2}, {0, 3, 2, 1}, {0, 1, 2, 3}, {0, 2, 3, 1}})
    for (const Between between : kinds) {
      TestModel m = xnnpack_model();
      Value* x = m.relu(m.conv_nchw(m.input({1, 4, 4, 4}), 4));
      Value* rows = m.view(permute(m, x, {0, 2, 3, 1}), {16, 4});
      Value* y = permute(m, m.view(linear(m, between(m, rows), 4), {1, 4, 4, 4}), restore);
      m.output(m.conv_nchw(m.add(Op::add, {y, x}), 4, 3, 1)).run_all();  // checks every pass
    }
}

TEST(B4, LongChains) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 4, 4, 4}), 4);
  for (int i = 0; i < 100; ++i) {
    Value* rows = m.view(permute(m, x, {0, 2, 3, 1}), {16, 4});
    x = m.relu(permute(m, m.view(linear(m, rows, 4), {1, 4, 4, 4}), {0, 3, 1, 2}));
  }
  m.output(mean(m, x, {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
  EXPECT_EQ(contractions(m), 101);
}

TEST(B5, ASharedIntermediateIsNotBroken) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 3, 4, 8}), 6);
  Value* rows = m.view(permute(m, x, {0, 2, 3, 1}), {32, 6});
  Value* y = permute(m, m.view(linear(m, rows, 6), {1, 4, 8, 6}), {0, 3, 1, 2});
  m.output(rows).output(mean(m, m.add(Op::add, {x, y}), {2, 3})).output(m.relu(rows)).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(B5, SymbolicSizes) {
  TestModel m;  // the target takes static shapes only
  const Dim n = Dim::symbol(m.built().add_symbol({"n", 1, 8}));
  Value* x = m.conv_nchw(m.input({n, 3, 4, 8}), 6);
  Value* rows = m.view(permute(m, x, {0, 2, 3, 1}), {n * Dim(32), 6});
  Value* y = permute(m, m.view(linear(m, rows, 5), {n, 4, 8, 5}), {0, 3, 1, 2});
  m.output(mean(m, m.relu(y), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(B6, AnAddIsBiasOnlyIfConstantAlongEveryOtherAxis) {
  const auto left = [](Shape added) {
    TestModel m = xnnpack_model();
    Value* x = m.conv_nchw(m.input({1, 3, 4, 4}), 4);
    Value* rows = m.view(permute(m, x, {0, 2, 3, 1}), {16, 4});
    Value* y = permute(m, m.view(linear(m, rows, 4, false), {1, 4, 4, 4}), {0, 3, 1, 2});
    m.output(mean(m, m.relu(m.add(Op::add, {y, m.weights(added)})), {2, 3})).run_all();
    return m.count(Op::add);
  };
  EXPECT_EQ(left({1, 4, 1, 1}), 0);  // one for each channel
  EXPECT_EQ(left({4, 1, 1}), 0);
  EXPECT_EQ(left({1}), 0);
  EXPECT_EQ(left({4}), 1);  // one for each column; as many as channels
  EXPECT_EQ(left({1, 1, 4, 1}), 1);
  EXPECT_EQ(left({1, 4, 4, 4}), 1);
}

TEST(B6, AResidualAddIsNeverTakenIn) {
  for (const bool swapped : {false, true}) {
    TestModel m = xnnpack_model();
    Value* x = m.conv_nchw(m.input({1, 3, 4, 4}), 4);
    Value* rows = m.view(permute(m, x, {0, 2, 3, 1}), {16, 4});
    Value* y = permute(m, m.view(linear(m, rows, 4), {1, 4, 4, 4}), {0, 3, 1, 2});
    m.output(mean(m, swapped ? m.add(Op::add, {y, x}) : m.add(Op::add, {x, y}), {2, 3})).run_all();
    EXPECT_EQ(m.count(Op::add), 1);
    EXPECT_EQ(m.moves(), 1);
    // Nor one whose other operand happens to have the shape of a bias.
    TestModel gate = xnnpack_model();
    Value* bias = gate.input({1, 4, 1, 1});
    gate.output(gate.relu(gate.add(Op::add, {gate.conv_nchw(gate.input({1, 3, 4, 4}), 4), bias})));
    gate.run_all();
    EXPECT_EQ(gate.count(Op::add), 1);
  }
}

TEST(B7, OriginalWeightsAreGoneAndNamesAreUnique) {
  TestModel m = xnnpack_model();
  m.built().add_input("constant", {DType::f32, {1}});
  Value* x = m.conv_nchw(m.input({1, 3, 4, 4}), 4);
  Value* flat = m.view(x, {1, 64});  // absorbed: the weight is reordered
  m.output(linear(m, flat, 10)).run_all();
  EXPECT_EQ(m.moves(), 1);
  std::set<std::string> names;
  int weights = 0;
  for (const Node* node : m.built()) {
    EXPECT_TRUE(names.insert(node->result()->name()).second) << node->result()->name();
    weights += node->is(Op::constant) && node->result()->shape() == Shape{10, 64};
    EXPECT_FALSE(node->result()->uses().empty() && node->result()->output_uses() == 0);
  }
  EXPECT_EQ(weights, 1);
}

// ---- Absorption ----

TEST(Absorption, FlattenBeforeALinear) {
  TestModel m = xnnpack_model();
  Value* x = m.relu(m.conv_nchw(m.input({1, 3, 4, 4}), 6));
  m.output(linear(m, m.view(x, {1, 96}), 10)).run_all();
  EXPECT_EQ(m.moves(), 1);
}

Value* channel_shuffle(TestModel& m, Value* x, int64_t groups) {
  const int64_t c = x->shape()[1].value();
  const Dim h = x->shape()[2], w = x->shape()[3];
  return m.view(permute(m, m.view(x, {1, groups, c / groups, h, w}), {0, 2, 1, 3, 4}),
                {1, c, h, w});
}
Value* pixel_shuffle(TestModel& m, Value* x, int64_t r) {
  const int64_t c = x->shape()[1].value() / (r * r), h = x->shape()[2].value(),
                w = x->shape()[3].value();
  return m.view(permute(m, m.view(x, {1, c, r, r, h, w}), {0, 1, 4, 2, 5, 3}),
                {1, c, h * r, w * r});
}
Value* pixel_unshuffle(TestModel& m, Value* x, int64_t r) {
  const int64_t c = x->shape()[1].value(), h = x->shape()[2].value() / r,
                w = x->shape()[3].value() / r;
  return m.view(permute(m, m.view(x, {1, c, h, r, w, r}), {0, 1, 3, 5, 2, 4}),
                {1, c * r * r, h, w});
}

TEST(Absorption, ChannelShuffleBeforeAPointwiseConvolution) {
  TestModel m = xnnpack_model();
  Value* x = m.relu(m.conv_nchw(m.input({1, 3, 4, 4}), 6));
  m.output(mean(m, m.conv_nchw(channel_shuffle(m, x, 2), 5), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(Absorption, ChannelShuffleAfterAConvolution) {
  TestModel m = xnnpack_model();
  Value* x = channel_shuffle(m, m.conv_nchw(m.input({1, 3, 4, 4}), 6, 3, 1), 3);
  Value* pooled =
      m.from_channels_last(m.add(Op::max_pool, {m.to_channels_last(x)},
                                 PoolAttrs{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, {}}));
  m.output(m.view(mean(m, pooled, {2, 3}), {1, 6})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(Absorption, ChannelShufflesOnBothSides) {
  TestModel m = xnnpack_model();
  Value* x = m.relu(m.conv_nchw(m.input({1, 3, 4, 4}), 6));
  x = channel_shuffle(m, m.conv_nchw(channel_shuffle(m, x, 2), 6), 3);
  m.output(mean(m, m.conv_nchw(m.relu(x), 5), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(Absorption, PixelShufflesNextToConvolutionsMoveOnce) {
  TestModel down = xnnpack_model();
  Value* x = down.input({1, 3, 8, 8});
  down.output(mean(down, down.conv_nchw(pixel_unshuffle(down, x, 2), 5), {2, 3})).run_all();
  EXPECT_EQ(down.moves(), 1);
  TestModel up = xnnpack_model();
  Value* y = up.conv_nchw(up.input({1, 3, 4, 4}), 12);
  up.output(pixel_shuffle(up, y, 2)).run_all();
  EXPECT_EQ(up.moves(), 2);
}

// ---- D4: what upstream's permute passes do ----

TEST(D4, PermutesAroundElementwiseOpsAreRemoved) {
  TestModel m = xnnpack_model();
  Value* x = m.input({1, 4, 6, 8});
  Value* y = m.to_channels_last(x);
  y = m.add(Op::sigmoid, {m.add(Op::mul, {m.add(Op::add, {y, m.weights({8, 4})}), m.number(3)})});
  m.output(m.from_channels_last(y)).run_all();
  EXPECT_EQ(m.count(Op::relayout), 0);
}

TEST(D4, PairsAreFusedAcrossBranches) {
  TestModel m = xnnpack_model();
  Value* y = m.to_channels_last(m.input({1, 4, 6, 8}));
  Value* a = m.add(Op::sigmoid, {y});
  Value* b = m.add(Op::tanh, {y});
  m.output(m.from_channels_last(m.add(Op::mul, {a, b}))).output(m.from_channels_last(a));
  m.output(m.from_channels_last(m.concat({a, b}, 3))).run_all();
  EXPECT_EQ(m.count(Op::relayout), 0);
}

TEST(D4, PermutesThatMoveNothingAreViews) {
  TestModel m = xnnpack_model();
  m.output(permute(m, m.input({1, 4, 1, 8}), {2, 1, 0, 3}))
      .output(permute(m, m.input({1, 5, 1}), {1, 2, 0}));
  m.run_all();
  EXPECT_EQ(m.moves(), 0);
}

TEST(D4, PermutesPassSqueezesAndUnsqueezes) {
  TestModel m = xnnpack_model();
  Value* x = permute(m, m.input({4, 6, 8}), {2, 0, 1});
  x = m.relu(m.view(x, {8, 4, 1, 6}));
  x = m.add(Op::tanh, {m.view(x, {1, 8, 4, 6})});
  m.output(permute(m, m.view(x, {8, 4, 6, 1}), {1, 2, 0, 3})).run_all();
  EXPECT_EQ(m.moves(), 0);
}

TEST(D4, CascadedPermutesAndViewsAreFused) {
  TestModel m = xnnpack_model();
  Value* x = m.input({2, 3, 4, 5});
  Value* y = permute(m, permute(m, permute(m, x, {3, 1, 2, 0}), {1, 0, 3, 2}), {2, 3, 0, 1});
  m.output(y).output(m.view(m.view(m.view(x, {6, 20}), {5, 4, 6}), {120})).run_all();
  EXPECT_EQ(m.count(Op::relayout), 2);
  EXPECT_EQ(m.moves(), 1);
}

// ---- D5: forks and joins ----

TEST(D5, ElementwiseBranches) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 3, 6, 6}), 8);
  Value* gate = m.add(Op::mul, {x, m.add(Op::sigmoid, {x})});
  Value* other = m.add(Op::maximum, {m.add(Op::neg, {x}), m.add(Op::tanh, {gate})});
  m.output(mean(m, m.conv_nchw(m.add(Op::sub, {gate, other}), 8), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(D5, UpwardAndDownwardForks) {
  TestModel m = xnnpack_model();
  Value* a = m.to_channels_last(m.input({1, 4, 6, 6}));
  Value* b = m.to_channels_last(m.input({1, 4, 6, 6}));
  Value* sum = m.add(Op::add, {a, b});  // joins: both come permuted
  for (int i = 0; i < 3; ++i)           // forks: all leave permuted
    m.output(m.from_channels_last(m.add(Op::mul, {sum, m.number(2 + i)})));
  m.run_all();
  EXPECT_EQ(m.moves(), 0);
}

TEST(D5, AValueThatIsReadInMoreFormsThanCandidatesAreLookedFor) {
  TestModel m = xnnpack_model();
  Value* x = m.input({2, 3, 4, 5});
  std::vector<int> order = {0, 1, 2, 3};
  do {
    m.output(m.add(Op::tanh, {permute(m, x, order)}));
  } while (std::ranges::next_permutation(order).found);
  m.run_all();
  EXPECT_EQ(m.moves(), 23);
}

TEST(D5, ResidualJoinsOfDifferentDepth) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 3, 6, 6}), 8);
  std::vector<Value*> depths = {x};
  for (int i = 0; i < 6; ++i) {
    Value* y = m.relu(m.conv_nchw(depths.back(), 8, 3, 1));
    if (i % 2 == 1) y = m.add(Op::add, {y, depths[depths.size() / 2]});
    depths.push_back(m.add(Op::add, {y, depths.front()}));
  }
  m.output(mean(m, depths.back(), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
  EXPECT_TRUE(m.certificate().optimal());
}

TEST(D5, SqueezeAndExciteGates) {
  TestModel m = xnnpack_model();
  Value* x = m.conv_nchw(m.input({1, 3, 6, 6}), 8);
  Value* gate =
      m.view(linear(m, m.relu(linear(m, m.view(mean(m, x, {2, 3}), {1, 8}), 4)), 8), {1, 8, 1, 1});
  x = m.add(Op::mul, {m.add(Op::sigmoid, {gate}), x});
  m.output(mean(m, m.conv_nchw(x, 8), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(D5, ConcatOfDifferentlyLaidOutValuesConvertsOne) {
  TestModel m = xnnpack_model();
  Value* a = m.conv_nchw(m.input({1, 3, 6, 6}), 8);
  Value* b = m.input({1, 8, 6, 6});
  m.output(mean(m, m.conv_nchw(m.concat({a, b}, 1), 8), {2, 3})).run_all();
  EXPECT_EQ(m.moves(), 2);  // the two inputs
}

// ---- D8: axes after layout changes ----

TEST(D8, AxesAreRightWhateverTheLayout) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    TestModel m = xnnpack_model();
    // Two equal sizes: a wrong axis still type-checks.
    Value* x = m.conv_nchw(m.input({1, 3, 4, 4}), 4);
    for (int i = 0; i < 3; ++i) {
      if (random.chance(3)) {
        std::vector<int> order = {0, 1, 2, 3};
        random.shuffle(order);
        x = m.add(Op::tanh, {permute(m, x, order)});
      }
      const int64_t axis = random.between(0, 3);
      const auto at = static_cast<size_t>(axis);
      const int64_t length = x->shape()[at].value();
      switch (random.between(0, 6)) {
        case 0:
          x = m.add(Op::sub, {x, m.add(Op::reduce_max, {x}, AxesAttrs{{axis}})});
          break;
        case 1:
          x = m.add(Op::sub, {x, m.add(Op::reduce_min, {x}, AxesAttrs{{axis}})});
          break;
        case 2:
          x = m.add(Op::add, {x, m.add(Op::reduce_sum, {x}, AxesAttrs{{axis}})});
          break;
        case 3:
          x = m.concat({x, m.relu(x)}, axis);
          break;
        case 4:
          x = m.slice(x, axis, length / 2, length - length / 2);
          break;
        case 5: {
          PadAttrs pad{Ints(4, 0), Ints(4, 0)};
          pad.low[at] = random.between(0, 2);
          pad.high[at] = random.between(0, 2);
          x = m.add(Op::pad, {x}, pad);
          break;
        }
        default: {
          Value* positive = m.add(Op::greater, {m.input(x->shape()), m.number(0)});
          Value* any = m.add(Op::reduce_any, {positive}, AxesAttrs{{axis}});
          x = m.add(Op::where, {any, x, m.add(Op::neg, {x})});
          break;
        }
      }
      if (random.chance(2)) x = m.conv_nchw(x, 4);
    }
    m.output(x).run_all();  // checks every pass
  }
}

}  // namespace
}  // namespace layline

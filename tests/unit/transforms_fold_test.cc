// Passes that compute or fuse: dead_code, fold_constants, merge_duplicates, fold_affine,
// fuse_clamp, fuse_pad, recognise_hardswish.
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(DeadCode, RemovesChainsThatNoOutputNeeds) {
  TestModel m;
  Value* x = m.input({2, 3});
  Value* dead = m.relu(m.add(Op::add, {x, m.weights({3})}));
  m.add(Op::mul, {dead, dead});
  m.output(m.add(Op::neg, {x})).run({"dead_code"});
  EXPECT_EQ(m.built().node_count(), 1u);
}

TEST(FoldConstants, ComputesAndKeepsRelayoutsPending) {
  TestModel m;
  Value* x = m.input({3, 2});
  Value* sum = m.add(Op::add, {m.weights({2, 3}), m.number(1)});
  const int swap[] = {1, 0};
  Value* moved = m.add(Op::relayout, {sum}, RelayoutAttrs{Relayout::permute({2, 3}, swap)});
  m.output(m.add(Op::mul, {x, moved})).run({"fold_constants"});
  EXPECT_EQ(m.work(), 1);
  const Constant* constant = constant_of(m.only(Op::mul)->operand(1));
  ASSERT_NE(constant, nullptr);
  EXPECT_FALSE(constant->pending().is_view());
}

TEST(FoldConstants, LargeExpansionsStay) {
  TestModel m;
  Value* x = m.input({1024, 512});
  m.output(m.add(Op::add, {x, m.expand(m.number(1), {1024, 512})})).run({"fold_constants"});
  EXPECT_EQ(m.count(Op::expand), 1);
}

TEST(MergeDuplicates, MergesEqualNodesAndConstants) {
  TestModel m;
  Value* x = m.input({2, 3});
  Value* a = m.clamp(m.add(Op::add, {x, m.number(3)}), 0, 6);
  Value* b = m.clamp(m.add(Op::add, {x, m.number(3)}), 0, 6);
  Value* c = m.clamp(m.add(Op::add, {x, m.number(3)}), 0, 5);
  m.output(m.add(Op::mul, {a, b})).output(c).run({"merge_duplicates"});
  EXPECT_EQ(m.count(Op::constant), 1);
  EXPECT_EQ(m.count(Op::add), 1);
  EXPECT_EQ(m.count(Op::clamp), 2);
}

// ---- fold_affine ----

TEST(FoldAffine, AfterConvolutionsOfAllKinds) {
  for (const int64_t groups : {1, 2, 4})
    for (const bool bias : {false, true}) {
      TestModel m;
      Value* x = m.conv(m.input({1, 5, 5, 4}), 8, 3, 1, groups, bias);
      x = m.add(Op::mul, {x, m.weights({1, 1, 8})});
      x = m.add(Op::add, {m.weights({8}), x});
      x = m.add(Op::div, {x, m.weights({1, 1, 1, 8})});
      x = m.add(Op::sub, {x, m.number(0.25)});
      x = m.add(Op::sub, {m.weights({8}), x});
      m.output(x).run({"fold_affine"});
      EXPECT_EQ(m.work(), 1);
    }
}

TEST(FoldAffine, AfterLinearAndTransposedConvolution) {
  TestModel m;
  Value* x = m.add(Op::linear, {m.input({3, 4}), m.weights({5, 4})}, LinearAttrs{});
  m.output(m.add(Op::add, {m.add(Op::mul, {x, m.weights({5})}), m.weights({5})}));
  Value* y = m.add(Op::conv_transpose, {m.input({1, 3, 3, 4}), m.weights({2, 2, 2, 4})},
                   ConvTransposeAttrs{{2, 2}, {1, 1}, {0, 0}, {0, 0}, {0, 0}, 1, {}});
  m.output(m.add(Op::add, {m.add(Op::mul, {y, m.weights({2})}), m.weights({2})}));
  m.run({"fold_affine"});
  EXPECT_EQ(m.work(), 2);
}

TEST(FoldAffine, WeightsStayViews) {
  TestModel m;
  Value* weight = m.weights({8, 4, 3, 3});  // as torch has it
  const std::byte* stored = constant_of(weight)->stored().data();
  Value* x = m.add(Op::conv, {m.input({1, 5, 5, 4}), m.to_channels_last(weight)},
                   ConvAttrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}});
  m.output(m.add(Op::mul, {x, m.weights({8})})).run({"dead_code", "fold_affine"});
  EXPECT_EQ(m.work(), 1);
  EXPECT_EQ(constant_of(m.only(Op::conv)->operand(1))->stored().data(), stored);
}

TEST(FoldAffine, TakesOverTheClampOfTheFoldedOp) {
  TestModel m;
  Value* x = m.conv(m.input({1, 5, 5, 4}), 8);
  x = m.add(Op::add, {x, m.weights({8})}, BinaryAttrs{{0, 6}});
  m.output(x).run({"fold_affine"});
  EXPECT_EQ(m.only(Op::conv)->attrs<ConvAttrs>().bounds, (Bounds{0, 6}));
}

TEST(FoldAffine, LeavesWhatItMayNotTake) {
  TestModel m;
  Value* shared = m.conv(m.input({1, 5, 5, 4}), 8);
  m.output(shared).output(m.add(Op::mul, {shared, m.weights({8})}));  // others read the conv
  Value* other_axis = m.conv(m.input({1, 8, 8, 4}), 8);
  m.output(m.add(Op::mul, {other_axis, m.weights({8, 1})}));  // one factor for each column
  Value* clamped = m.relu(m.conv(m.input({1, 5, 5, 4}), 8));
  m.output(m.add(Op::mul, {clamped, m.weights({8})}));
  Value* divided = m.conv(m.input({1, 5, 5, 4}), 8);
  m.output(m.add(Op::div, {m.weights({8}), divided}));
  Value* widened = m.conv(m.input({1, 1, 1, 4}), 1);
  m.output(m.add(Op::mul, {widened, m.weights({8})}));  // broadcasts the convolution
  Value* by_zero = m.conv(m.input({1, 5, 5, 4}), 8);
  m.output(m.add(Op::div, {by_zero, m.number(0)}));
  m.run({"fold_affine"});
  EXPECT_EQ(m.count(Op::mul), 4);
  EXPECT_EQ(m.count(Op::div), 2);
}

TEST(FoldAffine, BeforeConvolutions) {
  for (const int64_t groups : {1, 2, 4})
    for (const bool bias : {false, true}) {
      TestModel m;
      Value* x = m.add(Op::mul, {m.input({1, 5, 5, 4}), m.weights({4})});
      m.output(m.conv(x, 8, 3, 1, groups, bias));  // padding: a factor only
      Value* y = m.add(Op::sub, {m.input({1, 5, 5, 4}), m.weights({4})});
      y = m.add(Op::div, {y, m.weights({4})});
      m.output(m.conv(y, 8, 3, 0, groups, bias));
      Value* z = m.add(Op::add, {m.input({3, 4}), m.weights({4})});
      m.output(m.add(Op::linear, {z, m.weights({2, 4})}, LinearAttrs{}));
      m.run({"fold_affine", "fold_affine"});
      EXPECT_EQ(m.work(), 3);
    }
}

TEST(FoldAffine, BeforeMoreOutputsThanOneThreadTakes) {
  TestModel model;
  Value* x = model.add(Op::add, {model.input({2, 300}), model.weights({300})});
  model.output(
      model.add(Op::linear, {x, model.weights({1500, 300}), model.weights({1500})}, LinearAttrs{}));
  model.run({"fold_affine"});
  EXPECT_EQ(model.count(Op::add), 0);
}

TEST(FoldAffine, BeforeThroughARelayout) {
  TestModel m;
  Value* x = m.add(Op::sub, {m.input({1, 3, 5, 5}), m.weights({1, 3, 1, 1})});
  x = m.add(Op::div, {x, m.weights({3, 1, 1})});
  m.output(m.conv(m.to_channels_last(x), 8, 3)).run({"fold_affine", "fold_affine"});
  EXPECT_EQ(m.work(), 2);
}

TEST(FoldAffine, NoAdditionBeforePadding) {
  TestModel m;
  Value* x = m.add(Op::add, {m.input({1, 5, 5, 4}), m.weights({4})});
  m.output(m.conv(x, 8, 3, 1)).run({"fold_affine"});
  EXPECT_EQ(m.count(Op::add), 1);
  EXPECT_FALSE(m.explanations().empty());
}

// ---- fuse_clamp ----

TEST(FuseClamp, IntoWhatComputes) {
  TestModel m;
  Value* x = m.input({1, 6, 6, 4});
  x = m.relu(m.conv(x, 4));
  x = m.clamp(m.add(Op::add, {x, x}), -1, 6);
  x = m.relu(
      m.add(Op::max_pool, {x}, PoolAttrs{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, {}}));
  m.output(m.relu(m.clamp(x, -3, 4))).run({"fuse_clamp"});
  EXPECT_EQ(m.count(Op::clamp), 0);
  EXPECT_EQ(m.only(Op::max_pool)->attrs<PoolAttrs>().bounds, (Bounds{0, 4}));
}

TEST(FuseClamp, BoundsIntersect) {
  const std::pair<Bounds, Bounds> cases[] = {
      {{0, 6}, {-1, 3}},
      {{0, 1}, {2, 3}},
      {{2, 3}, {0, 1}},
      {{-kInfinity, 0}, {0, kInfinity}},
  };
  for (const std::string_view pass : {"fuse_clamp", "simplify"})
    for (const auto& [first, second] : cases) {
      TestModel m;
      Value* x = m.clamp(m.input({50}), first.min, first.max);
      m.output(m.clamp(x, second.min, second.max)).run({pass});
      EXPECT_EQ(m.count(Op::clamp), 1);
    }
}

TEST(FuseClamp, NotIntoARangeOfOneNumber) {
  TestModel model;
  Value* x = model.input({1, 3, 3, 2});
  model.output(model.clamp(model.clamp(model.conv(x, 4), 0, 0.75), 0.75, 6));
  model.run({"fuse_clamp"});
  EXPECT_EQ(model.count(Op::clamp), 1);
}

TEST(FuseClamp, NotIntoSharedValuesNorIntegers) {
  TestModel m;
  Value* shared = m.conv(m.input({1, 5, 5, 4}), 8);
  m.output(shared).output(m.relu(shared));
  Value* i = m.input({4}, DType::i8);
  m.output(m.clamp(m.add(Op::mul, {i, i}), 0, 100));
  m.run({"fuse_clamp"});
  EXPECT_EQ(m.count(Op::clamp), 2);
}

// ---- fuse_pad ----

Value* pad(TestModel& m, Value* x, Ints low, Ints high, double value = 0) {
  return m.add(Op::pad, {x}, PadAttrs{std::move(low), std::move(high), PadMode::constant, value});
}

TEST(FusePad, IntoConvolutionAndMaxPool) {
  TestModel m;
  Value* x = pad(m, m.input({1, 5, 5, 4}), {0, 1, 2, 0}, {0, 0, 1, 0});
  m.output(m.conv(x, 8, 3, 1));
  Value* y = pad(m, m.input({1, 6, 6, 4}), {0, 1, 1, 0}, {0, 1, 1, 0}, -kInfinity);
  m.output(m.add(Op::max_pool, {y}, PoolAttrs{{3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, {}}));
  m.run({"fuse_pad"});
  EXPECT_EQ(m.count(Op::pad), 0);
  EXPECT_EQ(m.only(Op::conv)->attrs<ConvAttrs>().low, (Ints{2, 3}));
  EXPECT_EQ(m.only(Op::conv)->attrs<ConvAttrs>().high, (Ints{1, 2}));
}

TEST(FusePad, LeavesOtherPads) {
  TestModel m;
  m.output(m.conv(pad(m, m.input({1, 5, 5, 4}), {0, 1, 1, 0}, {0, 1, 1, 0}, 1), 8, 3));
  m.output(m.conv(pad(m, m.input({1, 5, 5, 4}), {0, 1, 1, 2}, {0, 1, 1, 2}), 8, 3));
  const PoolAttrs pool{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, {}};
  m.output(m.add(Op::avg_pool, {pad(m, m.input({1, 6, 6, 4}), {0, 1, 1, 0}, {0, 1, 1, 0})}, pool));
  m.output(m.add(Op::max_pool, {pad(m, m.input({1, 6, 6, 4}), {0, 1, 1, 0}, {0, 1, 1, 0})}, pool));
  m.output(m.add(Op::max_pool,
                 {pad(m, m.input({1, 6, 6, 4}), {0, 2, 0, 0}, {0, 0, 0, 0}, -kInfinity)}, pool));
  m.run({"fuse_pad"});
  EXPECT_EQ(m.count(Op::pad), 5);
}

// ---- recognise_hardswish ----

TEST(RecogniseHardswish, InItsSpellings) {
  using Spelling = Value* (*)(TestModel&, Value*);
  const Spelling spellings[] = {
      [](TestModel& m, Value* x) {
        Value* gate = m.clamp(m.add(Op::add, {x, m.number(3)}), 0, 6);
        return m.add(Op::div, {m.add(Op::mul, {x, gate}), m.number(6)});
      },
      [](TestModel& m, Value* x) {
        Value* gate = m.clamp(m.add(Op::add, {m.number(3), x}), 0, 6);
        return m.add(Op::mul, {m.add(Op::mul, {gate, m.number(1.0 / 6)}), x});
      },
      [](TestModel& m, Value* x) {
        Value* gate = m.add(Op::add, {x, m.number(3)}, BinaryAttrs{{0, 6}});
        return m.add(Op::mul, {x, m.add(Op::div, {gate, m.number(6)})});
      },
      [](TestModel& m, Value* x) {
        Value* gate = m.clamp(m.add(Op::sub, {x, m.number(-3)}), 0, 6);
        return m.add(Op::mul, {gate, m.add(Op::mul, {m.number(1.0 / 6), x})});
      },
      [](TestModel& m, Value* x) {
        Value* line = m.add(Op::add, {m.add(Op::mul, {x, m.number(1.0 / 6)}), m.number(0.5)});
        return m.add(Op::mul, {x, m.clamp(line, 0, 1)});
      },
  };
  for (const Spelling spelling : spellings) {
    TestModel m;
    m.output(spelling(m, m.input({2, 50}))).run({"recognise_hardswish"});
    EXPECT_EQ(m.count(Op::hardswish), 1);
    EXPECT_EQ(m.work(), 1);
  }
}

TEST(RecogniseHardswish, NotElsewhere) {
  TestModel m;
  Value* x = m.input({2, 5});
  Value* gate = m.clamp(m.add(Op::add, {x, m.number(3)}), 0, 6);
  m.output(m.add(Op::mul, {x, gate}));                                               // no division
  m.output(m.add(Op::div, {m.add(Op::mul, {m.input({2, 5}), gate}), m.number(6)}));  // other x
  Value* low = m.clamp(m.add(Op::add, {x, m.number(2)}), 0, 6);
  m.output(m.add(Op::div, {m.add(Op::mul, {x, low}), m.number(6)}));
  Value* high = m.clamp(m.add(Op::add, {x, m.number(3)}), 0, 5);
  m.output(m.add(Op::div, {m.add(Op::mul, {x, high}), m.number(5)}));
  m.output(m.add(Op::div, {m.number(6), m.add(Op::mul, {x, gate})}));
  m.run({"recognise_hardswish"});
  EXPECT_EQ(m.count(Op::hardswish), 0);
}

}  // namespace
}  // namespace layline

// Parallel branches that become one convolution (src/transforms/fold_branches.cc).
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

ConvAttrs window(int64_t stride, int64_t dilation, int64_t padding, int64_t groups = 1) {
  return {
      {stride, stride}, {dilation, dilation}, {padding, padding}, {padding, padding}, groups, {}};
}

/// x * scale + shift, one number for each channel.
Value* norm(TestModel& model, Value* x) {
  const Dim channels = x->shape().back();
  Value* scaled = model.add(Op::mul, {x, model.weights({channels})});
  return model.add(Op::add, {scaled, model.weights({channels})});
}

Value* conv(TestModel& model, Value* x, int64_t kernel, const ConvAttrs& attrs, bool bias = true) {
  const int64_t channels = x->shape().back().value();
  std::vector<Value*> operands = {
      x, model.weights({channels, kernel, kernel, channels / attrs.groups})};
  if (bias) operands.push_back(model.weights({channels}));
  return model.add(Op::conv, operands, attrs);
}

void expect_one_conv(TestModel& model) {
  EXPECT_EQ(model.count(Op::conv), 1);
  EXPECT_EQ(model.count(Op::add) + model.count(Op::sub) + model.count(Op::mul), 0);
}

TEST(FoldBranches, AddsOrSubtractsAnyWindowThatTheOtherHas) {
  std::mt19937 random(3);
  auto upto = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random); };
  int folded = 0;
  for (int i = 0; i < 400; ++i) {
    const int64_t channels = 2 * upto(3), stride = upto(2);
    const int64_t groups = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : channels;
    const int64_t large = upto(5), small = upto(large), large_by = upto(2), small_by = upto(3);
    TestModel model;
    Value* x = model.input({upto(2), 14, 13 + upto(3), channels});
    Value* a = conv(model, x, large, window(stride, large_by, upto(4) - 1, groups), i % 2 == 0);
    Value* b = conv(model, x, small, window(stride, small_by, upto(4) - 1, groups), i % 5 == 0);
    if (a->shape() != b->shape()) continue;
    const bool swap = i % 7 < 3;
    model.output(model.add(i % 4 == 0 ? Op::sub : Op::add, {swap ? b : a, swap ? a : b},
                           BinaryAttrs{i % 6 == 0 ? Bounds{0, 3} : Bounds{}}));
    model.run({"fold_branches"});
    if (model.count(Op::conv) == 1) {
      expect_one_conv(model);
      ++folded;
    }
  }
  EXPECT_GT(folded, 40);
}

TEST(FoldBranches, AddsTheValueItselfAndWhatScalesItsChannels) {
  for (const int64_t groups : {1, 2, 6})
    for (const Op op : {Op::add, Op::sub})
      for (const bool first : {true, false})
        for (const bool scaled : {true, false}) {
          TestModel model;
          Value* x = model.input({2, 5, 6, 6});
          Value* y = conv(model, x, 3, window(1, 2, 2, groups));
          Value* other = scaled ? norm(model, x) : x;
          model.output(model.add(op, {first ? y : other, first ? other : y}));
          model.run({"fold_branches"});
          expect_one_conv(model);
        }
}

// FastViT's token mixer, in the form in which it is trained.
TEST(FoldBranches, MakesOneConvolutionOfATokenMixer) {
  TestModel model;
  Value* x = model.input({1, 8, 8, 4});
  Value* branches = model.add(Op::add, {conv(model, x, 1, window(1, 1, 0, 4)), norm(model, x)});
  branches = model.add(Op::add, {branches, conv(model, x, 3, window(1, 1, 1, 4))});
  Value* mixed = model.add(Op::sub, {branches, norm(model, x)});
  Value* scaled = model.add(Op::mul, {mixed, model.weights({4})});
  model.output(model.add(Op::add, {x, scaled}));
  model.run({"fold_branches", "fold_affine", "fold_branches"});
  expect_one_conv(model);
}

TEST(FoldBranches, LeavesWhatIsNoSumOfTaps) {
  const auto stays = [](auto&& build) {
    TestModel model;
    Value* x = model.input({1, 8, 8, 4});
    model.output(build(model, x)).run({"fold_branches"});
    EXPECT_GE(model.count(Op::add) + model.count(Op::sub), 1);
  };
  // Strides, groups, and places that the other window lacks.
  stays([](TestModel& m, Value* x) {
    return m.add(Op::add, {conv(m, x, 3, window(1, 1, 1, 4)), conv(m, x, 3, window(1, 1, 1))});
  });
  stays([](TestModel& m, Value* x) {
    return m.add(Op::add, {conv(m, x, 3, window(1, 2, 2)), conv(m, x, 3, window(1, 1, 1))});
  });
  stays([](TestModel& m, Value* x) {
    Value* twice = m.add(Op::add, {conv(m, x, 2, window(2, 1, 0)), conv(m, x, 1, window(2, 1, 0))});
    return m.add(Op::add, {twice, conv(m, m.relu(x), 1, window(2, 1, 0))});
  });
  // No tap at the place of the result.
  stays([](TestModel& m, Value* x) { return m.add(Op::add, {conv(m, x, 2, window(1, 2, 1)), x}); });
  // Another value, a clamp between, a result that something else reads.
  stays([](TestModel& m, Value* x) {
    return m.add(Op::add, {conv(m, m.relu(x), 3, window(1, 1, 1)), x});
  });
  stays([](TestModel& m, Value* x) {
    ConvAttrs attrs = window(1, 1, 1);
    attrs.bounds = {0, 1};
    return m.add(Op::add, {conv(m, x, 3, attrs), x});
  });
  stays([](TestModel& m, Value* x) {
    Value* y = conv(m, x, 3, window(1, 1, 1));
    m.output(y);
    return m.add(Op::add, {y, x});
  });
  stays([](TestModel& m, Value* x) {
    Value* scaled = m.add(Op::mul, {x, m.weights({8, 8, 1})});  // by place, not by channel
    return m.add(Op::add, {conv(m, x, 3, window(1, 1, 1)), scaled});
  });
}

}  // namespace
}  // namespace layline

// Sizes that are known only when a model runs: the normal form of formulas, their bounds, and the
// rules of ops on them. What is derived for symbols must hold for every value of them.
#include "algebra/symbols.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/graph.h"
#include "ir/op.h"

namespace layline {
namespace {

class SymbolsTest : public testing::Test {
 protected:
  SymbolTable table;
  const Dim s1 = Dim::symbol(table.add({"batch", 1, 9}));
  const Dim s2 = Dim::symbol(table.add({"length", 2, 7}));

  Sum sum(const Dim& dim) const { return table.expand(dim); }
  static Sum number(int64_t value) { return Sum::number(value); }
  std::string quotient(const Sum& dividend, int64_t divisor) {
    return to_string(table.quotient(dividend, divisor));
  }
};

TEST_F(SymbolsTest, SumsHaveANormalForm) {
  EXPECT_EQ(table.add(s1, s1), Dim(2) * s1);
  EXPECT_EQ(table.add(3, 4), Dim(7));
  const Dim one_more = table.add(s1, 1);
  EXPECT_EQ(one_more, Dim::symbol(3));
  EXPECT_EQ(table.add(1, s1), one_more);
  EXPECT_EQ(table.subtract(one_more, 1), s1);
  EXPECT_EQ(table.subtract(one_more, s1), Dim(1));
  // Common factors go out, so that they can be divided by.
  EXPECT_EQ(table.add(Dim(2) * s1, 2), Dim(2) * one_more);
  EXPECT_EQ(table.add(s1 * s2, s2), s2 * one_more);
  EXPECT_EQ(table.dim(sum(one_more) * sum(one_more)), table.parse("s1*s1+2*s1+1"));
  EXPECT_THROW(table.subtract(1, 2), UserError);
  EXPECT_THROW(table.subtract(s1, 10), UserError);
}

TEST_F(SymbolsTest, QuotientsHaveANormalForm) {
  EXPECT_EQ(quotient(sum(Dim(6) * s1), 3), "2*s1");
  EXPECT_EQ(quotient(sum(Dim(2) * s1) + number(3), 2), "s1+1");
  EXPECT_EQ(quotient(number(7), 2), "3");
  EXPECT_EQ(quotient(number(-7), 2), "-4");
  // A convolution with stride 2 twice over, in one step and as torch writes it.
  const Sum once = table.quotient(sum(s1) - number(1), 2) + number(1);
  const Sum twice = table.quotient(once - number(1), 2) + number(1);
  EXPECT_EQ(twice, table.quotient(sum(s1) + number(3), 4));
  EXPECT_EQ(table.dim(once), table.parse("(s1+1)//2"));
  // (4*s1+2)//8 == (2*s1+1)//4, and the last number is rounded away: (4*s1+3)//8.
  EXPECT_EQ(quotient(sum(Dim(4) * s1) + number(3), 8), quotient(sum(Dim(2) * s1) + number(1), 4));
}

TEST_F(SymbolsTest, WhatHasOneValueIsANumber) {
  EXPECT_EQ(table.dim(table.quotient(sum(s1), 16)), Dim(0));
  EXPECT_EQ(table.dim(table.quotient(sum(s1) + number(31), 32)), Dim(1));
  EXPECT_EQ(table.subtract(s1, 9), Dim(0));  // all else would be negative
}

TEST_F(SymbolsTest, ExtremaKeepWhatCanBeReached) {
  EXPECT_EQ(table.maximum({sum(s1), number(1)}), sum(s1));
  EXPECT_EQ(table.minimum({sum(s1), number(9)}), sum(s1));
  EXPECT_EQ(table.maximum({sum(s1), number(12)}), number(12));
  const Dim both = table.dim(table.maximum({sum(s1), number(3)}));
  EXPECT_EQ(both, table.parse("max(3,s1)"));
  EXPECT_EQ(table.least(both), 3);
  EXPECT_EQ(table.greatest(both), 9);
}

TEST_F(SymbolsTest, LinearSizesTellTheirSymbol) {
  const auto linear = table.as_linear(table.add(Dim(2) * s1, 3));
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->symbol, 1);
  EXPECT_EQ(linear->factor, 2);
  EXPECT_EQ(linear->offset, 3);
  EXPECT_FALSE(table.as_linear(s1 * s2));
  EXPECT_FALSE(table.as_linear(5));
  EXPECT_FALSE(table.as_linear(table.dim(table.quotient(sum(s1), 2))));

  SymbolValues values(table);
  values.learn(table.add(Dim(2) * s1, 3), 11);
  EXPECT_EQ(values(s1), 4);
  EXPECT_EQ(values(table.parse("(s1+1)//2")), 2);
  EXPECT_THROW(values(s2), UserError);
}

/// A random expression, and what it is at s1, s2.
class RandomFormula {
 public:
  RandomFormula(SymbolTable& table, std::mt19937& random) : table_(table), random_(random) {}

  struct Made {
    Sum sum;
    std::function<int64_t(int64_t, int64_t)> value;
  };

  Made make(int depth) {
    const int64_t n = between(-5, 9);
    if (depth == 0) {
      if (between(0, 2) == 0) return {Sum::number(n), [n](int64_t, int64_t) { return n; }};
      const bool first = between(0, 1) == 0;
      return {Sum(Dim::symbol(first ? 1 : 2)),
              [first](int64_t a, int64_t b) { return first ? a : b; }};
    }
    const Made x = make(depth - 1), y = make(depth - 1);
    const auto f = x.value, g = y.value;
    switch (between(0, 5)) {
      case 0:
        return {x.sum + y.sum, [=](int64_t a, int64_t b) { return f(a, b) + g(a, b); }};
      case 1:
        return {x.sum - y.sum, [=](int64_t a, int64_t b) { return f(a, b) - g(a, b); }};
      case 2:
        return {x.sum * Sum::number(n), [=](int64_t a, int64_t b) { return f(a, b) * n; }};
      case 3:
        return {table_.maximum({x.sum, y.sum}),
                [=](int64_t a, int64_t b) { return std::max(f(a, b), g(a, b)); }};
      default: {
        const int64_t d = between(1, 6);
        return {table_.quotient(x.sum, d), [=](int64_t a, int64_t b) {
                  const int64_t v = f(a, b);
                  return v >= 0 ? v / d : -((-v + d - 1) / d);
                }};
      }
    }
  }

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

 private:
  SymbolTable& table_;
  std::mt19937& random_;
};

/// The law: whatever the normal form makes of an expression, its value and its bounds hold for all
/// values of the symbols, and the text of a derived symbol reads back as that symbol.
TEST_F(SymbolsTest, RandomFormulasHoldForEveryValue) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    SymbolTable local = table;
    RandomFormula formulas(local, random);
    const auto made = formulas.make(static_cast<int>(formulas.between(1, 4)));
    const auto [low, high] = local.range(made.sum);
    // Far enough from 0 to be a size.
    const Sum shifted = made.sum + Sum::number(std::max<int64_t>(0, -low));
    const Dim dim = local.dim(shifted);
    for (int64_t a = 1; a <= 9; ++a)
      for (int64_t b = 2; b <= 7; ++b) {
        SymbolValues values(local);
        values.set(1, a);
        values.set(2, b);
        const int64_t expected = made.value(a, b);
        ASSERT_EQ(values(dim), expected + std::max<int64_t>(0, -low)) << to_string(made.sum);
        ASSERT_LE(low, expected) << to_string(made.sum);
        ASSERT_GE(high, expected) << to_string(made.sum);
        ASSERT_LE(local.least(dim), values(dim));
        ASSERT_GE(local.greatest(dim), values(dim));
      }
    for (size_t s = 2; s < local.all().size(); ++s)
      ASSERT_EQ(local.parse(to_string(local.all()[s].formula)),
                Dim::symbol(static_cast<SymbolId>(s + 1)));
  }
}

/// The law: an op's type inferred for symbols is, at every value, the type inferred for that value.
TEST_F(SymbolsTest, RulesOfOpsHoldForEveryValue) {
  std::mt19937 random(11);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const Dim length = Dim::symbol(table.add({"rows", 6, 20}));
  int accepted = 0;
  for (int round = 0; round < 300; ++round) {
    const Ints kernel = {between(1, 4), between(1, 3)}, stride = {between(1, 3), between(1, 3)};
    const Ints dilation = {between(1, 2), 1};
    const Ints low = {between(0, kernel[0] - 1), 0}, high = {between(0, kernel[0] - 1), 0};
    const TensorType weight{DType::f32, {5, kernel[0], kernel[1], 4}};
    struct Instance {
      Op op;
      std::vector<TensorType> more;
      Attributes attributes;
    };
    const std::vector<Instance> instances = {
        {Op::max_pool, {}, PoolAttrs{kernel, stride, dilation, low, high, false, {}}},
        {Op::conv, {weight}, ConvAttrs{stride, dilation, low, high, 1, {}}},
        {Op::conv_transpose,
         {weight},
         ConvTransposeAttrs{stride, dilation, low, high, {between(0, 1), 0}, 1, {}}},
        {Op::pad, {}, PadAttrs{{0, between(0, 3), 0, 0}, {0, between(0, 3), 0, 0}}},
        {Op::concat, {{DType::f32, {s1, between(1, 9), 9, 4}}}, AxisAttrs{1}},
        {Op::reduce_mean, {}, AxesAttrs{{1, 2}}},
        {Op::softmax, {}, AxisAttrs{1}},
    };
    for (const Instance& instance : instances) {
      std::vector<TensorType> types = {{DType::f32, {s1, length, 9, 4}}};
      types.insert(types.end(), instance.more.begin(), instance.more.end());
      TensorType symbolic;
      try {
        symbolic = info(instance.op).infer(types, instance.attributes, table);
      } catch (const UserError&) {
        continue;  // refused, because it does not fit the smallest
      }
      ++accepted;
      for (int64_t rows = 6; rows <= 20; ++rows) {
        SymbolValues values(table);
        values.set(1, 3);
        values.set(3, rows);
        std::vector<TensorType> bound = types;
        for (TensorType& type : bound) type.shape = values(type.shape);
        SymbolTable none;
        const TensorType expected = info(instance.op).infer(bound, instance.attributes, none);
        ASSERT_EQ(values(symbolic.shape), expected.shape)
            << name(instance.op) << " of " << to_string(types[0]) << " at " << rows;
      }
    }
  }
  EXPECT_GT(accepted, 1500);
}

TEST_F(SymbolsTest, ShapesAtTheirUpperBounds) {
  EXPECT_EQ(table.greatest(Shape{s1, 3, s1 * s2, table.add(s1, 1)}), (Shape{9, 3, 63, 10}));
  const Dim open = Dim::symbol(table.add({"open"}));
  EXPECT_EQ(table.greatest(open), Symbol::kUnbounded);
  EXPECT_EQ(table.greatest(table.parse("(s4+1)//2")), Symbol::kUnbounded);
  EXPECT_EQ(table.least(table.parse("(s4+1)//2")), 1);
}

}  // namespace
}  // namespace layline

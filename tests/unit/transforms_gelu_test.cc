// recognise_gelu: the ways in which models write gelu out, and what looks like one.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "transforms_testing.h"

namespace layline {
namespace {

const double kRoot = std::sqrt(2 / std::numbers::pi);

Value* times(TestModel& m, Value* x, double factor) {
  return m.add(Op::mul, {x, m.number(factor)});
}
Value* plus(TestModel& m, Value* x, double shift) { return m.add(Op::add, {x, m.number(shift)}); }
Value* erf(TestModel& m, Value* x) { return m.add(Op::erf, {x}); }
Value* tanh(TestModel& m, Value* x) { return m.add(Op::tanh, {x}); }
Value* cube(TestModel& m, Value* x) { return m.add(Op::pow, {x, m.number(3)}); }

using Spelling = Value* (*)(TestModel&, Value*);

void expect_gelu(Spelling spelling, bool tanh) {
  TestModel m;
  // What it is taken of is itself computed, in ops like those of the formula.
  Value* x = m.add(Op::add, {m.input({2, 50}), times(m, m.input({2, 50}), 0.5)});
  m.output(spelling(m, x)).run({"recognise_gelu"});
  ASSERT_EQ(m.count(Op::gelu), 1) << print(m.built());
  EXPECT_EQ(m.only(Op::gelu)->attrs<GeluAttrs>().tanh, tanh);
  EXPECT_EQ(m.only(Op::gelu)->operand(0), x);
  EXPECT_EQ(m.work(), 3);
}

TEST(RecogniseGelu, InItsSpellings) {
  const Spelling spellings[] = {
      [](TestModel& m, Value* x) {  // torch's decomposition
        Value* f = erf(m, times(m, x, 1 / std::numbers::sqrt2));
        return m.add(Op::mul, {times(m, x, 0.5), plus(m, f, 1)});
      },
      [](TestModel& m, Value* x) {
        Value* f = erf(m, m.add(Op::div, {x, m.number(std::numbers::sqrt2)}));
        return times(m, m.add(Op::mul, {x, plus(m, f, 1)}), 0.5);
      },
      [](TestModel& m, Value* x) {
        Value* f = erf(m, m.add(Op::div, {x, m.number(std::numbers::sqrt2)}));
        return m.add(Op::mul, {x, plus(m, times(m, f, 0.5), 0.5)});
      },
      [](TestModel& m, Value* x) {
        Value* f = erf(m, times(m, x, 0.70710678));
        return m.add(Op::div, {m.add(Op::mul, {m.add(Op::add, {m.number(1), f}), x}), m.number(2)});
      },
      [](TestModel& m, Value* x) {  // multiplied out
        Value* half = times(m, x, 0.5);
        Value* f = erf(m, times(m, x, 1 / std::numbers::sqrt2));
        return m.add(Op::add, {half, m.add(Op::mul, {half, f})});
      },
  };
  for (const Spelling spelling : spellings) expect_gelu(spelling, false);
}

TEST(RecogniseGelu, TheApproximationInItsSpellings) {
  const Spelling spellings[] = {
      [](TestModel& m, Value* x) {
        Value* inner = m.add(Op::add, {x, times(m, cube(m, x), 0.044715)});
        return m.add(Op::mul, {times(m, x, 0.5), plus(m, tanh(m, times(m, inner, kRoot)), 1)});
      },
      [](TestModel& m, Value* x) {
        Value* inner = plus(m, m.add(Op::mul, {times(m, x, 0.044715), x}), 1);
        Value* f = tanh(m, m.add(Op::mul, {times(m, x, 0.7978845608), inner}));
        return m.add(Op::mul, {times(m, x, 0.5), plus(m, f, 1)});
      },
      [](TestModel& m, Value* x) {
        Value* square = m.add(Op::square, {x});
        Value* inner = m.add(
            Op::add, {times(m, x, kRoot), times(m, m.add(Op::mul, {square, x}), kRoot * 0.044715)});
        return times(m, m.add(Op::mul, {x, plus(m, tanh(m, inner), 1)}), 0.5);
      },
  };
  for (const Spelling spelling : spellings) expect_gelu(spelling, true);
}

TEST(RecogniseGelu, NotElsewhere) {
  TestModel m;
  Value* x = m.input({2, 5});
  const double slope = 1 / std::numbers::sqrt2;
  auto gelu = [&](Value* value, Value* f) {
    m.output(m.add(Op::mul, {times(m, value, 0.5), plus(m, f, 1)}));
  };
  gelu(x, erf(m, times(m, x, 0.7)));  // another slope
  gelu(x, erf(m, x));
  gelu(m.input({2, 5}), erf(m, times(m, x, slope)));  // two x
  gelu(m.input({1, 5}), erf(m, times(m, x, slope)));  // which would broadcast
  gelu(x, tanh(m, times(m, x, kRoot)));               // no cube
  gelu(x, tanh(m, times(m, m.add(Op::add, {x, times(m, cube(m, x), 0.05)}), kRoot)));
  m.output(m.add(Op::mul, {x, plus(m, erf(m, times(m, x, slope)), 1)}));  // no half
  m.output(m.add(Op::mul, {times(m, x, 0.5), plus(m, erf(m, times(m, x, slope)), -1)}));
  Value* clamped = m.add(Op::mul, {x, m.number(slope)}, BinaryAttrs{{-1, 1}});
  gelu(x, erf(m, clamped));
  Value* shared = erf(m, times(m, x, slope));  // computed anyway
  m.output(shared);
  gelu(x, shared);
  m.run({"recognise_gelu"});
  EXPECT_EQ(m.count(Op::gelu), 0);
}

}  // namespace
}  // namespace layline

// gather_one_hot: numbers that are none of the places, and where the model has them.
#include <gtest/gtest.h>

#include "transforms/passes.h"
#include "transforms_testing.h"

namespace layline {
namespace {

constexpr int64_t kPlaces = 5;

/// One row for each number, with `on` at the place that it names.
Value* one_hot(TestModel& m, Value* x, double on, double off, int64_t first) {
  Tensor places({x->dtype(), {kPlaces}});
  for (int64_t i = 0; i < kPlaces; ++i) places.set_int(i, first + i);
  Value* hit = m.add(Op::equal, {m.view(x, {x->shape()[0], 1}), m.constant(places)});
  return m.add(Op::where, {hit, m.number(on), m.number(off)});
}

/// All numbers around the places, and the least and the greatest that there are.
Tensor numbers(DType dtype, int64_t first) {
  const bool is_long = dtype == DType::i64;
  std::vector<int64_t> list = {
      is_long ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min(),
      is_long ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max()};
  for (int64_t i = first - 3; i < first + kPlaces + 3; ++i) list.push_back(i);
  Tensor result({dtype, {std::ssize(list)}});
  for (size_t i = 0; i < list.size(); ++i) result.set_int(static_cast<int64_t>(i), list[i]);
  return result;
}

TEST(GatherOneHot, EveryNumberGivesWhatTheProductGives) {
  for (const DType dtype : {DType::i32, DType::i64})
    for (const int64_t first : {0, 1, -7})
      for (const auto& [on, off] : {std::pair{1.0, 0.0}, {0.0, 1.0}, {-3.0, 0.5}})
        for (const bool has_bias : {false, true}) {
          const std::vector<Tensor> inputs = {numbers(dtype, first)};
          TestModel m;
          Value* x = m.input({inputs[0].count()}, dtype);
          std::vector<Value*> operands = {one_hot(m, x, on, off, first), m.weights({3, kPlaces})};
          if (has_bias) operands.push_back(m.weights({3}));
          m.output(m.add(Op::linear, operands, LinearAttrs{}));
          const Tensor before = evaluate(m.built(), inputs)[0];
          m.run({"gather_one_hot", "fold_constants", "dead_code"});
          EXPECT_EQ(m.count(Op::gather), 1);
          EXPECT_EQ(m.count(Op::linear) + m.count(Op::equal) + m.count(Op::pad), 0);
          const Tensor after = evaluate(m.built(), inputs)[0];
          for (int64_t i = 0; i < before.count(); ++i)
            EXPECT_NEAR(after.get(i), before.get(i), 1e-6);
        }
}

TEST(GatherOneHot, OnesAndZerosAreExact) {
  const std::vector<Tensor> inputs = {numbers(DType::i32, 0)};
  TestModel m;
  Value* x = m.input({inputs[0].count()}, DType::i32);
  m.output(m.add(Op::linear, {one_hot(m, x, 1, 0, 0), m.weights({3, kPlaces}), m.weights({3})},
                 LinearAttrs{}));
  const Tensor before = evaluate(m.built(), inputs)[0];
  m.run({"gather_one_hot"});
  const Tensor after = evaluate(m.built(), inputs)[0];
  EXPECT_TRUE(std::ranges::equal(before.bytes(), after.bytes()));
}

TEST(GatherOneHot, SizesMayBeDynamic) {
  TestModel m;
  const SymbolId length = m.built().add_symbol({.name = "n", .min = 1, .max = 40});
  Value* x = m.input({Dim::symbol(length)}, DType::i64);
  m.output(m.add(Op::linear, {one_hot(m, x, 1, 0, 0), m.weights({3, kPlaces})}, LinearAttrs{}));
  m.run({"gather_one_hot"});
  EXPECT_EQ(m.only(Op::gather)->result()->shape(), Shape({Dim::symbol(length), 3}));
}

TEST(GatherOneHot, TablesBeyondTheLimitStay) {
  // A table of 64 MB and two rows.
  for (const int64_t outputs : {int64_t{1} << 20, int64_t{1} << 18}) {
    constexpr int64_t kRows = 16;
    Tensor places({DType::i32, {kRows}});
    for (int64_t i = 0; i < kRows; ++i) places.set_int(i, i);
    TestModel m;
    Value* hit = m.add(Op::equal, {m.input({2, 1}, DType::i32), m.constant(places)});
    Value* weight = m.constant(Tensor({DType::f32, {outputs, kRows}}));
    m.output(m.add(Op::linear, {m.convert(hit, DType::f32), weight}, LinearAttrs{}));
    PassContext context("gather_one_hot", TargetRules{}, nullptr);
    EXPECT_EQ(gather_one_hot(m.built(), context), outputs < int64_t{1} << 20);
  }
}

}  // namespace
}  // namespace layline

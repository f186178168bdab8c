#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

using Make = Value* (*)(TestModel&, Value*);

/// How many nodes, other than constants, are left of `make` applied to an input of [1,4,4,3].
int left_of(Make make) {
  TestModel m;
  m.output(make(m, m.input({1, 4, 4, 3}))).run({"simplify", "dead_code"});
  return m.work() + m.count(Op::relayout) - m.moves();
}

PoolAttrs pool(int64_t kernel, Bounds bounds = {}) {
  return {{kernel, kernel}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false, bounds};
}

TEST(Simplify, DropsWhatDoesNothing) {
  const Make nothing[] = {
      [](TestModel& m, Value* x) {
        return m.add(Op::mul, {x, m.number(1)});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::mul, {m.number(1), x});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::div, {x, m.number(1)});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::add, {m.number(0), x});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::sub, {x, m.number(0)});
      },
      [](TestModel& m, Value* x) { return m.add(Op::neg, {m.add(Op::neg, {x})}); },
      [](TestModel& m, Value* x) { return m.add(Op::convert, {x}, ConvertAttrs{DType::f32}); },
      [](TestModel& m, Value* x) { return m.add(Op::expand, {x}, ShapeAttrs{x->shape()}); },
      [](TestModel& m, Value* x) {
        return m.add(Op::slice, {x}, SliceAttrs{{0, 0, 0, 0}, x->shape(), {1, 1, 1, 1}});
      },
      [](TestModel& m, Value* x) { return m.add(Op::concat, {x}, AxisAttrs{1}); },
      [](TestModel& m, Value* x) {
        return m.add(Op::pad, {x}, PadAttrs{Ints(4, 0), Ints(4, 0)});
      },
      [](TestModel& m, Value* x) { return m.add(Op::flip, {x}, AxesAttrs{{0}}); },
      [](TestModel& m, Value* x) {
        return m.add(Op::roll, {x}, RollAttrs{{1}, {0}});
      },
      [](TestModel& m, Value* x) { return m.add(Op::max_pool, {x}, pool(1)); },
      [](TestModel& m, Value* x) { return m.add(Op::avg_pool, {x}, pool(1)); },
      [](TestModel& m, Value* x) {
        return m.add(Op::resize, {x}, ResizeAttrs{{4, 4}, {1, 1}});
      },
      [](TestModel& m, Value* x) { return m.add(Op::reduce_mean, {x}, AxesAttrs{{0}}); },
      [](TestModel& m, Value* x) { return m.add(Op::reduce_max, {x}, AxesAttrs{}); },
      [](TestModel& m, Value* x) { return m.add(Op::clamp, {x}, ClampAttrs{}); },
  };
  for (size_t i = 0; i < std::size(nothing); ++i) EXPECT_EQ(left_of(nothing[i]), 0) << i;
}

TEST(Simplify, Shortens) {
  const Make one[] = {
      [](TestModel& m, Value* x) { return m.slice(m.slice(x, 1, 1, 3), 2, 0, 2, 2); },
      [](TestModel& m, Value* x) { return m.slice(m.slice(x, 1, 0, 2, 2), 1, 1, 1); },
      [](TestModel& m, Value* x) {
        return m.expand(m.expand(x, {2, 4, 4, 3}), {5, 2, 4, 4, 3});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::maximum, {m.number(0), x});
      },
      [](TestModel& m, Value* x) { return m.clamp(m.relu(x), -1, 6); },
      [](TestModel& m, Value* x) {
        return m.add(Op::max_pool, {x}, pool(1, {0, 6}));
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::mul, {x, m.number(1)}, BinaryAttrs{{0, 6}});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::reduce_sum, {x}, AxesAttrs{{0, 1}});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::mul, {x, m.expand(m.input({3}), {4, 3})});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::prelu, {x, m.expand(m.input({3}), {1, 4, 4, 3})});
      },
  };
  for (size_t i = 0; i < std::size(one); ++i) EXPECT_EQ(left_of(one[i]), 1) << i;
}

TEST(Simplify, KeepsWhatDoesSomething) {
  const Make one[] = {
      [](TestModel& m, Value* x) {
        return m.add(Op::mul, {x, m.number(2)});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::div, {m.number(1), x});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::sub, {m.number(0), x});
      },
      [](TestModel& m, Value* x) {
        return m.add(Op::mul, {x, m.constant(Constant::owned(DType::f32, {2, 1, 1, 1, 1}, [] {
                                 Tensor ones({DType::f32, {2, 1, 1, 1, 1}});
                                 for (int64_t i = 0; i < 2; ++i) ones.set(i, 1);
                                 return std::vector<std::byte>(ones.bytes().begin(),
                                                               ones.bytes().end());
                               }()))});
      },
      [](TestModel& m, Value* x) { return m.add(Op::flip, {x}, AxesAttrs{{1}}); },
      [](TestModel& m, Value* x) { return m.add(Op::max_pool, {x}, pool(2)); },
      [](TestModel& m, Value* x) {
        return m.add(Op::resize, {x}, ResizeAttrs{{4, 4}, {0.5, 0.5}});
      },
      [](TestModel& m, Value* x) { return m.add(Op::reduce_mean, {x}, AxesAttrs{{1}}); },
      [](TestModel& m, Value* x) { return m.slice(x, 1, 0, 2, 2); },
  };
  for (size_t i = 0; i < std::size(one); ++i) EXPECT_EQ(left_of(one[i]), 1) << i;
  // The expansion gives the result its shape.
  EXPECT_EQ(left_of([](TestModel& m, Value* x) {
              return m.add(Op::neg, {m.expand(x, {7, 1, 4, 4, 3})});
            }),
            2);
}

TEST(Simplify, OneMatrixForAllBatchesIsLinear) {
  TestModel model;
  Value* x = model.input({4, 5, 3});
  model.output(
      model.add(Op::matmul, {x, model.expand(model.weights({1, 3, 2}), {4, 3, 2})}, MatmulAttrs{}));
  model.output(model.add(Op::matmul, {x, model.weights({1, 7, 3})}, MatmulAttrs{true}));
  model.run({"fold_constants", "simplify", "dead_code"});
  EXPECT_EQ(model.count(Op::linear), 2);
  EXPECT_EQ(model.count(Op::matmul) + model.count(Op::expand), 0);
}

TEST(Simplify, DifferentMatricesAndMissingBatchesStayProducts) {
  TestModel model;
  Value* x = model.input({4, 5, 3});
  Value* one = model.input({1, 5, 3});
  model.output(model.add(Op::matmul, {x, model.weights({4, 3, 2})}, MatmulAttrs{}));
  // The result has the batches of the matrix.
  model.output(model.add(Op::matmul, {one, model.expand(model.weights({1, 3, 2}), {4, 3, 2})},
                         MatmulAttrs{}));
  model.run({"fold_constants", "simplify"});
  EXPECT_EQ(model.count(Op::matmul), 2);
  EXPECT_EQ(model.count(Op::expand), 0);
}

}  // namespace
}  // namespace layline

// The op library without a file format: what front ends may ask that torch's does not.
#include <gtest/gtest.h>

#include <functional>
#include <unordered_set>

#include "base/error.h"
#include "frontend/ops/norm.h"
#include "frontend/ops/pad.h"
#include "frontend/ops/pool.h"
#include "frontend/ops/recurrent.h"
#include "frontend/ops/resize.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/sort.h"
#include "frontend/ops/view.h"
#include "ir/evaluate.h"
#include "make_tensor.h"

namespace layline::ops {
namespace {

OriginRef somewhere() {
  return std::make_shared<const Origin>(Origin{"node_1", "model.py:7", "body"});
}

/// What an op of one tensor gives.
Tensor result_of(const Tensor& x,
                 const std::function<Value*(const Builder& build, Value* x)>& make) {
  Graph graph("forward");
  Value* input = graph.add_input("x", x.type());
  graph.add_output("y", make(Builder(graph, somewhere(), "Op"), input));
  return evaluate(graph, {&x, 1})[0];
}

std::string refusal(const std::function<void(const Builder& build)>& act,
                    std::string_view op = "Op") {
  Graph graph("forward");
  try {
    act(Builder(graph, somewhere(), op));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(OpLibrary, ARefusalNamesThePlaceAndTheOp) {
  EXPECT_EQ(refusal([](const Builder& build) { build.fail("takes no {}", 3); }),
            "node_1 (model.py:7, body): Op: takes no 3");
  EXPECT_EQ(refusal([](const Builder& build) { build.fail("has {braces}"); }, ""),
            "node_1 (model.py:7, body): has {braces}");
}

TEST(OpLibrary, AViewNeedsTheElements) {
  EXPECT_EQ(refusal([](const Builder& build) { view(build, build.scalar(DType::f32, 1), {2}); }),
            "node_1 (model.py:7, body): Op: f32[] does not have the elements of [2]");
}

PoolWindow window(int64_t kernel, int64_t low, int64_t high) {
  PoolWindow window;
  window.kernel = {kernel};
  window.stride = window.dilation = {1};
  window.low = {low};
  window.high = {high};
  return window;
}

TEST(OpLibrary, PoolsPadTheirSidesDifferently) {
  const Tensor x = f32({1, 1, 3}, {6, 2, 4});
  expect_near(result_of(x, [](auto& build,
                              Value* value) { return max_pool(build, value, window(2, 1, 0)); }),
              f32({1, 1, 3}, {6, 6, 4}), 0);
  expect_near(
      result_of(
          x, [](auto& build, Value* value) { return avg_pool(build, value, window(2, 0, 1), {}); }),
      f32({1, 1, 3}, {4, 3, 2}), 0);
  expect_near(result_of(x,
                        [](auto& build, Value* value) {
                          return avg_pool(build, value, window(2, 1, 0), {false, {}});
                        }),
              f32({1, 1, 3}, {6, 4, 3}), 0);
  expect_near(result_of(x,
                        [](auto& build, Value* value) {
                          return avg_pool(build, value, window(2, 1, 0), {false, 4});
                        }),
              f32({1, 1, 3}, {1.5, 2, 1.5}), 0);
}

TEST(OpLibrary, WhatCeilAddsBehindPaddingDoesNotCount) {
  PoolWindow partial = window(3, 0, 1);
  partial.stride = {3};
  partial.ceil = true;
  expect_near(
      result_of(f32({1, 1, 4}, {3, 2, 4, 8}),
                [&](auto& build, Value* value) { return avg_pool(build, value, partial, {}); }),
      f32({1, 1, 2}, {3, 4}), 0);
}

TEST(OpLibrary, ASequenceIsResizedByOneSize) {
  const ResizedTo to{{4}, {std::nullopt}};
  expect_near(result_of(f32({1, 1, 2}, {1, 2}),
                        [&](auto& build, Value* value) {
                          return resize(build, value, ResizeMode::nearest, to);
                        }),
              f32({1, 1, 4}, {1, 1, 2, 2}), 0);
}

TEST(OpLibrary, AnAxisIsCroppedAndPadded) {
  expect_near(result_of(f32({2, 2}, {1, 2, 3, 4}),
                        [](auto& build, Value* value) {
                          return pad(build, value, {{-1, 0}, {1, 1}, PadMode::constant, 9});
                        }),
              f32({2, 3}, {3, 4, 9, 9, 9, 9}), 0);
}

TEST(OpLibrary, ASizeBesideZeroIsTheOneGiven) {
  EXPECT_EQ(refusal([](const Builder& build) {
              EXPECT_EQ(complete_shape(build, {Dim(0), std::nullopt}, 0, 5), (Shape{0, 5}));
              EXPECT_EQ(complete_shape(build, {Dim(2), std::nullopt}, 6, 5), (Shape{2, 3}));
              complete_shape(build, {Dim(4), std::nullopt}, 6, 5);
            }),
            "node_1 (model.py:7, body): Op: 6 elements do not fit [4,1]");
}

TEST(OpLibrary, ParametersThatDoNotFitAreRefused) {
  EXPECT_NE(refusal([](const Builder& build) {
              Value* x = build.constant(f32({1, 2, 1}, {1, 2}));
              instance_norm(build, x, {build.constant(f32({3}, {1, 1, 1})), nullptr}, 0);
            }).find("f32[3] does not have the elements of [2,1]"),
            std::string::npos);
}

/// An operand of an LSTM without biases in which all gates are sigmoid(0) or tanh(0).
TEST(OpLibrary, ACellIsHandedOnFromStepToStep) {
  const Tensor x = f32({2, 1, 1}, {0, 0});
  expect_near(result_of(x,
                        [](auto& build, Value* value) {
                          Value* zero = build.constant(f32({4, 1}, {0, 0, 0, 0}));
                          RecurrentLayers layers{Recurrence::lstm, {{zero, zero}}};
                          Value* hidden = build.constant(f32({1, 1, 1}, {0}));
                          Value* cell = build.constant(f32({1, 1, 1}, {8}));
                          return recurrent(build, layers, value, {hidden, cell}).state.cell;
                        }),
              f32({1, 1, 1}, {2}), 0);
}

/// How many loops a layer in two directions becomes.
size_t loops_of(int64_t steps, const std::function<void(RecurrentLayers&)>& change,
                int64_t units = 1) {
  Graph graph("forward");
  const Builder build(graph, somewhere(), "Op");
  Value* x = graph.add_input("x", {DType::f32, {steps, 1, 1}});
  Value* initial = graph.add_input("h", {DType::f32, {2, 1, units}});
  Value* input = build.constant(Tensor({DType::f32, {3 * units, 1}}));
  Value* hidden = build.constant(Tensor({DType::f32, {3 * units, units}}));
  RecurrentLayers layers{Recurrence::gru, {{input, hidden}, {input, hidden}}};
  layers.directions = 2;
  change(layers);
  const RecurrentResults results = recurrent(build, layers, x, {initial});
  EXPECT_EQ(results.output->shape(), (Shape{steps, 1, 2 * units}));
  EXPECT_EQ(results.state.hidden->shape(), (Shape{2, 1, units}));
  std::unordered_set<const Graph*> bodies;
  for (const Node* node : graph)
    if (node->is(Op::scan)) bodies.insert(node->attrs<ScanAttrs>().body.graph.get());
  return bodies.size();
}

TEST(OpLibrary, BothDirectionsOfALayerAreOneLoop) {
  EXPECT_EQ(loops_of(16, [](RecurrentLayers&) {}), 1U);
  EXPECT_EQ(loops_of(15, [](RecurrentLayers&) {}), 0U);  // a few steps are unrolled
  EXPECT_EQ(loops_of(16,
                     [](RecurrentLayers& layers) {
                       layers.weights[1].functions.gate = [](const Builder& build, Value* value) {
                         return build.add(Op::tanh, {value});
                       };
                     }),
            2U);  // the second computes differently
  EXPECT_EQ(loops_of(
                16, [](RecurrentLayers&) {}, 209),
            1U);
  EXPECT_EQ(loops_of(
                16, [](RecurrentLayers&) {}, 210),
            2U);  // more weights than a cache holds
}

TEST(OpLibrary, AScalarIsSorted) {
  expect_near(result_of(f32({}, {7}),
                        [](auto& build, Value* value) {
                          return kth_value(build, value, 0, 1, true).values;
                        }),
              f32({}, {7}), 0);
}

}  // namespace
}  // namespace layline::ops

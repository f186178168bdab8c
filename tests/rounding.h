// How far a right program may be from the reference evaluator: the program computes in f32, the
// evaluator in f64 within each op.
//
// The model of errors is the usual one (Higham, Accuracy and Stability of Numerical Algorithms, 2.2
// and 3.1): an operation is off by u = 2^-24 of its result, and a sum of n products, in whatever
// order, by n u of the sum of their magnitudes. Ops that follow magnify that: the sum of 200
// numbers with one error has 200 times the error. By how much is not derived but tried: the graph
// is evaluated with every result displaced by what its op may be off, and as far as the outputs
// then move they may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "ir/tensor.h"

namespace layline {

inline constexpr double kUnitRoundoff = 0x1p-24;

inline double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) largest = std::max(largest, std::abs(tensor.get(i)));
  return largest;
}

/// How many numbers an op adds up for one of its result.
inline int64_t terms_of(const Node& node) {
  const auto shape = [&](int operand) { return static_dims(node.operand(operand)->shape()); };
  const auto count = [](const Value* value) { return element_count(value->shape()).value(); };
  switch (node.op()) {
    case Op::linear:
    case Op::matmul:
      return shape(0).back();
    case Op::conv:
    case Op::conv_transpose:
      return count(node.operand(1)) / shape(1)[0];
    case Op::avg_pool: {
      const PoolAttrs& pool = node.attrs<PoolAttrs>();
      return pool.kernel[0] * pool.kernel[1];
    }
    case Op::resize:
      return 4;
    case Op::reduce_sum:
    case Op::reduce_mean:
      return count(node.operand(0)) / count(node.result());
    case Op::cumsum:
    case Op::softmax:
      return shape(0)[static_cast<size_t>(node.attrs<AxisAttrs>().axis)];
    case Op::normalize: {
      int64_t terms = 1;
      for (const int64_t axis : node.attrs<NormalizeAttrs>().axes)
        terms *= shape(0)[static_cast<size_t>(axis)];
      return terms;
    }
    default:
      return 1;
  }
}

/// What is added to a sum may be its bias, and first in it: then it is one of as many.
inline int64_t terms_of_addition(const Node& node) {
  int64_t terms = 1;
  for (const Value* operand : node.operands()) {
    const Node* def = operand->def();
    while (def != nullptr && def->is(Op::relayout)) def = def->operand(0)->def();
    if (def != nullptr) terms = std::max(terms, terms_of(*def));
  }
  return terms;
}

/// What each element of the op's result may be off by, in units of roundoff, for operands without
/// errors. Of the ops that RandomGraph makes.
inline Tensor units_off(const Node& node, std::span<const Tensor> operands, const Tensor& result) {
  Tensor units({DType::f64, result.type().shape});
  auto each = [&](auto of_element) {
    for (int64_t i = 0; i < units.count(); ++i) units.set(i, of_element(i));
    return units;
  };
  if (!is_float(result.dtype()) || info(node.op()).op_class == OpClass::movement ||
      info(node.op()).op_class == OpClass::constant)
    return units;
  const auto terms = static_cast<double>(terms_of(node));
  std::vector<Tensor> magnitudes(operands.begin(), operands.end());
  for (Tensor& operand : magnitudes)
    for (int64_t i = 0; i < operand.count() && is_float(operand.dtype()); ++i)
      operand.set(i, std::abs(operand.get(i)));
  switch (node.op()) {
    case Op::neg:
    case Op::abs:
    case Op::clamp:
    case Op::maximum:
    case Op::where:
    case Op::max_pool:
    case Op::reduce_max:
    case Op::reduce_min:
      return units;  // these choose
    case Op::add:
    case Op::sub: {
      const Tensor sum = evaluate_op(Op::add, magnitudes, node.attributes());
      const auto added = static_cast<double>(terms_of_addition(node));
      return each([&](int64_t i) { return added * sum.get(i); });
    }
    case Op::linear:
    case Op::matmul:
    case Op::conv:
    case Op::conv_transpose:
    case Op::avg_pool:
    case Op::resize:
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::cumsum: {
      const Tensor sum = evaluate_node(node, magnitudes);
      return each([&](int64_t i) { return terms * sum.get(i); });
    }
    case Op::normalize: {
      const double scale = 1 / std::sqrt(node.attrs<NormalizeAttrs>().eps);
      return each([&, x = largest_of(operands[0])](int64_t) { return terms * x * scale; });
    }
    case Op::softmax:
      return each(
          [&, x = largest_of(operands[0])](int64_t i) { return (terms + 2 * x) * result.get(i); });
    case Op::mul:
      return each([&](int64_t i) { return std::abs(result.get(i)); });
    case Op::tanh:
    case Op::sigmoid:
    case Op::gelu:
    case Op::hardswish:
    case Op::leaky_relu:
      return each([&](int64_t i) {
        return 4 * std::max(std::abs(operands[0].get(i)), std::abs(result.get(i)));
      });
    default:
      throw InternalError(fmt::format("no model of the errors of {}", name(node.op())));
  }
}

/// For each output, how far its elements may be off. `outputs` is what the graph evaluates to.
inline std::vector<double> rounding_errors(const Graph& graph, std::span<const Tensor> inputs,
                                           std::span<const Tensor> outputs) {
  // Large beside the rounding of results to f32, and small enough to act in proportion.
  constexpr double kMagnified = 1024;
  constexpr int kTrials = 4;
  std::mt19937 random(1);
  auto sign = [&] { return (random() & 1) == 0 ? 1.0 : -1.0; };
  std::vector<double> errors;
  // What is smaller than any normal number may be taken for zero.
  for (const Tensor& output : outputs)
    errors.push_back(
        std::max(kUnitRoundoff * largest_of(output), double{std::numeric_limits<float>::min()}));
  for (int trial = 0; trial < kTrials; ++trial) {
    // Errors of one op have one sign if its numbers are alike, else any.
    const bool alike = trial % 2 == 0;
    std::unordered_map<const Value*, Tensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) tensors.emplace(graph.inputs()[i].value, inputs[i]);
    for (const Node* node : graph) {
      std::vector<Tensor> operands;
      for (const Value* operand : node->operands()) operands.push_back(tensors.at(operand));
      Tensor result =
          node->is(Op::constant) ? tensor_of(node->result()) : evaluate_node(*node, operands);
      const Tensor units = units_off(*node, operands, result);
      const double common = sign();
      for (int64_t i = 0; i < result.count() && is_float(result.dtype()); ++i)
        result.set(i, result.get(i) +
                          (alike ? common : sign()) * kMagnified * kUnitRoundoff * units.get(i));
      tensors.emplace(node->result(), std::move(result));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& moved = tensors.at(graph.outputs()[i].value);
      for (int64_t e = 0; e < moved.count() && is_float(moved.dtype()); ++e)
        errors[i] = std::max(errors[i], std::abs(moved.get(e) - outputs[i].get(e)) / kMagnified);
    }
  }
  return errors;
}

}  // namespace layline

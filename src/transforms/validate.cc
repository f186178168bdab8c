#include "transforms/validate.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "ir/evaluate.h"

namespace layline {
namespace {

constexpr double kTolerance = 1e-4;
constexpr uint32_t kSeed = 20240229;

bool is_exact_in_integers(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::clamp:
    case Op::minimum:
    case Op::maximum:
    case Op::neg:
    case Op::abs:
    case Op::matmul:
    case Op::linear:
    case Op::conv:
    case Op::conv_transpose:
    case Op::max_pool:
    case Op::reduce_sum:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::cumsum:
      return true;
    default:
      return info(op).op_class == OpClass::movement || info(op).op_class == OpClass::constant;
  }
}

/// Symbols get small sizes that differ, so that two of them are not taken for each other.
Dim probe_size(const Graph& graph, const Dim& dim) {
  Dim size = dim.coefficient();
  for (const SymbolId id : dim.symbols()) {
    const Symbol& symbol = graph.symbols()[id - 1u];
    size = size * Dim(std::clamp<int64_t>(id + 1, symbol.min, symbol.max));
  }
  return size;
}

/// The value of which this one is a view or a permutation.
const Value* root_of(const Value* value) {
  while (value->def() && value->def()->is(Op::relayout)) value = value->def()->operand(0);
  return value;
}

/// Integer inputs may be indices: they stay below the length of every axis that is gathered from.
/// Indices to scatter to may address several axes at once, so they fit in all.
int64_t index_limit(const Graph& graph) {
  int64_t limit = 5;
  for (const Node* node : graph) {
    if (node->is(Op::scatter_elements) || node->is(Op::scatter_add))
      for (const Dim& length : root_of(node->operand(0))->shape())
        limit = std::min(limit, probe_size(graph, length).value());
    if (!node->is(Op::gather)) continue;
    const Dim& length =
        node->operand(0)->shape()[static_cast<size_t>(node->attrs<AxisAttrs>().axis)];
    limit = std::min(limit, probe_size(graph, length).value());
  }
  return std::max<int64_t>(limit, 1);
}

bool agree(double expected, double actual, double tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  return expected == actual || std::abs(expected - actual) <= tolerance;
}

/// Whether numbers are rounded on the way, so that those which a last digit moves over a half end
/// up a step apart.
bool rounds(const Graph& graph) {
  for (const Node* node : graph)
    if (node->is(Op::quantize_by) || is_dynamic(node->attributes()) ||
        (node->result()->type().quantisation && !node->is(Op::constant)))
      return true;
  return false;
}

/// Some elements may be a step apart, if few are.
bool agree_but_for_steps(const Tensor& expected, const Tensor& actual) {
  constexpr double kGreatest = 0.05, kMean = 1e-3;  // of the largest element
  double largest = 0, greatest = 0, sum = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    if (!std::isfinite(expected.get(i)) || !std::isfinite(actual.get(i))) return false;
    const double difference = std::abs(expected.get(i) - actual.get(i));
    largest = std::max(largest, std::abs(expected.get(i)));
    greatest = std::max(greatest, difference);
    sum += difference;
  }
  if (!is_float(expected.dtype())) largest = std::max(largest, 1 / kGreatest);
  return greatest <= kGreatest * largest &&
         sum <= kMean * largest * static_cast<double>(expected.count());
}

/// The first element that differs, or -1.
int64_t first_difference(const Tensor& expected, const Tensor& actual) {
  double largest = 0;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (std::isfinite(expected.get(i))) largest = std::max(largest, std::abs(expected.get(i)));
  const double tolerance = is_float(expected.dtype()) ? kTolerance * largest : 0;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (!agree(expected.get(i), actual.get(i), tolerance)) return i;
  return -1;
}

}  // namespace

std::vector<Tensor> probes(const Graph& graph) {
  bool integers = true;
  for (const Node* node : graph) integers = integers && is_exact_in_integers(node->op());
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<int64_t> small(-4, 4);
  std::uniform_int_distribution<int64_t> index(0, index_limit(graph) - 1);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr) continue;
    TensorType type = input.value->type();
    for (Dim& dim : type.shape) dim = probe_size(graph, dim);
    Tensor& tensor = inputs.emplace_back(std::move(type));
    for (int64_t i = 0; i < tensor.count(); ++i) {
      if (!is_float(tensor.dtype()))
        tensor.set_int(i, index(random));
      else
        tensor.set(i, integers ? static_cast<double>(small(random)) : real(random));
    }
  }
  return inputs;
}

Validator::Validator(const Graph& graph)
    : inputs_(probes(graph)), expected_(evaluate(graph, inputs_)) {}

void Validator::check(const Graph& graph, std::string_view pass) const {
  const std::vector<Tensor> actual = evaluate(graph, inputs_);
  for (size_t i = 0; i < expected_.size(); ++i) {
    const std::string& name = graph.outputs()[i].name;
    if (actual[i].type() != expected_[i].type())
      throw InternalError(fmt::format("pass {} changes output {} from {} to {}", pass, name,
                                      to_string(expected_[i].type()), to_string(actual[i].type())));
    const int64_t at = first_difference(expected_[i], actual[i]);
    if (at >= 0 && !(rounds(graph) && agree_but_for_steps(expected_[i], actual[i])))
      throw InternalError(fmt::format("pass {} changes output {}: element {} is {} instead of {}",
                                      pass, name, at, actual[i].get(at), expected_[i].get(at)));
  }
}

}  // namespace layline

#include "transforms/validate.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"
#include "ir/evaluate.h"
#include "transforms/rounding.h"

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
SymbolValues probe_sizes(const Graph& graph, int round) {
  SymbolValues sizes(graph.symbol_table());
  for (size_t s = 0; s < graph.symbols().size(); ++s) {
    const Symbol& symbol = graph.symbols()[s];
    if (symbol.formula.kind != Formula::Kind::free) continue;
    const auto wanted = static_cast<int64_t>(s) + 2 + 3 * round;
    sizes.set(static_cast<SymbolId>(s + 1), std::clamp(wanted, symbol.min, symbol.max));
  }
  return sizes;
}

/// The value that this one is a view or a permutation of.
const Value* root_of(const Value* value) {
  while (value->def() && value->def()->is(Op::relayout)) value = value->def()->operand(0);
  return value;
}

/// Integer inputs may be indices: they stay below the length of every axis that is gathered from.
/// Indices to scatter to may address several axes at once, so they fit in all.
int64_t index_limit(const Graph& graph, const SymbolValues& sizes) {
  int64_t limit = 5;
  for (const Node* node : graph) {
    if (node->is(Op::scatter) || node->is(Op::scatter_elements) || node->is(Op::scatter_add))
      for (const Dim& length : root_of(node->operand(0))->shape())
        limit = std::min(limit, sizes(length));
    if (!node->is(Op::gather) && !node->is(Op::gather_elements)) continue;
    const Dim& length =
        node->operand(0)->shape()[static_cast<size_t>(node->attrs<AxisAttrs>().axis)];
    limit = std::min(limit, sizes(length));
    // A sum may be a place and the rows that follow it, as many as there are indices.
    const Node* sum = root_of(node->operand(1))->def();
    if (node->is(Op::gather) && sum != nullptr && sum->is(Op::add))
      limit = std::min(limit, sizes(length) - sizes(node->operand(1)->shape()[0]) + 1);
  }
  return std::max<int64_t>(limit, 1);
}

bool agree(double expected, double actual, double tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  return expected == actual || std::abs(expected - actual) <= tolerance;
}

/// Some elements may be a step apart, if few are.
bool agree_but_for_steps(const Tensor& expected, const Tensor& actual) {
  constexpr double kGreatest = 0.05, kMean = 1e-3;  // relative to the largest element
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

}  // namespace

std::vector<Tensor> probes(const Graph& graph, int round) {
  const SymbolValues sizes = probe_sizes(graph, round);
  bool integers = true;
  for (const Node* node : graph) integers = integers && is_exact_in_integers(node->op());
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<int64_t> small(-4, 4);
  std::uniform_int_distribution<int64_t> index(0, index_limit(graph, sizes) - 1);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr) continue;
    Tensor& tensor =
        inputs.emplace_back(TensorType{input.value->dtype(), sizes(input.value->shape())});
    for (int64_t i = 0; i < tensor.count(); ++i) {
      if (!is_float(tensor.dtype()))
        tensor.set_int(i, index(random));
      else
        tensor.set(i, integers ? static_cast<double>(small(random)) : real(random));
    }
  }
  return inputs;
}

bool rounds(const Graph& graph) {
  for (const Node* node : graph)
    if (node->is(Op::round) || node->is(Op::quantize_by) || is_dynamic(node->attributes()) ||
        (node->result()->type().quantisation && !node->is(Op::constant)))
      return true;
  return false;
}

int64_t first_difference(const Tensor& expected, const Tensor& actual, double tolerance,
                         double rounding) {
  double largest = 0;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (std::isfinite(expected.get(i))) largest = std::max(largest, std::abs(expected.get(i)));
  const double allowed = is_float(expected.dtype()) ? std::max(tolerance * largest, rounding) : 0;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (!agree(expected.get(i), actual.get(i), allowed)) return i;
  return -1;
}

Validator::Validator(const Graph& graph, std::vector<Tensor> inputs)
    : inputs_(std::move(inputs)), expected_(evaluate_all(graph)) {
  results_ = std::move(next_results_);
}

std::vector<Tensor> Validator::stored_inputs(const Graph& graph) const {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs())
    if (input.value != nullptr) inputs.push_back(in_memory(input, inputs_[inputs.size()]));
  return inputs;
}

/// States are given, and compared, as they are in the model, wherever a pass has put them.
std::vector<Tensor> Validator::evaluate_as_model(const Graph& graph,
                                                 const Observer& observe) const {
  std::vector<Tensor> outputs = evaluate(graph, stored_inputs(graph), observe);
  size_t next = 0;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.value == nullptr) continue;
    Tensor& tensor = outputs[next++];
    if (output.writes) tensor = in_model(graph.inputs()[*output.writes], std::move(tensor));
  }
  return outputs;
}

std::vector<Tensor> Validator::evaluate_all(const Graph& graph) {
  next_results_.clear();
  return evaluate_as_model(graph, [this](const Node& node, const Tensor& result) {
    if (node.origin()) next_results_.emplace(node.origin().get(), result);
  });
}

/// An op of the model may have become several nodes and its results other shapes: only nodes whose
/// op had results of their type before can be told to differ.
std::string Validator::first_diverging_node(const Graph& graph) const {
  std::string found;
  evaluate_as_model(graph, [&](const Node& node, const Tensor& result) {
    if (!found.empty() || !node.origin()) return;
    bool known = false, same = false;
    const auto [first, last] = results_.equal_range(node.origin().get());
    for (auto before = first; before != last; ++before) {
      if (before->second.type() != result.type()) continue;
      known = true;
      same = same || first_difference(before->second, result, kTolerance) < 0;
    }
    if (known && !same) found = fmt::format("; the first node that differs is {}", describe(node));
  });
  return found;
}

void Validator::check(const Graph& graph, std::string_view pass) {
  const std::vector<Tensor> actual = evaluate_all(graph);
  for (size_t i = 0; i < expected_.size(); ++i) {
    const std::string& name = graph.outputs()[i].name;
    if (actual[i].type() != expected_[i].type())
      throw InternalError(fmt::format("pass {} changes output {} from {} to {}", pass, name,
                                      to_string(expected_[i].type()), to_string(actual[i].type())));
    int64_t at = first_difference(expected_[i], actual[i], kTolerance);
    if (at >= 0 && is_float(expected_[i].dtype()) && !rounds(graph))
      at = first_difference(expected_[i], actual[i], kTolerance,
                            rounding_of_outputs(graph, stored_inputs(graph))[i]);
    if (at >= 0 && !(rounds(graph) && agree_but_for_steps(expected_[i], actual[i])))
      throw InternalError(fmt::format("pass {} changes output {}: element {} is {} instead of {}{}",
                                      pass, name, at, actual[i].get(at), expected_[i].get(at),
                                      first_diverging_node(graph)));
  }
  results_ = std::move(next_results_);
}

}  // namespace layline

#include "targets/tosa/verify.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/sink.h"
#include "ir/evaluate.h"
#include "targets/tosa/accelerator.h"
#include "targets/tosa/lookup.h"
#include "targets/tosa/lower.h"
#include "transforms/validate.h"

namespace layline::tosa {
namespace {

/// How far floats may be off, relative to the largest element.
double tolerance(DType dtype) { return dtype == DType::f16 ? 5e-3 : 1e-4; }

/// A tensor of the graph as the program has it: integers where real numbers are quantised at the
/// boundary, and 32 bits instead of 64.
Tensor at_boundary(const Tensor& tensor, const BoundaryTensor& boundary) {
  const DType dtype = *parse_dtype(boundary.dtype);
  if (dtype == tensor.dtype()) return tensor;
  Tensor result({dtype, tensor.type().shape});
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (!boundary.scale) {
      result.set_int(i, tensor.get_int(i));
      continue;
    }
    const Quantisation own = per_tensor(dtype, static_cast<float>(*boundary.scale),
                                        static_cast<int32_t>(boundary.zero_point.value_or(0)));
    result.set_int(i, own.quantised(static_cast<float>(tensor.get(i))));
  }
  return result;
}

int64_t most_units(const Tensor& wanted, const Tensor& actual) {
  int64_t most = 0;
  for (int64_t i = 0; i < wanted.count(); ++i)
    most = std::max(most, std::abs(wanted.get_int(i) - actual.get_int(i)));
  return most;
}

bool differs(const Tensor& wanted, const Tensor& actual) {
  return wanted.dtype() != actual.dtype() || wanted.dims() != actual.dims() ||
         first_difference(wanted, actual, tolerance(wanted.dtype())) >= 0;
}

/// Values computed from those that are known.
class Results {
 public:
  void set(const Value* value, Tensor tensor) { known_.insert_or_assign(value, std::move(tensor)); }

  const Tensor& of(const Value* value) {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    LAYLINE_ASSERT(value->def(), "the input {} has no tensor", value->name());
    Tensor result = value->def()->is(Op::constant) ? tensor_of(value) : computed(*value->def());
    return known_.emplace(value, std::move(result)).first->second;
  }

  Tensor computed(const Node& node) {
    std::vector<Tensor> operands;
    for (const Value* operand : node.operands()) operands.push_back(of(operand));
    return evaluate_node(node, operands);
  }

 private:
  std::unordered_map<const Value*, Tensor> known_;
};

/// A function of one quantised value that a table of 16 bits holds, in units of its result, where
/// the value is `by` steps further on.
std::vector<double> curve(const Node& quantize, const Value* source, const Tensor& integers,
                          int64_t by) {
  const Quantisation& from = *source->type().quantisation;
  const Quantisation& to = *quantize.result()->type().quantisation;
  Tensor reals({DType::f32, integers.type().shape});
  for (int64_t i = 0; i < reals.count(); ++i)
    reals.set(i, static_cast<double>(from.real(integers.get_int(i) + by)));
  Results results;
  for (const Use& use : source->uses())
    if (use.user->is(Op::dequantize)) results.set(use.user->result(), reals);
  const Tensor& values = results.of(quantize.operand(0));
  std::vector<double> units;
  for (int64_t i = 0; i < values.count(); ++i)
    units.push_back(std::clamp(values.get(i) / static_cast<double>(to.scale()),
                               static_cast<double>(to.min), static_cast<double>(to.max)));
  return units;
}

/// By how many units each element of a quantised result may be off. The chord of a convex curve
/// strays from it by at most a quarter of the curve's second difference over its length, and the
/// entries are moved by as much to share that out; they are integers themselves.
std::vector<double> allowed_units(const Node& node, Results& results) {
  std::vector<double> allowed(static_cast<size_t>(results.of(node.result()).count()), 1);
  const auto lookup = node.is(Op::quantize) ? find_lookup(node) : std::nullopt;
  if (!lookup || lookup->levels.empty()) return allowed;
  const Tensor& integers = results.of(lookup->source);
  const std::vector<double> at = curve(node, lookup->source, integers, 0);
  for (const TableLevel& level : lookup->levels) {  // the finest, which counts, comes last
    const int64_t step = kTableStep >> level.shift;
    const double entry = level.scale * static_cast<double>(kTableStep) / 2;
    const auto before = curve(node, lookup->source, integers, -step),
               after = curve(node, lookup->source, integers, step);
    for (size_t i = 0; i < allowed.size(); ++i)
      if (std::abs(std::ldexp(integers.get_int(static_cast<int64_t>(i)), level.shift)) <= 0x1p15)
        allowed[i] = 2 + entry + std::abs(before[i] - 2 * at[i] + after[i]) / 2;
  }
  return allowed;
}

/// Whether the node's result is wrong for the operands that it had.
bool is_wrong(const Node& node, Results& results) {
  const Tensor wanted = results.computed(node);
  const Tensor& actual = results.of(node.result());
  if (!wanted.type().quantisation) return differs(wanted, actual);
  const std::vector<double> allowed = allowed_units(node, results);
  for (int64_t i = 0; i < wanted.count(); ++i)
    if (static_cast<double>(std::abs(wanted.get_int(i) - actual.get_int(i))) >
        allowed[static_cast<size_t>(i)])
      return true;
  return false;
}

class Check {
 public:
  Check(std::vector<Graph>& graphs, const Accelerator* accelerator, std::span<const Tensor> given,
        const LoadMethod& load)
      : graphs_(graphs), accelerator_(accelerator), given_(given), load_(load) {}

  /// The outputs of the program, and in `report` how they lie.
  std::vector<Tensor> outputs(Report& report) const {
    MemorySink file;
    write_program(lower(graphs_, report, accelerator_), file);
    std::vector<Tensor> stored;
    for (size_t i = 0; i < given_.size(); ++i)
      stored.push_back(at_boundary(given_[i], report.inputs[i]));
    std::vector<Tensor> results = load_(file.bytes(), graphs_[0].name())(stored);
    LAYLINE_ASSERT(results.size() == report.outputs.size(), "the program gives {} results of {}",
                   results.size(), report.outputs.size());
    return results;
  }

  /// Runs the program with all its results exposed; the first node that it gets wrong, or null.
  const Node* first_wrong() {
    Graph& graph = graphs_[0];
    size_t next = 0;
    for (const GraphOutput& output : graph.outputs()) next += output.value != nullptr;
    const auto computed = computed_nodes(graph);
    std::vector<const Node*> nodes;
    for (Node* node : graph)
      if (computed.contains(node)) nodes.push_back(node);
    for (const Node* node : nodes) graph.add_output(node->result()->name(), node->result());
    Report report;
    const std::vector<Tensor> actual = outputs(report);
    Results results;
    size_t input_index = 0;
    for (const GraphInput& input : graph.inputs())
      if (input.value) results.set(input.value, given_[input_index++]);
    for (const Node* node : nodes) results.set(node->result(), in_graph(*node, actual[next++]));
    const auto wrong =
        std::ranges::find_if(nodes, [&](const Node* node) { return is_wrong(*node, results); });
    return wrong == nodes.end() ? nullptr : *wrong;
  }

 private:
  /// What the program gives for a node, as the graph has it.
  static Tensor in_graph(const Node& node, const Tensor& actual) {
    const TensorType& type = node.result()->type();
    if (type.dtype == actual.dtype())
      return Tensor(type, {actual.bytes().begin(), actual.bytes().end()});
    if (node.is(Op::dequantize)) return evaluate_node(node, std::vector{in_operand(node, actual)});
    Tensor result(type);
    for (int64_t i = 0; i < result.count(); ++i) result.set_int(i, actual.get_int(i));
    return result;
  }

  /// An output that is dequantised at the boundary leaves as integers.
  static Tensor in_operand(const Node& dequantize, const Tensor& actual) {
    return Tensor(dequantize.operand(0)->type(), {actual.bytes().begin(), actual.bytes().end()});
  }

  std::vector<Graph>& graphs_;
  const Accelerator* accelerator_;
  std::span<const Tensor> given_;
  const LoadMethod& load_;
};

}  // namespace

std::vector<VerifiedMethod> verify(std::vector<Graph>& graphs,
                                   std::span<const std::vector<Tensor>> inputs,
                                   const TargetOptions& options, const LoadMethod& load) {
  const Graph& graph = graphs[0];
  VerifiedMethod verified{graph.name()};
  Check check(graphs, chosen_accelerator(options.accelerator), inputs[0], load);
  Report report;
  const std::vector<Tensor> actual = check.outputs(report);
  const std::vector<Tensor> wanted = evaluate(graph, inputs[0]);
  std::string wrong;
  for (size_t i = 0; i < actual.size(); ++i) {
    const Tensor stored = at_boundary(wanted[i], report.outputs[i]);
    if (report.outputs[i].scale && stored.dims() == actual[i].dims())
      verified.units = std::max(verified.units, most_units(stored, actual[i]));
    else if (wrong.empty() && differs(stored, actual[i]))
      wrong = report.outputs[i].name;
  }
  verified.results = actual.size();
  verified.steps = 1;
  if (wrong.empty() && verified.units <= 1) return {verified};
  const Node* node = check.first_wrong();
  if (node == nullptr && wrong.empty()) return {verified};
  throw InternalError(fmt::format(
      "in Arm's reference model the program gives another output {}than the reference evaluator{}",
      wrong.empty() ? "" : wrong + " ",
      node ? fmt::format("; the first node that differs is {}", layline::describe(*node)) : ""));
}

}  // namespace layline::tosa

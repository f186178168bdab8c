#include "targets/verify_pte.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/sink.h"
#include "ir/boundary_order.h"
#include "ir/evaluate.h"
#include "transforms/rounding.h"
#include "transforms/validate.h"

namespace layline {
namespace {

constexpr size_t kStepsWithStates = 3;

/// How far kernels of the runtime may differ, relative to the largest element.
double tolerance(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? 5e-3 : 1e-4; }

bool differs(const Tensor& expected, const Tensor& actual, double allowed, double rounding = 0) {
  return expected.dtype() != actual.dtype() || expected.dims() != actual.dims() ||
         first_difference(expected, actual, allowed, rounding) >= 0;
}

/// Whether the program's result of a node is wrong for the operands that it had.
bool is_wrong(const Node& node, const Tensor& expected, const Tensor& actual) {
  // A number that lies half-way between two integers may become either.
  constexpr double kOfDynamic = 5e-3;
  const bool chooses = node.is(Op::quantize_by) || node.is(Op::choose_zero_point);
  if (!expected.type().quantisation && !chooses)
    return differs(expected, actual,
                   is_dynamic(node.attributes()) ? kOfDynamic : tolerance(actual.dtype()));
  if (expected.dtype() != actual.dtype() || expected.dims() != actual.dims()) return true;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (std::abs(expected.get_int(i) - actual.get_int(i)) > 1) return true;
  return false;
}

class MethodCheck {
 public:
  MethodCheck(const Graph& graph, const RunMethod& run) : graph_(graph), run_(run) {}

  /// The first output from `from` on that the program gets wrong; null if there is none. `inputs`
  /// become those of the next run.
  const GraphOutput* first_wrong(std::vector<Tensor>& inputs, size_t from) {
    const auto [arguments, stored_inputs] = given(inputs);
    const std::vector<Tensor> expected = evaluate(graph_, stored_inputs);
    const std::vector<Tensor> actual = run_(arguments);
    const GraphOutput* wrong = nullptr;
    std::vector<double> rounding;  // found out when something differs
    size_t computed = 0, next = 0;
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      if (output.value == nullptr) continue;
      const Tensor& wanted = expected[computed++];
      if (output.writes) {
        set_state(*output.writes, wanted, inputs);
        continue;
      }
      LAYLINE_ASSERT(next < actual.size(), "the program gives {} results", actual.size());
      const Tensor& got = actual[next++];
      ++results;
      const Tensor as_model = logical(wanted, output.dim_order);
      if (i < from || wrong != nullptr || !differs(as_model, got, tolerance(got.dtype()))) continue;
      // Numbers that are quantised move by steps, and are compared op by op instead.
      if (rounding.empty() && !rounds(graph_))
        rounding = rounding_of_outputs(graph_, stored_inputs);
      if (rounding.empty() ||
          differs(as_model, got, tolerance(got.dtype()), rounding[computed - 1]))
        wrong = &output;
    }
    return wrong;
  }

  /// The first output from `from` on, each the result of a node, that is wrong for the operands
  /// that the program itself computed. `inputs` become those of the next run.
  const GraphOutput* first_wrong_op(std::vector<Tensor>& inputs, size_t from) {
    const auto [arguments, stored_inputs] = given(inputs);
    const std::vector<Tensor> actual = run_(arguments);
    std::unordered_map<const Value*, Tensor> known;
    for (size_t i = 0; const GraphInput& input : graph_.inputs())
      if (input.value != nullptr) known.emplace(input.value, stored_inputs[i++]);
    const GraphOutput* wrong = nullptr;
    size_t next = actual.size() - (graph_.outputs().size() - from);
    for (size_t i = from; i < graph_.outputs().size() && wrong == nullptr; ++i) {
      const Node& node = *graph_.outputs()[i].value->def();
      std::vector<Tensor> operands;
      for (const Value* operand : node.operands())
        operands.push_back(stored_constant(operand) ? tensor_of(operand) : known.at(operand));
      const Tensor& got = actual[next++];
      if (is_wrong(node, evaluate_node(node, operands), got)) wrong = &graph_.outputs()[i];
      known.emplace(node.result(),
                    Tensor(node.result()->type(), {got.bytes().begin(), got.bytes().end()}));
    }
    for (size_t i = 0; i < from && wrong == nullptr; ++i)
      if (const GraphOutput& output = graph_.outputs()[i]; output.value && output.writes)
        set_state(*output.writes, known.at(output.value), inputs);
    return wrong;
  }

  size_t results = 0;

 private:
  struct Given {
    std::vector<Tensor> arguments;  // in logical shape
    std::vector<Tensor> stored;     // and states, as they lie in memory
  };
  Given given(const std::vector<Tensor>& inputs) const {
    Given result;
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value == nullptr) continue;
      const Tensor& tensor = inputs[result.stored.size()];
      result.stored.push_back(in_memory(input, tensor));
      if (!input.is_state()) result.arguments.push_back(logical(tensor, input.dim_order));
    }
    return result;
  }

  void set_state(size_t index, const Tensor& value, std::vector<Tensor>& inputs) const {
    size_t place = 0;
    for (size_t i = 0; i < index; ++i) place += graph_.inputs()[i].value != nullptr;
    const GraphInput& input = graph_.inputs()[index];
    if (input.is_state()) inputs[place] = in_model(input, value);
  }

  const Graph& graph_;
  const RunMethod& run_;
};

/// Adds the result of every node to the outputs, in order.
void expose_all(Graph& graph) {
  for (int64_t i = 0; Node * node : graph)
    if (!node->is(Op::constant)) graph.add_output(fmt::format("node {}", i++), node->result());
}

/// The first output, from `from` on, that is wrong in one of several runs.
const GraphOutput* first_wrong_of_all(MethodCheck& check, std::vector<Tensor> inputs, size_t steps,
                                      size_t from, bool op_by_op = false) {
  for (size_t step = 0; step < steps; ++step)
    if (const GraphOutput* wrong =
            op_by_op ? check.first_wrong_op(inputs, from) : check.first_wrong(inputs, from))
      return wrong;
  return nullptr;
}

/// How the target makes a program.
struct Lowering {
  const TargetOptions& options;
  decltype(Target::lower) lower;

  std::vector<std::byte> program_of(const std::vector<Graph>& graphs) const {
    Report report;
    MemorySink sink;
    lower(graphs, options, report)->write(sink);
    return sink.take();
  }
};

/// Runs the graph with all its nodes exposed and describes the first that the program gets wrong;
/// empty if there is none.
std::string first_wrong_node(Graph graph, const std::vector<Tensor>& inputs, size_t steps,
                             const Lowering& lowering, const LoadMethod& load, bool op_by_op) {
  const size_t own = graph.outputs().size();
  const std::string name = graph.name();
  expose_all(graph);
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  const RunMethod run = load(lowering.program_of(graphs), name);
  MethodCheck check(graphs[0], run);
  const GraphOutput* wrong = first_wrong_of_all(check, inputs, steps, own, op_by_op);
  return wrong ? describe(*wrong->value->def()) : std::string();
}

}  // namespace

std::vector<VerifiedMethod> verify_pte(std::vector<Graph>& graphs,
                                       std::span<const std::vector<Tensor>> inputs,
                                       const TargetOptions& options, const LoadMethod& load,
                                       decltype(Target::lower) lower) {
  const Lowering lowering{options, lower};
  const std::vector<std::byte> program = lowering.program_of(graphs);
  std::vector<VerifiedMethod> verified;
  for (size_t m = 0; m < graphs.size(); ++m) {
    Graph& graph = graphs[m];
    VerifiedMethod& method = verified.emplace_back(VerifiedMethod{graph.name()});
    const bool has_states = std::ranges::any_of(graph.inputs(), &GraphInput::is_state);
    method.steps = has_states ? kStepsWithStates : 1;
    const RunMethod run = load(program, graph.name());
    MethodCheck check(graph, run);
    const GraphOutput* wrong = first_wrong_of_all(check, inputs[m], method.steps, 0);
    method.results = check.results;
    if (wrong == nullptr) continue;
    const std::string output = wrong->name;
    const bool op_by_op = rounds(graph);
    const std::string node =
        first_wrong_node(std::move(graph), inputs[m], method.steps, lowering, load, op_by_op);
    method.op_by_op = op_by_op && node.empty();
    if (method.op_by_op) continue;
    throw InternalError(fmt::format(
        "the program gives another output {} of method {} than the reference evaluator{}", output,
        method.name, node.empty() ? "" : fmt::format("; the first node that differs is {}", node)));
  }
  return verified;
}

}  // namespace layline

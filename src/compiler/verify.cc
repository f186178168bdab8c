#include "compiler/verify.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/verify_inputs.h"
#include "ir/evaluate.h"
#include "targets/xnnpack/lower.h"
#include "transforms/validate.h"

namespace layline {
namespace {

constexpr size_t kStepsWithStates = 3;

/// The bound for what the runtime's kernels may round differently, of the largest element.
double tolerance(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? 5e-3 : 1e-4; }

class MethodCheck {
 public:
  MethodCheck(const Graph& graph, const RunMethod& run) : graph_(graph), run_(run) {}

  /// The first output, of those from `from` on, that the program does not give; null if there is
  /// none. `inputs` go on to what the next run begins with.
  const GraphOutput* first_wrong(std::vector<Tensor>& inputs, size_t from) {
    std::vector<Tensor> arguments, stored_inputs;
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value == nullptr) continue;
      const Tensor& tensor = inputs[stored_inputs.size()];
      stored_inputs.push_back(in_memory(input, tensor));
      if (!input.is_state()) arguments.push_back(logical(tensor, input.dim_order));
    }
    const std::vector<Tensor> expected = evaluate(graph_, stored_inputs);
    const std::vector<Tensor> actual = run_(arguments);
    const GraphOutput* wrong = nullptr;
    size_t computed = 0, given = 0;
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      if (output.value == nullptr) continue;
      const Tensor& wanted = expected[computed++];
      if (output.writes) {
        set_state(*output.writes, wanted, inputs);
        continue;
      }
      LAYLINE_ASSERT(given < actual.size(), "the program gives {} results", actual.size());
      const Tensor& got = actual[given++];
      ++results;
      if (i >= from && wrong == nullptr && differs(logical(wanted, output.dim_order), got))
        wrong = &output;
    }
    return wrong;
  }

  size_t results = 0;

 private:
  static bool differs(const Tensor& expected, const Tensor& actual) {
    return expected.type() != actual.type() ||
           first_difference(expected, actual, tolerance(actual.dtype())) >= 0;
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
  for (Node* node : graph)
    if (!node->is(Op::constant)) graph.add_output(node->result()->name(), node->result());
}

/// The first output, from `from` on, that is wrong in one of several runs.
const GraphOutput* first_wrong_of_all(MethodCheck& check, std::vector<Tensor> inputs, size_t steps,
                                      size_t from) {
  for (size_t step = 0; step < steps; ++step)
    if (const GraphOutput* wrong = check.first_wrong(inputs, from)) return wrong;
  return nullptr;
}

/// Runs the graph with all its nodes exposed and names the first that the program gets wrong.
std::string first_wrong_node(Graph graph, const std::vector<Tensor>& inputs, size_t steps,
                             const LoadMethod& load) {
  const size_t own = graph.outputs().size();
  const std::string name = graph.name();
  expose_all(graph);
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  Report report;
  const RunMethod run = load(xnnpack::lower(graphs, report), name);
  MethodCheck check(graphs[0], run);
  const GraphOutput* wrong = first_wrong_of_all(check, inputs, steps, own);
  return wrong ? fmt::format("; the first node that differs is {}", describe(*wrong->value->def()))
               : std::string();
}

}  // namespace

std::vector<VerifiedMethod> verify_model(const std::string& path, const CompileOptions& options,
                                         const std::map<std::string, Tensor>& inputs,
                                         const LoadMethod& load) {
  LoadedModel model = load_model(path, options);
  check_input_names(model, inputs);
  std::vector<VerifiedMethod> verified;
  std::vector<std::vector<Tensor>> first;
  for (Graph& graph : model.methods) {
    VerifiedMethod& method = verified.emplace_back(VerifiedMethod{graph.name()});
    first.push_back(first_inputs(graph, inputs));
    PipelineOptions pipeline = pipeline_options(options);
    pipeline.validate = true;
    pipeline.validation_inputs = first.back();
    for (const PassReport& pass : run_pipeline(graph, pipeline).passes)
      method.passes += static_cast<size_t>(pass.changes);
  }
  Report report;
  const pte::Program program = xnnpack::lower(model.methods, report);
  for (size_t m = 0; m < model.methods.size(); ++m) {
    Graph& graph = model.methods[m];
    const bool has_states = std::ranges::any_of(graph.inputs(), &GraphInput::is_state);
    verified[m].steps = has_states ? kStepsWithStates : 1;
    const RunMethod run = load(program, graph.name());
    MethodCheck check(graph, run);
    const GraphOutput* wrong = first_wrong_of_all(check, first[m], verified[m].steps, 0);
    verified[m].results = check.results;
    if (wrong == nullptr) continue;
    const std::string output = wrong->name;
    throw InternalError(
        fmt::format("the program gives another output {} of method {} than the reference "
                    "evaluator{}",
                    output, verified[m].name,
                    first_wrong_node(std::move(graph), first[m], verified[m].steps, load)));
  }
  return verified;
}

}  // namespace layline

#include "targets/tosa/lower.h"

#include "base/error.h"
#include "targets/ledger.h"
#include "targets/tosa/block_builder.h"
#include "targets/tosa/integer_kernels.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/lookup.h"
#include "targets/tosa/npu_limits.h"
#include "targets/tosa/quantised.h"

namespace layline::tosa {
namespace {

/// Refuses what TOSA cannot express, all of it at once.
void preflight(const Graph& graph) {
  std::vector<std::string> problems;
  for (const GraphInput& input : graph.inputs())
    if (input.value)
      if (const std::string why = refusal(input.value); !why.empty())
        problems.push_back(fmt::format("the input {}: {}", input.name, why));
  for (const Node* node : graph) {
    if (node->is(Op::constant)) continue;
    if (const std::string why = refusal(*node); !why.empty())
      problems.push_back(fmt::format("{} at {}: {}", name(node->op()), describe(*node), why));
  }
  for (const GraphOutput& output : graph.outputs())
    if (output.writes)
      problems.push_back(
          fmt::format("`{}`: the model changes it, and nothing is kept from run to run: make it an "
                      "input and an "
                      "output",
                      output.name));
    else if (output.value)
      if (const std::string why = refusal(output.value); !why.empty())
        problems.push_back(fmt::format("the output {}: {}", output.name, why));
  if (problems.empty()) return;
  throw UserError("cannot be expressed in TOSA 1.0: {}; leave it out of the exported model",
                  fmt::join(problems, "; "));
}

/// 64-bit integers are held in 32 bits.
DType held_in(DType dtype) { return dtype == DType::i64 ? DType::i32 : dtype; }

BoundaryTensor boundary(const Graph& graph, const std::string& name, const Value* value,
                        const std::vector<int>& dim_order, const QuantisationRef& quantisation) {
  BoundaryTensor tensor = describe_boundary(graph, name, value, dim_order);
  tensor.dtype = layline::name(held_in(value->dtype()));
  if (quantisation) {
    tensor.dtype = layline::name(quantisation->dtype);
    tensor.scale = static_cast<double>(quantisation->scale());
    tensor.zero_point = quantisation->zero_point();
  }
  return tensor;
}

/// The nodes that cannot run, each once, in the order of the program.
std::vector<CannotRun> nodes_that_cannot_run(const Program& program,
                                             const std::vector<const Node*>& makers,
                                             const Accelerator& accelerator) {
  std::vector<CannotRun> result;
  std::unordered_set<const Node*> told;
  for (NpuProblem& problem : npu_problems(program, accelerator)) {
    const Node* maker = makers[problem.op];
    if (maker && !told.insert(maker).second) continue;
    result.push_back({maker ? maker->result()->name() : program.operators[problem.op].outputs[0],
                      maker
                          ? fmt::format("{} at {}", name(maker->op()), describe(*maker))
                          : fmt::format("the output {}", program.operators[problem.op].outputs[0]),
                      std::move(problem.why)});
  }
  return result;
}

/// The quantised value that a quantize is computed from on integers, past the real numbers between.
const Value* integer_source(const Node& quantize) {
  if (const std::optional<Lookup> lookup = find_lookup(quantize)) return lookup->source;
  return resized_image(quantize);
}

}  // namespace

std::unordered_set<const Node*> computed_nodes(const Graph& graph) {
  std::unordered_set<const Node*> read;
  std::vector<const Node*> waiting;
  const auto visit = [&](const Value* value) {
    if (value->def() && !value->def()->is(Op::constant) && read.insert(value->def()).second)
      waiting.push_back(value->def());
  };
  for (const GraphOutput& output : graph.outputs())
    if (output.value) visit(boundary_value(output));
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    if (const Value* source = node->is(Op::quantize) ? integer_source(*node) : nullptr)
      visit(source);
    else
      for (const Value* operand : node->operands()) visit(operand);
  }
  return read;
}

Program lower(const std::vector<Graph>& graphs, Report& report, const Accelerator* accelerator) {
  if (graphs.size() != 1)
    throw UserError(
        "the model has {} methods and a TOSA file holds one graph; export each method "
        "as a model of its own",
        graphs.size());
  const Graph& graph = graphs[0];
  preflight(graph);
  BlockBuilder block(graph, accelerator);
  const std::unordered_set<const Node*> read = computed_nodes(graph);
  for (const Node* node : graph) {
    if (!read.contains(node)) continue;
    is_quantised(*node) ? emit_quantised(block, *node)
                        : find_kernel(node->op())->emit(block, *node);
    count_moves(*node, held_in(node->result()->dtype()), graph.symbol_table(), report);
    ++report.ops;
  }
  Program program = block.finish();
  if (accelerator) {
    report.accelerator = accelerator->name;
    report.cannot_run = nodes_that_cannot_run(program, block.makers(), *accelerator);
  }

  size_t input_index = 0, output_index = 0;
  for (const GraphInput& input : graph.inputs())
    if (input.value)
      report.inputs.push_back(boundary(graph, program.inputs[input_index++], input.value,
                                       input.dim_order, quantised_input(input.value)));
  for (const GraphOutput& output : graph.outputs())
    if (output.value)
      report.outputs.push_back(boundary(graph, program.outputs[output_index++], output.value,
                                        output.dim_order, quantised_output(output.value)));
  for (const NamedTensor& tensor : program.tensors)
    if (tensor.data) report.constant_bytes += static_cast<int64_t>(tensor.data->byte_count());
  report.methods.push_back(graph.name());
  return program;
}

}  // namespace layline::tosa

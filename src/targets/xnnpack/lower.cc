#include "targets/xnnpack/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "ir/bounds.h"
#include "pte/arena.h"
#include "pte/io_names.h"
#include "targets/kernel_calls.h"
#include "targets/ledger.h"
#include "targets/xnnpack/delegate_builder.h"
#include "targets/xnnpack/kernels.h"
#include "targets/xnnpack/partition.h"

namespace layline::xnnpack {
namespace {

constexpr std::string_view kBackend = "XnnpackBackend";

/// What the runtime would refuse is refused here, all of it at once.
void preflight(const Partition& partition) {
  std::string problems;
  for (const Part& part : partition.parts) {
    if (part.delegated) continue;
    const Node& node = *part.nodes[0];
    const std::string why = kernel_refusal(node);
    if (why.empty()) continue;
    const auto refused = std::ranges::find(partition.refused, &node, &Partition::Refused::node);
    problems += fmt::format("{}{} at {}: {}, and not delegated: {}", problems.empty() ? "" : "; ",
                            name(node.op()), describe(node), why, refused->why);
  }
  if (!problems.empty()) throw UserError("cannot run in ExecuTorch: {}", problems);
}

class Lowering {
 public:
  Lowering(ConstantPool& constants, pte::Program& program, Report& report, const Graph& graph,
           bool delegate)
      : delegate_(delegate),
        program_(program),
        report_(report),
        graph_(graph),
        constants_(constants),
        method_(constants, graph.symbol_table(), graph.name()) {}

  pte::Method run() {
    const Partition parts = partition(graph_, delegate_);
    preflight(parts);
    define_inputs();
    for (const Part& part : parts.parts) {
      for (const Node* node : part.nodes) {
        count_moves(*node, graph_.symbol_table(), report_);
        ++report_.ops;
      }
      part.delegated ? delegate(part) : kernel(part, parts);
    }
    define_outputs();
    const pte::MemoryPlan plan = pte::plan_arena(method_.method(), method_.aliases());
    report_.arena_bytes += static_cast<int64_t>(plan.arena_bytes);
    report_.arena_lower_bound_bytes += static_cast<int64_t>(plan.lower_bound);
    return std::move(method_.method());
  }

 private:
  void define_inputs() {
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value == nullptr) {
        method_.method().inputs.push_back(method_.method().add(fixed_value(input.fixed)));
        continue;
      }
      method_.method().inputs.push_back(method_.define_input(input.value, input.dim_order));
      report_.inputs.push_back(
          describe_boundary(input.name, input.value, input.dim_order, graph_.symbol_table()));
    }
  }

  static pte::Value fixed_value(const FixedValue& fixed) {
    return std::visit(
        [](const auto& value) -> pte::Value {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
            return pte::None{};
          else
            return value;
        },
        fixed);
  }

  void define_outputs() {
    for (const GraphOutput& output : graph_.outputs()) {
      if (output.value == nullptr) {
        method_.method().outputs.push_back(method_.method().add(fixed_value(output.fixed)));
        continue;
      }
      method_.method().outputs.push_back(method_.bytes(output.value));
      report_.outputs.push_back(
          describe_boundary(output.name, output.value, output.dim_order, graph_.symbol_table()));
    }
  }

  /// A result that lives outside delegates: planned, and in the boundary's order if it is an
  /// output.
  void define_result(const Value* value) {
    for (const GraphOutput& output : graph_.outputs()) {
      if (output.value != value) continue;
      method_.define_boundary(value, output.dim_order, pte::PlannedData{});
      return;
    }
    method_.define(value);
  }

  void delegate(const Part& part) {
    DelegateBuilder builder(constants_, graph_.symbol_table(), part.inputs, part.outputs);
    for (const Node* node : part.nodes) find_kernel(node->op())->emit(builder, *node);
    std::vector<pte::ValueId> arguments;
    for (const Value* input : part.inputs) arguments.push_back(method_.bytes(input));
    for (const Value* output : part.outputs) {
      define_result(output);
      arguments.push_back(method_.bytes(output));
    }
    pte::Method& method = method_.method();
    const uint32_t blob = program_.add_blob(pte::DataSource::owned(builder.graph().serialize()));
    method.delegates.push_back({std::string(kBackend), blob});
    method.instructions.push_back(pte::DelegateCall{
        static_cast<uint32_t>(method.delegates.size() - 1), std::move(arguments)});
    ++report_.delegates;
  }

  void kernel(const Part& part, const Partition& parts) {
    const Node& node = *part.nodes[0];
    const bool same_bytes =
        node.is(Op::reinterpret) ||
        (node.is(Op::relayout) && node.attrs<RelayoutAttrs>().relayout.is_view());
    if (same_bytes && node.result()->output_uses() == 0 &&
        method_.define_view(node.result(), node.operand(0)))
      return;
    define_result(node.result());
    method_.compute(node.result(), [&] { find_portable_kernel(node.op())->emit(method_, node); });
    const auto refused = std::ranges::find(parts.refused, &node, &Partition::Refused::node);
    const std::string why =
        refused == parts.refused.end() ? "not worth a delegate of its own" : refused->why;
    const std::string op(name(node.op()));
    for (PortableOp& row : report_.portable_ops) {
      if (row.op == op && row.why == why) {
        ++row.count;
        return;
      }
    }
    report_.portable_ops.push_back({op, 1, why});
  }

  bool delegate_;
  pte::Program& program_;
  Report& report_;
  const Graph& graph_;
  ConstantPool& constants_;
  MethodBuilder method_;
};

std::vector<std::string> kernels_of(const pte::Program& program) {
  std::set<std::string> kernels;
  for (const pte::Method& method : program.methods)
    for (const pte::Instruction& instruction : method.instructions)
      if (const auto* call = std::get_if<pte::KernelCall>(&instruction))
        kernels.insert(call->overload.empty() ? call->name : call->name + "." + call->overload);
  return {kernels.begin(), kernels.end()};
}

pte::MethodIoNames io_names(const Graph& graph) {
  pte::MethodIoNames names{graph.name(), {}, {}};
  for (const GraphInput& input : graph.inputs()) names.inputs.push_back(input.name);
  for (const GraphOutput& output : graph.outputs()) names.outputs.push_back(output.name);
  for (const Symbol& symbol : graph.symbols())
    names.symbols.push_back({symbol.name, symbol.min, symbol.max, to_string(symbol.formula)});
  if (names.symbols.empty()) return names;
  for (const GraphInput& input : graph.inputs()) {
    std::vector<std::string>& sizes = names.input_shapes.emplace_back();
    if (input.value == nullptr) continue;
    for (const Dim& dim : logical_shape(input.value->shape(), input.dim_order))
      sizes.push_back(to_string(dim));
  }
  return names;
}

}  // namespace

pte::Program lower(const std::vector<Graph>& graphs, Report& report, bool delegate) {
  pte::Program program;
  ConstantPool constants;
  std::vector<pte::MethodIoNames> names;
  for (const Graph& graph : graphs) {
    program.methods.push_back(Lowering(constants, program, report, graph, delegate).run());
    names.push_back(io_names(graph));
    report.methods.push_back(graph.name());
    for (size_t i = 0; i < graph.symbols().size(); ++i) {
      const Symbol& symbol = graph.symbols()[i];
      report.symbols.push_back({graph.name(), fmt::format("s{}", i + 1), symbol.name,
                                to_string(symbol.formula), symbol.min, symbol.max});
    }
  }
  report.constant_bytes = static_cast<int64_t>(constants.byte_count());
  std::move(constants).write_to(program);

  const std::string document = pte::write_io_names(names);
  const auto* bytes = reinterpret_cast<const std::byte*>(document.data());
  program.named_data.push_back(
      {std::string(pte::kIoNamesKey),
       program.add_blob(pte::DataSource::owned({bytes, bytes + document.size()}))});

  report.kernels = kernels_of(program);
  if (report.delegates > 0) report.backends = {std::string(kBackend)};
  return program;
}

}  // namespace layline::xnnpack

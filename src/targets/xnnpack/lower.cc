#include "targets/xnnpack/lower.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/body.h"
#include "ir/bounds.h"
#include "pte/arena.h"
#include "pte/debug_map.h"
#include "pte/io_names.h"
#include "targets/kernel_calls.h"
#include "targets/ledger.h"
#include "targets/loop_calls.h"
#include "targets/state_plan.h"
#include "targets/xnnpack/delegate_builder.h"
#include "targets/xnnpack/kernels.h"
#include "targets/xnnpack/partition.h"
#include "targets/xnnpack/state_writes.h"

namespace layline::xnnpack {
namespace {

constexpr std::string_view kBackend = "XnnpackBackend";

void find_problems(const Graph& graph, const Partition& partition, const LowerOptions& options,
                   std::vector<std::string>& problems) {
  for (const GraphInput& input : graph.inputs()) {
    const std::string why = input.value == nullptr ? "" : rank_refusal(input.value);
    if (!why.empty()) problems.push_back(fmt::format("input {}: {}", input.name, why));
  }
  for (const Part& part : partition.parts) {
    if (part.delegated) continue;
    const Node& node = *part.nodes[0];
    if (node.is(Op::scan)) {
      const Graph& body = *node.attrs<ScanAttrs>().body.graph;
      find_problems(body, layline::xnnpack::partition(body, options.delegate), options, problems);
      continue;
    }
    std::string why = kernel_refusal(node);
    if (const PortableKernel* kernel = find_portable_kernel(node.op());
        why.empty() && !kernel->library.empty() && kernel->library != options.kernels)
      why = fmt::format("its kernel is not in every runtime; add --kernels {}", kernel->library);
    if (!why.empty())
      problems.push_back(fmt::format("{} at {}: {}, and not delegated: {}", name(node.op()),
                                     describe(node), why, part.why));
  }
}

/// Refuses what the runtime would refuse, all of it at once.
void preflight(const Graph& graph, const Partition& partition, const LowerOptions& options) {
  std::vector<std::string> problems;
  find_problems(graph, partition, options, problems);
  if (!problems.empty()) throw UserError("cannot run in ExecuTorch: {}", fmt::join(problems, "; "));
}

StateTensor describe_state(const StatePlan::Slot& slot) {
  return {slot.name, std::string(name(slot.initial.dtype())), static_dims(slot.initial.shape()),
          static_cast<int64_t>(slot.initial.byte_count()), slot.methods};
}

/// Numbers the nodes of a graph as they are met, and keeps where in the model they come from.
class DebugHandles {
 public:
  explicit DebugHandles(std::string method) : map_{std::move(method), {}, {}} {}

  uint32_t of(const Node& node) {
    const auto next = static_cast<uint32_t>(map_.origins.size() + 1);
    const auto [known, is_new] = handles_.emplace(&node, next);
    if (!is_new) return known->second;
    const Origin origin = node.origin() ? *node.origin() : Origin{};
    map_.origins.push_back({node.result()->name(), origin.node, origin.source, origin.module});
    return next;
  }

  /// Marks all instructions of `method` that are not marked yet.
  void mark(const pte::Method& method, uint32_t handle) {
    map_.instructions.resize(method.instructions.size(), handle);
  }

  pte::MethodDebugMap take() { return std::move(map_); }

 private:
  pte::MethodDebugMap map_;
  std::unordered_map<const Node*, uint32_t> handles_;
};

/// A method that is being made, and the bodies of its loops, whose values the builder knows.
struct Unfinished {
  Unfinished(ConstantPool& constants, const Graph& graph)
      : method(constants, graph.symbol_table(), graph.name()), debug(graph.name()) {}
  MethodBuilder method;
  DebugHandles debug;
  std::deque<Graph> bodies = {};
};

class Lowering {
 public:
  Lowering(ConstantPool& constants, const StatePlan& states, pte::Program& program, Report& report,
           const Graph& graph, const LowerOptions& options, Unfinished& unfinished)
      : unfinished_(unfinished),
        debug_(unfinished.debug),
        options_(options),
        program_(program),
        report_(report),
        graph_(graph),
        constants_(constants),
        states_(states),
        method_(unfinished.method) {}

  pte::Method run() {
    const Partition parts = partition(graph_, options_.delegate);
    preflight(graph_, parts, options_);
    note_outputs();
    define_inputs();
    debug_.mark(method_.method(), 0);
    in_place_ = in_place_writes(graph_, parts);
    run_parts(parts);
    define_outputs();
    write_inputs();
    debug_.mark(method_.method(), 0);
    const pte::MemoryPlan plan = pte::plan_arena(method_.method(), method_.aliases());
    report_.arena_bytes += static_cast<int64_t>(plan.arena_bytes);
    report_.arena_lower_bound_bytes += static_cast<int64_t>(plan.lower_bound);
    if (has_states()) {
      method_.method().arena_bytes.resize(kStateMemory);
      method_.method().arena_bytes[kStateMemory - 1] = states_.bytes();
    }
    return std::move(method_.method());
  }

 private:
  void run_parts(const Partition& parts) {
    for (const Part& part : parts.parts) {
      for (const Node* node : part.nodes) {
        count_moves(*node, node->result()->dtype(), graph_.symbol_table(), report_);
        ++report_.ops;
      }
      part.delegated ? delegate(part) : kernel(part);
      debug_.mark(method_.method(), part.delegated ? 0 : debug_.of(*part.nodes[0]));
    }
  }

  void define_inputs() {
    for (const GraphInput& input : graph_.inputs()) {
      if (input.value == nullptr) {
        method_.method().inputs.push_back(method_.method().add(fixed_value(input.fixed)));
        continue;
      }
      if (input.is_state()) {
        const StatePlan::Slot& slot = states_.slot_of(input);
        method_.define_boundary(input.value, input.dim_order, slot.place);
        for (const pte::PlannedData& piece : slot.zeros)
          method_.method().add(pte::TensorDesc{
              pte::ScalarType::kUInt8, {static_cast<int32_t>(kZeroBytes)}, {}, {}, piece});
        continue;
      }
      method_.method().inputs.push_back(method_.define_input(input.value, input.dim_order));
      report_.inputs.push_back(describe_boundary(graph_, input.name, input.value, input.dim_order));
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
      if (output.writes) continue;
      // What the caller is given may not change when the input is written.
      method_.method().outputs.push_back(
          overwritten_.contains(output.value) ? copy(output.value) : method_.bytes(output.value));
      report_.outputs.push_back(
          describe_boundary(graph_, output.name, output.value, output.dim_order));
    }
  }

  bool has_states() const { return std::ranges::any_of(graph_.inputs(), &GraphInput::is_state); }

  void note_outputs() {
    for (const GraphOutput& output : graph_.outputs()) {
      if (output.value == nullptr) continue;
      if (!output.writes)
        orders_.emplace(output.value, &output.dim_order);
      else if (const Value* input = graph_.inputs()[*output.writes].value; input != output.value)
        overwritten_.insert(input);
    }
  }

  /// Copies bytes from one tensor to another of the same type and order.
  void copy_to(pte::ValueId to, pte::ValueId from, const Value* value) {
    method_.call("aten::clone", "out", {from, method_.none()}, to);
    ++report_.copies.count;
    report_.copies.bytes += static_cast<int64_t>(
        byte_count({value->dtype(), graph_.symbol_table().greatest(value->shape())}));
  }

  pte::ValueId copy(const Value* value) {
    const pte::ValueId from = method_.bytes(value);
    pte::TensorDesc desc =
        std::get<pte::TensorDesc>(method_.method().values[static_cast<size_t>(from)]);
    desc.storage = pte::PlannedData{};
    const pte::ValueId to = method_.method().add(std::move(desc));
    copy_to(to, from, value);
    return to;
  }

  /// Writes the last step of a run: inputs that the model changes get their new values, except for
  /// those that were computed in place.
  void write_inputs() {
    struct Write {
      const GraphInput* input;
      const Value* value;
      pte::ValueId from;
    };
    std::vector<Write> writes;
    for (const GraphOutput& output : graph_.outputs()) {
      if (!output.writes) continue;
      const GraphInput& input = graph_.inputs()[*output.writes];
      const auto in_place = in_place_.find(output.value);
      if (output.value == input.value) continue;
      if (in_place != in_place_.end() && in_place->second == *output.writes) continue;
      if (!input.is_state() && !std::ranges::is_sorted(input.dim_order))
        throw UserError(
            "the model changes its input `{}`, which lies channels-last; give it contiguous, or "
            "return the new value instead",
            input.name);
      // Another input's old value is saved before that is overwritten.
      writes.push_back({&input, output.value,
                        overwritten_.contains(output.value) ? copy(output.value)
                                                            : method_.tensor(output.value)});
    }
    for (const Write& write : writes)
      copy_to(method_.tensor(write.input->value), write.from, write.value);
  }

  /// Defines a result that lives outside delegates. It is planned, in the boundary's order if it is
  /// an output, and in the memory of a state that can take it at once.
  void define_result(const Value* value) {
    if (const auto state = in_place_.find(value); state != in_place_.end()) {
      pte::PlannedData place = states_.slot_of(graph_.inputs()[state->second]).place;
      place.initial_state.reset();
      // A view of the state may be what is written; then it has other axes.
      std::vector<int> order = graph_.inputs()[state->second].dim_order;
      if (order.size() != value->shape().size()) {
        order.resize(value->shape().size());
        std::iota(order.begin(), order.end(), 0);
      }
      method_.define_boundary(value, order, place);
      return;
    }
    if (const auto output = orders_.find(value); output != orders_.end())
      method_.define_boundary(value, *output->second, pte::PlannedData{});
    else
      method_.define(value);
  }

  void delegate(const Part& part) {
    DelegateBuilder builder(constants_, graph_.symbol_table(), part.inputs, part.outputs);
    for (const Node* node : part.nodes) {
      builder.set_debug_handle(debug_.of(*node));
      find_kernel(node->op())->emit(builder, *node);
    }
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

  void kernel(const Part& part) {
    const Node& node = *part.nodes[0];
    if (node.is(Op::scan)) return scan(node);
    const bool same_bytes =
        node.is(Op::reinterpret) ||
        (node.is(Op::relayout) && node.attrs<RelayoutAttrs>().relayout.is_view());
    const bool stays = node.result()->output_uses() == 0 || in_place_.contains(node.result());
    if (same_bytes && stays && method_.define_view(node.result(), node.operand(0))) return;
    if (node.is(Op::counted_slice) && stays && method_.define_run(node)) return;
    define_result(node.result());
    method_.compute(node.result(), [&] { find_portable_kernel(node.op())->emit(method_, node); });
    const std::string op(name(node.op()));
    for (PortableOp& row : report_.portable_ops) {
      if (row.op == op && row.why == part.why) {
        ++row.count;
        return;
      }
    }
    report_.portable_ops.push_back({op, 1, part.why});
  }

  /// The scans that are one loop with this one, and this one.
  static std::vector<const Node*> one_loop(const Node& node) {
    std::vector<const Node*> scans;
    const auto& attrs = node.attrs<ScanAttrs>();
    for (const auto& [user, operand] : node.operand(0)->uses()) {
      if (operand != 0 || !user->is(Op::scan)) continue;
      const auto& other = user->attrs<ScanAttrs>();
      if (std::ranges::equal(user->operands(), node.operands()) && other.body == attrs.body &&
          other.backwards == attrs.backwards)
        scans.push_back(user);
    }
    return scans;
  }

  /// A loop. What is carried from step to step lies where the last step's result is wanted.
  void scan(const Node& node) {
    if (!scanned_.insert(&node).second) return;
    // Another loop may have the same body.
    const Graph& body =
        unfinished_.bodies.emplace_back(copy_of(*node.attrs<ScanAttrs>().body.graph));
    std::vector<const Value*> wanted(body.outputs().size());
    for (const Node* other : one_loop(node)) {
      const Value*& result = wanted[static_cast<size_t>(other->attrs<ScanAttrs>().output)];
      if (result != nullptr) continue;  // the same again is a loop of its own
      result = other->result();
      scanned_.insert(other);
      define_result(result);
    }
    std::vector<pte::ValueId> operands;
    for (const Value* operand : node.operands()) operands.push_back(method_.tensor(operand));
    for (size_t i = 0; i < body.outputs().size(); ++i) {
      const std::optional<size_t> to = body.outputs()[i].writes;
      if (!to) continue;
      const Value* carried = body.inputs()[*to].value;
      if (body.outputs()[i].value == carried && wanted[i] == nullptr) {  // it stays what it is
        method_.define_as(carried, operands[*to]);
        continue;
      }
      method_.define_as(carried, wanted[i] != nullptr ? method_.tensor(wanted[i])
                                                      : method_.temporary(carried->type()));
      copy_to(method_.tensor(carried), operands[*to], carried);
    }
    run_loop(node, body, operands, wanted);
  }

  void run_loop(const Node& node, const Graph& body, const std::vector<pte::ValueId>& operands,
                const std::vector<const Value*>& wanted) {
    Lowering step(constants_, states_, program_, report_, body, options_, unfinished_);
    step.note_outputs();
    std::vector<size_t> sequences;
    for (size_t i = 0; i < operands.size(); ++i)
      if (!is_carried(body, i)) sequences.push_back(i);
    const pte::ValueId length =
        method_.size(Sum(node.operand(static_cast<int>(sequences[0]))->shape()[0]));
    LoopCalls loop(method_, length, node.attrs<ScanAttrs>().backwards);
    for (const size_t i : sequences) {
      method_.define(body.inputs()[i].value);
      loop.load(operands[i], method_.tensor(body.inputs()[i].value));
    }
    step.run_parts(partition(body, options_.delegate));
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] != nullptr && !body.outputs()[i].writes)
        loop.store(wanted[i], method_.tensor(body.outputs()[i].value));
    step.write_inputs();
    loop.end();
  }

  Unfinished& unfinished_;
  DebugHandles& debug_;
  const LowerOptions& options_;
  pte::Program& program_;
  Report& report_;
  const Graph& graph_;
  ConstantPool& constants_;
  const StatePlan& states_;
  MethodBuilder& method_;
  std::unordered_set<const Node*> scanned_;            // scans whose results are there
  std::unordered_map<const Value*, size_t> in_place_;  // computed in the memory of this input
  std::unordered_map<const Value*, const std::vector<int>*> orders_;  // how outputs lie in memory
  std::unordered_set<const Value*> overwritten_;  // inputs that hold something else at the end
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
  for (const GraphInput& input : arguments(graph)) names.inputs.push_back(input.name);
  for (const GraphOutput& output : results(graph)) names.outputs.push_back(output.name);
  for (const Symbol& symbol : graph.symbols())
    names.symbols.push_back({symbol.name, symbol.min, symbol.max, to_string(symbol.formula)});
  if (names.symbols.empty()) return names;
  for (const GraphInput& input : arguments(graph)) {
    std::vector<std::string>& sizes = names.input_shapes.emplace_back();
    if (input.value == nullptr) continue;
    for (const Dim& dim : logical_shape(input.value->shape(), input.dim_order))
      sizes.push_back(to_string(dim));
  }
  return names;
}

void add_named_data(pte::Program& program, std::string_view key, const std::string& document) {
  const auto* bytes = reinterpret_cast<const std::byte*>(document.data());
  program.named_data.push_back({std::string(key), program.add_blob(pte::DataSource::owned(
                                                      {bytes, bytes + document.size()}))});
}

}  // namespace

pte::Program lower(const std::vector<Graph>& graphs, Report& report, const LowerOptions& options) {
  for (const Graph& graph : graphs) check_representable(graph);
  pte::Program program;
  ConstantPool constants;
  const StatePlan states(graphs, program);
  for (const StatePlan::Slot& slot : states.slots()) report.states.push_back(describe_state(slot));
  report.state_bytes = static_cast<int64_t>(states.bytes());
  std::vector<pte::MethodIoNames> names;
  std::vector<pte::MethodDebugMap> debug_maps;
  for (const Graph& graph : graphs) {
    Unfinished unfinished(constants, graph);
    program.methods.push_back(
        Lowering(constants, states, program, report, graph, options, unfinished).run());
    debug_maps.push_back(unfinished.debug.take());
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

  add_named_data(program, pte::kIoNamesKey, pte::write_io_names(names));
  if (!options.strip) add_named_data(program, pte::kDebugMapKey, pte::write_debug_map(debug_maps));

  report.kernels = kernels_of(program);
  if (report.delegates > 0) report.backends = {std::string(kBackend)};
  return program;
}

}  // namespace layline::xnnpack

#include "frontend/pt2/import.h"

#include <algorithm>
#include <deque>
#include <map>
#include <ranges>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "frontend/moves.h"
#include "frontend/pt2/archive.h"
#include "frontend/pt2/argument_names.h"
#include "frontend/pt2/call.h"
#include "frontend/pt2/inline_blocks.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/weights.h"
#include "frontend/unsupported_ops.h"
#include "ir/bounds.h"

namespace layline::pt2 {
namespace {

constexpr std::string_view kTorchOps = "torch.ops.";

std::string_view short_target(std::string_view target) {
  return target.starts_with(kTorchOps) ? target.substr(kTorchOps.size()) : target;
}

/// "aten.relu_.default" is "aten.relu.default" followed by a write to its first argument.
std::optional<std::string> functional_form(std::string_view target) {
  const size_t dot = target.rfind('.');
  if (dot == std::string_view::npos || dot < 2 || target[dot - 1] != '_' || target[dot - 2] == '_')
    return std::nullopt;
  return std::string(target.substr(0, dot - 1)) + std::string(target.substr(dot));
}

/// Nodes that compute nothing: checks that torch.export leaves in the graph.
bool is_guard(std::string_view target) {
  static constexpr std::string_view kGuards[] = {
      "aten._assert_scalar.default",      "aten._assert_tensor_metadata.default",
      "aten._assert_async.default",       "aten._assert_async.msg",
      "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"};
  return std::ranges::find(kGuards, target) != std::end(kGuards);
}

/// Whether the op reads a number from a tensor when the model runs.
bool reads_data(std::string_view target) {
  return target == "aten.item.default" || target == "aten._local_scalar_dense.default";
}

/// The integer that the node reads from a tensor; null for other nodes.
const SymIntArg* integer_read(const Node& node) {
  const bool reads = reads_data(short_target(node.target)) && node.outputs.size() == 1;
  return reads ? node.outputs.front().as<SymIntArg>() : nullptr;
}

bool is_size_arithmetic(const Node& node) {
  if (reads_data(short_target(node.target))) return false;
  return std::ranges::all_of(node.outputs, [](const Argument& output) {
    return output.as<SymIntArg>() || output.as<SymBoolArg>() || output.as<SymFloatArg>();
  });
}

OriginRef origin_of(const Node& node, std::string_view name) {
  return std::make_shared<const Origin>(Origin{std::string(name), source_location(node.stack_trace),
                                               module_path(node.nn_module_stack)});
}

std::string_view first_output(const Node& node) {
  for (const Argument& output : node.outputs) {
    if (const auto* tensor = output.as<TensorArg>()) return tensor->name;
    if (const auto* list = output.as<std::vector<TensorArg>>(); list && !list->empty())
      return list->front().name;
  }
  return node.name.empty() ? short_target(node.target) : node.name;
}

/// (0,2,3,1) for a tensor that lies channels-last in memory and not also contiguous; otherwise
/// the contiguous order, which is given as empty.
std::vector<int> recorded_order(const TensorMeta& meta) {
  const size_t rank = meta.sizes.size();
  if (rank != 4 && rank != 5) return {};
  std::vector<int> channels_last = {0};
  for (size_t i = 2; i < rank; ++i) channels_last.push_back(static_cast<int>(i));
  channels_last.push_back(1);
  auto lies_in = [&](auto axis_at) {
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
      const auto axis = static_cast<size_t>(axis_at(i));
      if (!meta.sizes[axis].value || !meta.strides[axis].value) return false;
      if (*meta.sizes[axis].value != 1 && *meta.strides[axis].value != stride) return false;
      stride *= *meta.sizes[axis].value;
    }
    return true;
  };
  const bool contiguous = lies_in([](size_t i) { return static_cast<int>(i); });
  if (contiguous || !lies_in([&](size_t i) { return channels_last[i]; })) return {};
  return channels_last;
}

/// First values of buffers that methods change, by their names in the model. Methods may have
/// different buffers of one name.
using ChangedBuffers = std::multimap<std::string, Constant>;

class Importer {
 public:
  Importer(const Pt2Archive& archive, const std::string& model, std::string method)
      : archive_(archive),
        program_(inline_blocks(archive.program(model))),
        weights_(archive.weights(model)),
        constants_(archive.constants(model)),
        stored_weights_(archive.file()),
        graph_(std::move(method)),
        symbols_(graph_, program_) {}

  /// Reads the signature. Gives the buffers that the method changes, by their names in the model.
  ChangedBuffers find_changed() {
    refuse_unsupported();
    for (size_t i = 0; i < program_.inputs.size(); ++i) bind_input(program_.inputs[i]);
    check_bounded(graph_);
    find_states();
    ChangedBuffers changed;
    for (const std::string_view name : states_) {
      const InputSpec& spec = *stored_.at(name);
      if (spec.kind == InputKind::kBuffer) changed.emplace(spec.fqn, first_value(spec));
    }
    return changed;
  }

  /// Imports the rest. Some method of the archive changes the buffers given.
  ImportedMethod run(const ChangedBuffers& changed) {
    add_states_of_others(changed);
    check_states();
    for (const Node& node : program_.graph.nodes) import_node(node);
    bind_outputs();
    write_changed();
    return {std::move(graph_), permutes_in_model_, has_bfloat16()};
  }

 private:
  bool has_bfloat16() const {
    return std::ranges::any_of(program_.graph.tensor_values, [](const auto& entry) {
      return entry.second.dtype == TorchDType::kBFloat16;
    });
  }

  const OpRule* rule_for(const Node& node, bool& in_place) const {
    const std::string_view target = short_target(node.target);
    in_place = false;
    if (const OpRule* rule = find_rule(target)) return rule;
    if (const auto functional = functional_form(target)) {
      in_place = true;
      return find_rule(*functional);
    }
    return nullptr;
  }

  /// The names that outputs, and nodes that are not dead, refer to.
  const std::unordered_set<std::string_view>& names_read() {
    if (!names_read_.empty()) return names_read_;
    auto read = [&](std::string_view name) { names_read_.insert(name); };
    visit_names(program_.graph.outputs, read);
    for (const OutputSpec& spec : program_.outputs) read(spec.name);
    for (const Node& node : std::views::reverse(program_.graph.nodes))
      if (!is_dead(node, names_read_)) visit_names(node.inputs, read);
    return names_read_;
  }

  /// Whether a node of ATen, or arithmetic on sizes, writes to nothing and nothing reads its
  /// results, such as the random numbers of a layer drop that is off, or a number that is only
  /// checked. It is passed over.
  static bool is_dead(const Node& node, const std::unordered_set<std::string_view>& read) {
    const std::string_view target = short_target(node.target);
    if (is_guard(target)) return true;
    bool dead =
        (target.starts_with("aten.") && !functional_form(target)) || is_size_arithmetic(node);
    visit_names(node.outputs, [&](std::string_view name) { dead = dead && !read.contains(name); });
    return dead;
  }

  void refuse_unsupported() {
    UnsupportedOps unsupported;
    bool in_place = false;
    for (const Node& node : program_.graph.nodes) {
      if (is_size_arithmetic(node) || integer_read(node) || rule_for(node, in_place) ||
          is_dead(node, names_read()))
        continue;
      const std::string target(short_target(node.target));
      unsupported.add(target, *origin_of(node, first_output(node)), remedy(target));
    }
    if (!unsupported.empty())
      throw UserError("{}: {}: {}", archive_.file()->path(), unsupported.count(),
                      unsupported.list());
  }

  static std::string remedy(std::string_view target) {
    if (target == "higher_order.wrap_with_autocast")
      return "autocast is on: export the model outside of it";
    if (target.starts_with("higher_order."))
      return "control flow: export the branches as methods of their own";
    if (reads_data(target)) return "a size or number that depends on the data";
    if (target.starts_with("export.access_subclass"))
      return "weights of a tensor subclass, such as torchao's: export plain weights";
    return {};
  }

  TensorType type_of(std::string_view name, const TensorMeta& meta) {
    try {
      TensorType type{core_dtype(meta.dtype), {}};
      for (const SymInt& size : meta.sizes) type.shape.push_back(symbols_.dim(size));
      byte_count_is_sane(type);
      return type;
    } catch (const UserError& error) {
      throw UserError("{}: {}", name, error.what());
    }
  }

  static void byte_count_is_sane(const TensorType& type) {
    (void)(element_count(type.shape) * Dim(static_cast<int64_t>(byte_size(type.dtype))));
  }

  const TensorMeta& meta_of(std::string_view name) const {
    auto meta = program_.graph.tensor_values.find(name);
    if (meta == program_.graph.tensor_values.end())
      throw UserError("{}: the model records no dtype and shape for `{}`; export it again",
                      archive_.file()->path(), name);
    return meta->second;
  }

  void bind_input(const InputSpec& spec) {
    switch (spec.kind) {
      case InputKind::kUserInput:
        return bind_user_input(spec);
      case InputKind::kConstantInput:
        return bind_fixed_input(spec);
      case InputKind::kParameter:
      case InputKind::kBuffer:
      case InputKind::kTensorConstant: {
        if (!stored_.emplace(spec.name, &spec).second) defined_twice(spec.name);
        return;
      }
      case InputKind::kToken:
        return;
      case InputKind::kCustomObj:
        throw UserError("{}: the input {} is a custom object, which layline cannot run",
                        archive_.file()->path(), spec.name);
    }
  }

  void bind_user_input(const InputSpec& spec) {
    if (spec.arg.as<TensorArg>() == nullptr) return bind_fixed_input(spec);
    if (env_.contains(spec.name)) defined_twice(spec.name);
    const TensorMeta& meta = meta_of(spec.name);
    TensorType type = type_of(spec.name, meta);
    const DType dtype = type.dtype;
    type.dtype = stored_dtype(meta.dtype);
    const std::vector<int> order = recorded_order(meta);
    Value* value = nullptr;
    const size_t input = graph_.inputs().size();
    if (order.empty()) {
      value = graph_.add_input(std::string(spec.name), std::move(type));
    } else {
      Shape logical = type.shape;
      for (size_t i = 0; i < order.size(); ++i)
        type.shape[i] = logical[static_cast<size_t>(order[i])];
      Value* stored = graph_.add_input(std::string(spec.name), std::move(type), order);
      value = builder_for(spec.name).from_channels_last(stored);
    }
    value = builder_for(spec.name).convert(value, dtype);
    env_.define(spec.name, value);
    changeable_.push_back({spec.name, input, value});
  }

  Builder builder_for(std::string_view name) {
    return {graph_, std::make_shared<const Origin>(Origin{std::string(name), "", ""})};
  }

  void bind_fixed_input(const InputSpec& spec) {
    graph_.add_fixed_input(std::string(spec.name),
                           fixed_value(spec.arg, fmt::format("the input {}", spec.name)));
  }

  FixedValue fixed_value(const Argument& argument, const std::string& what) const {
    if (argument.is_none()) return {};
    if (const auto* integer = argument.as<int64_t>()) return *integer;
    if (const auto* number = argument.as<double>()) return *number;
    if (const auto* flag = argument.as<bool>()) return *flag;
    if (const auto* text = argument.as<std::string_view>()) return std::string(*text);
    throw UserError(
        "{}: {} of the model is {}; only tensors, and numbers fixed at export, can "
        "cross its boundary",
        archive_.file()->path(), what, kind_name(argument));
  }

  [[noreturn]] void defined_twice(std::string_view name) const {
    throw UserError("{}: `{}` is defined twice", archive_.file()->path(), name);
  }

  /// The buffers that the model changes, by the names of their inputs. Either the signature lists
  /// them, or nodes write to them in place, perhaps through views.
  void find_states() {
    std::unordered_map<std::string_view, std::string_view> aliases;  // to the stored tensor
    for (const auto& [name, spec] : stored_) aliases.emplace(name, name);
    for (const Node& node : program_.graph.nodes) {
      bool in_place = false;
      const OpRule* rule = rule_for(node, in_place);
      if (rule == nullptr || node.inputs.empty()) continue;
      for (const NamedArgument& input : node.inputs) {
        const auto* written = input.arg.as<TensorArg>();
        const bool writes =
            written && std::ranges::find(rule->writes, input.name) != rule->writes.end();
        if (writes && aliases.contains(written->name)) states_.insert(aliases.at(written->name));
      }
      const auto* self = node.inputs.front().arg.as<TensorArg>();
      const auto alias = self ? aliases.find(self->name) : aliases.end();
      if (alias == aliases.end()) continue;
      const std::string_view root = alias->second;
      if (in_place) states_.insert(root);
      if (in_place || rule->memory != Memory::own)
        visit_names(node.outputs, [&](std::string_view name) { aliases.emplace(name, root); });
    }
    for (const OutputSpec& spec : program_.outputs) {
      if (spec.kind != OutputKind::kBufferMutation) continue;
      const auto stored = std::ranges::find_if(
          stored_, [&](const auto& entry) { return entry.second->fqn == spec.target; });
      if (stored == stored_.end())
        throw UserError("{}: the model changes the buffer `{}`, which it does not have",
                        archive_.file()->path(), spec.target);
      states_.insert(stored->first);
    }
  }

  /// A buffer that another method changes is a state here, too, even if it is only read: a decoder
  /// reads what an encoder has written. State plans tell by the same three things that two states
  /// are one.
  void add_states_of_others(const ChangedBuffers& changed) {
    for (const auto& [name, spec] : stored_) {
      const auto [begin, end] = changed.equal_range(std::string(spec->fqn));
      if (begin == end || spec->kind != InputKind::kBuffer) continue;
      const Constant own = first_value(*spec);
      if (std::any_of(begin, end, [&](const auto& other) {
            return own.dtype() == other.second.dtype() && own.shape() == other.second.shape() &&
                   own.same_bytes(other.second);
          }))
        states_.insert(name);
    }
  }

  void check_states() {
    if (states_.empty()) return;
    // A state of its own for each; one that shares its memory would have to change with the other.
    const auto& read = names_read();
    for (const std::string_view name : states_) {
      const InputSpec& spec = *stored_.at(name);
      if (spec.kind == InputKind::kParameter)
        throw UserError("{}: the model changes its parameter `{}`; make it a buffer",
                        archive_.file()->path(), spec.fqn);
      for (const auto& [other, other_spec] : stored_)
        if (const Payload* payload = table_of(*other_spec).find(other_spec->fqn);
            payload && other != name && read.contains(other) &&
            payload->path == payload_of(spec).path)
          throw UserError(
              "{}: the model changes the buffer `{}`, whose memory it shares with `{}`; clone one "
              "of them",
              archive_.file()->path(), spec.fqn, other_spec->fqn);
    }
  }

  const PayloadTable& table_of(const InputSpec& spec) const {
    const bool in_weights =
        spec.kind == InputKind::kParameter || (spec.kind == InputKind::kBuffer && spec.persistent);
    return in_weights ? weights_ : constants_;
  }

  const Payload& payload_of(const InputSpec& spec) const { return table_of(spec).tensor(spec.fqn); }

  Constant first_value(const InputSpec& spec) { return stored_weights_.constant(payload_of(spec)); }

  /// Weights become constants when they are first used, so dead ones cost nothing.
  void lift_if_stored(std::string_view name) {
    auto stored = stored_.find(name);
    if (stored == stored_.end() || env_.contains(name)) return;
    const InputSpec& spec = *stored->second;
    Constant data = first_value(spec);
    const TensorType recorded = type_of(name, meta_of(name));
    if (TensorType{data.dtype(), data.shape()} != recorded)
      throw UserError("{}: the weight {} is {}, but the model records {}", archive_.file()->path(),
                      spec.fqn, to_string(TensorType{data.dtype(), data.shape()}),
                      to_string(recorded));
    if (states_.contains(name)) {
      const size_t input = graph_.inputs().size();
      Value* value = graph_.add_state(std::string(spec.fqn), std::move(data));
      env_.define(name, value);
      changeable_.push_back({name, input, value});
      return;
    }
    auto origin = std::make_shared<const Origin>(Origin{std::string(spec.fqn), "", ""});
    env_.define(name, graph_.constant(std::move(data), std::move(origin), spec.fqn));
  }

  void lift_operands(const Node& node) {
    visit_names(node.inputs, [this](std::string_view name) { lift_if_stored(name); });
  }

  /// The view ops that lead from `base` to `value`, which an importer built one upon the other.
  static std::vector<ViewStep> steps_between(Value* base, Value* value) {
    std::vector<ViewStep> steps;
    for (Value* at = value; at != base; at = at->def()->operand(0)) {
      if (at->def() == nullptr || at->def()->operand_count() == 0) return {};  // a moved constant
      const Op op = at->def()->op();
      if (op != Op::relayout && op != Op::slice && op != Op::expand) return {Copied()};
      steps.push_back(ViewOp{at->def()->op(), at->def()->attributes()});
    }
    std::ranges::reverse(steps);
    return steps;
  }

  /// Imports the node. Every error names it; those of the arithmetic on sizes do not by themselves.
  static void import_with(const OpRule& rule, Call& call) {
    try {
      rule.import(call);
    } catch (const UserError& error) {
      const std::string place = describe(*call.origin());
      if (std::string_view(error.what()).starts_with(place)) throw;
      throw UserError("{}: {}: {}", place, call.node().target, error.what());
    }
  }

  void import_node(const Node& node) {
    if (is_size_arithmetic(node) || is_dead(node, names_read())) return;
    bool in_place = false;
    const OpRule* rule = rule_for(node, in_place);
    lift_operands(node);
    Call call(graph_, program_.graph, node, env_, symbols_, origin_of(node, first_output(node)),
              [this](std::string_view name) { return names_read().contains(name); });
    if (const SymIntArg* number = integer_read(node)) return read_integer(call, *number);
    const layline::Node* last = graph_.last();
    import_with(*rule, call);
    if (is_in(view_rules(), *rule)) permutes_in_model_ += moves_after(graph_, last);

    std::vector<std::string_view> names;
    for (const Argument& output : node.outputs) {
      if (const auto* tensor = output.as<TensorArg>()) names.push_back(tensor->name);
      if (const auto* list = output.as<std::vector<TensorArg>>())
        for (const TensorArg& tensor : *list) names.push_back(tensor.name);
      if (output.is_none()) names.push_back({});
    }
    if (call.results().size() > names.size())
      call.fail("has {} outputs, expected {}", names.size(), call.results().size());
    for (size_t i = 0; i < call.results().size(); ++i)
      if (!names[i].empty()) bind_result(call, *rule, i, names[i], in_place);
    for (size_t i = std::max<size_t>(call.results().size(), 1); i < names.size(); ++i)
      if (!names[i].empty() && names_read().contains(names[i]))
        call.fail("its output {} (`{}`) is read, and layline computes only {}", i, names[i],
                  i == 1 ? "the first" : fmt::format("the first {}", i));
    for (size_t i = 0; i < rule->writes.size(); ++i)
      env_.write(call.tensor_name(rule->writes[i]), call.written()[i], call);
  }

  void read_integer(const Call& call, const SymIntArg& number) {
    Value* x = call.tensor("self");
    if (!element_count(x->shape()).is_one())
      call.fail("reads one number of {}", to_string(x->type()));
    const auto recorded = program_.graph.sym_int_values.find(number.name);
    if (recorded == program_.graph.sym_int_values.end())
      call.fail("the model records nothing for `{}`; export it again", number.name);
    symbols_.read_from(recorded->second, call.view(call.convert(x, DType::i64), {}));
  }

  void bind_result(const Call& call, const OpRule& rule, size_t i, std::string_view name,
                   bool in_place) {
    Value* value = call.results()[i];
    if (env_.contains(name) || stored_.contains(name)) defined_twice(name);
    const TensorType recorded = call.recorded(i);
    if (in_place) value = call.convert(value, recorded.dtype);
    if (value->type() != recorded)
      call.fail("the model records {} for `{}`, but its operands give {}", to_string(recorded),
                name, to_string(value->type()));
    if (in_place) {
      env_.write(call.base(), value, call);
      env_.define_view(name, call.base(), {}, value);
    } else if (rule.memory == Memory::shared ||
               (rule.memory == Memory::shared_unless_copied && !call.copied_base_to(name))) {
      const std::string_view base = call.base();
      env_.define_view(name, base, steps_between(env_.read(base, call), value), value);
    } else {
      env_.define(name, value);
    }
  }

  static bool is_in(std::span<const OpRule> table, const OpRule& rule) {
    return std::ranges::find(table, rule.target, &OpRule::target) != table.end();
  }

  void bind_outputs() {
    for (const OutputSpec& spec : program_.outputs) {
      if (spec.kind == OutputKind::kToken) continue;
      if (spec.kind == OutputKind::kBufferMutation || spec.kind == OutputKind::kUserInputMutation) {
        listed_changes_.push_back(&spec);
        continue;
      }
      if (spec.kind != OutputKind::kUserOutput)
        throw UserError(
            "{}: the model changes `{}` when it runs, which layline does not support; "
            "return the new value instead",
            archive_.file()->path(), spec.target);
      if (spec.arg.as<TensorArg>())
        bind_output(spec);
      else
        graph_.add_fixed_output(
            fmt::format("output_{}", graph_.outputs().size()),
            fixed_value(spec.arg, fmt::format("output {}", graph_.outputs().size())));
    }
  }

  Value* output_value(std::string_view name, const Builder& builder) {
    lift_if_stored(name);
    if (!env_.contains(name))
      throw UserError("{}: the output `{}` is not defined by any node", archive_.file()->path(),
                      name);
    return env_.read(name, builder);
  }

  void bind_output(const OutputSpec& spec) {
    const Builder builder = builder_for(spec.name);
    const TensorMeta& meta = meta_of(spec.name);
    Value* value = builder.convert(output_value(spec.name, builder), stored_dtype(meta.dtype));
    const std::vector<int> order = recorded_order(meta);
    graph_.add_output(std::string(spec.name),
                      order.empty() ? value : builder.to_channels_last(value), order);
  }

  /// Writes the new values of what the model changes. The signature says which they are, as in a
  /// decomposed program, or nodes have written in place.
  void write_changed() {
    for (const OutputSpec* spec : listed_changes_) {
      std::string_view name = spec->target;
      if (spec->kind == OutputKind::kBufferMutation)
        name = *std::ranges::find_if(
            states_, [&](std::string_view state) { return stored_.at(state)->fqn == name; });
      lift_if_stored(name);
      const Builder builder = builder_for(spec->target);
      if (!env_.contains(name))
        throw UserError("{}: the model changes `{}`, which it does not have",
                        archive_.file()->path(), spec->target);
      env_.write(name, output_value(spec->name, builder), builder);
    }
    for (const Changeable& changeable : changeable_) {
      const Builder builder = builder_for(changeable.name);
      Value* value = env_.read(changeable.name, builder);
      if (value == changeable.before) continue;
      const GraphInput& input = graph_.inputs()[changeable.input];
      value = builder.convert(value, input.value->dtype());
      const bool contiguous = std::ranges::is_sorted(input.dim_order);
      graph_.add_write(changeable.input, contiguous ? value : builder.to_channels_last(value));
    }
  }

  const Pt2Archive& archive_;
  ExportedProgram program_;
  PayloadTable weights_;
  PayloadTable constants_;
  StoredWeights stored_weights_;
  layline::Graph graph_;
  Symbols symbols_;
  TensorEnv env_;
  std::unordered_map<std::string_view, const InputSpec*> stored_;
  std::unordered_set<std::string_view> names_read_;
  std::set<std::string_view> states_;  // names of buffers that this method or another changes
  /// Inputs and states, whose changes outlive a run.
  struct Changeable {
    std::string_view name;
    size_t input;   // among those of the graph
    Value* before;  // what a run begins with
  };
  std::vector<Changeable> changeable_;
  std::vector<const OutputSpec*> listed_changes_;
  int64_t permutes_in_model_ = 0;
};

}  // namespace

std::vector<ImportedMethod> import_archive(std::shared_ptr<const MappedFile> file) {
  const Pt2Archive archive(std::move(file));
  std::deque<Importer> importers;  // which stay where they are
  ChangedBuffers changed;
  for (const std::string& model : archive.models()) {
    // torch.export.save calls its one model "model"; the runtime's habit is "forward".
    const bool lone = archive.models().size() == 1;
    changed.merge(importers.emplace_back(archive, model, lone ? "forward" : model).find_changed());
  }
  std::vector<ImportedMethod> methods;
  for (Importer& importer : importers) methods.push_back(importer.run(changed));
  return methods;
}

}  // namespace layline::pt2

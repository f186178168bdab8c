#include "frontend/onnx/import.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "frontend/moves.h"
#include "frontend/onnx/call.h"
#include "frontend/onnx/model.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/unsupported_ops.h"
#include "ir/bounds.h"

namespace layline::onnx {
namespace {

constexpr int kMostNestedCalls = 64;  // of functions, and of graphs in graphs

/// The names that nodes of one graph see. A graph in a node also sees those around the node.
struct Scope {
  Scope* outer = nullptr;
  /// Null is an input that the call of a function leaves out.
  std::unordered_map<std::string_view, Value*> values = {};
  std::unordered_map<std::string_view, const TensorMessage*> stored = {};
  /// In the body of a function: the attributes that it was called with.
  std::map<std::string_view, const Attribute*> attributes = {};
  const std::vector<Opset>* opsets = nullptr;
  int depth = 0;
};

std::string full_name(const Node& node) {
  return node.domain.empty() ? std::string(node.op) : fmt::format("{}.{}", node.domain, node.op);
}

OriginRef origin_of(const Node& node) {
  std::string_view name = node.name;
  if (name.empty())
    for (const std::string_view output : node.outputs)
      if (name.empty()) name = output;
  return std::make_shared<const Origin>(Origin{std::string(name), "", ""});
}

DType computed_dtype(DType stored) { return stored == DType::bf16 ? DType::f32 : stored; }

class Importer {
 public:
  Importer(std::shared_ptr<const MappedFile> file, const ImportOptions& options)
      : file_(std::move(file)),
        options_(options),
        model_(read_model(file_->text(), file_->path())),
        tensors_(file_),
        graph_("forward"),
        sizes_(graph_) {}

  Imported run() {
    check_opsets();
    refuse_unsupported();
    for (const TensorMessage& tensor : model_.graph.initializers) stored_names_.insert(tensor.name);
    Scope scope;
    scope.opsets = &model_.opsets;
    bind_inputs(scope);
    check_bounded(graph_);
    import_nodes(model_.graph.nodes, scope);
    bind_outputs(scope);
    return {std::move(graph_), permutes_in_model_, has_bfloat16_};
  }

 private:
  template <typename... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    throw UserError("{}: {}", file_->path(),
                    fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void check_opsets() const {
    const auto found = std::ranges::find(model_.opsets, "", &Opset::domain);
    if (found == model_.opsets.end()) return;
    if (found->version < kOldestOpset || found->version > kNewestOpset)
      fail(
          "the model is of opset {}; layline reads {} to {} (onnx.version_converter converts "
          "models to another opset)",
          found->version, kOldestOpset, kNewestOpset);
  }

  const Function* find_function(const Node& node) const {
    for (const Function& function : model_.functions)
      if (function.name == node.op && function.domain == node.domain) return &function;
    return nullptr;
  }

  // Unsupported ops, all at once ------------------------------------------------------------------

  /// The nodes of graphs in attributes are left out: a branch that is not taken may hold anything.
  void find_unsupported(const std::vector<Node>& nodes, UnsupportedOps& unsupported,
                        std::set<const Function*>& seen) const {
    for (const Node& node : nodes) {
      const std::string op = full_name(node);
      if (const Function* function = find_function(node)) {
        if (seen.insert(function).second) find_unsupported(function->nodes, unsupported, seen);
        continue;
      }
      if (find_rule(op) == nullptr) unsupported.add(op, *origin_of(node));
    }
  }

  void refuse_unsupported() const {
    if (model_.graph.has_sparse_initializers) fail("sparse stored tensors are not supported");
    UnsupportedOps unsupported;
    std::set<const Function*> seen;
    find_unsupported(model_.graph.nodes, unsupported, seen);
    if (unsupported.empty()) return;
    const auto opset = std::ranges::find(model_.opsets, "", &Opset::domain);
    fail("{} (opset {}): {}", unsupported.count(),
         opset == model_.opsets.end() ? 0 : opset->version, unsupported.list());
  }

  // The boundary ----------------------------------------------------------------------------------

  /// What the user calls a size: its name in the model, or else its place.
  static std::string size_name(const ValueInfo& input, size_t axis) {
    const Size& size = input.shape[axis];
    return size.name.empty() ? fmt::format("{}.{}", input.name, axis) : std::string(size.name);
  }

  static bool is_open(const Size& size) { return !size.value || *size.value < 0; }

  /// Whether the input is one that the caller gives: not a default that the model stores.
  bool is_given(const ValueInfo& input) const { return !stored_names_.contains(input.name); }

  void check_sizes() const {
    std::vector<std::string> open, missing;
    for (const ValueInfo& input : model_.graph.inputs) {
      if (!is_given(input) || options_.fixed.contains(std::string(input.name))) continue;
      for (size_t axis = 0; axis < input.shape.size(); ++axis) {
        if (!is_open(input.shape[axis])) continue;
        const std::string size = size_name(input, axis);
        open.push_back(size);
        if (!options_.sizes.contains(size) && std::ranges::find(missing, size) == missing.end())
          missing.push_back(size);
      }
    }
    if (!missing.empty())
      fail(
          "the model leaves open the size{} {}; give each a value or a range, such as --dim {}=1 "
          "or --dim {}=1..64",
          missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), missing[0], missing.back());
    for (const auto& [size, range] : options_.sizes)
      if (std::ranges::find(open, size) == open.end())
        fail("--dim {}: the model leaves no such size open{}{}", size,
             open.empty() ? "" : "; it leaves open ", fmt::join(open, ", "));
    for (const auto& [name, value] : options_.fixed)
      if (std::ranges::none_of(model_.graph.inputs, [&](const ValueInfo& input) {
            return input.name == name && is_given(input);
          }))
        fail("--fix {}: the model has no such input", name);
  }

  Dim open_size(const std::string& size) {
    const SizeRange& range = options_.sizes.at(size);
    if (range.least == range.greatest) return range.least;
    auto known = symbols_.find(size);
    if (known == symbols_.end()) {
      const SymbolId symbol =
          graph_.add_symbol({size, range.least / range.step, range.greatest / range.step});
      known = symbols_.emplace(size, Dim::symbol(symbol) * Dim(range.step)).first;
    }
    return known->second;
  }

  TensorType type_of(const ValueInfo& input, std::string_view what) {
    if (!input.is_tensor)
      fail("the {} `{}` is no tensor; sequences, maps and optional values are not supported", what,
           input.name);
    const auto dtype = stored_dtype(input.type);
    if (!dtype)
      fail("the {} `{}` is {}, which layline does not support", what, input.name,
           onnx::name(input.type));
    has_bfloat16_ = has_bfloat16_ || *dtype == DType::bf16;
    if (!input.has_shape) fail("the {} `{}` has no shape; add one to the model", what, input.name);
    TensorType type{*dtype, {}};
    for (size_t axis = 0; axis < input.shape.size(); ++axis)
      type.shape.push_back(is_open(input.shape[axis]) ? open_size(size_name(input, axis))
                                                      : Dim(*input.shape[axis].value));
    (void)(element_count(type.shape) * Dim(static_cast<int64_t>(byte_size(type.dtype))));
    return type;
  }

  Builder builder_for(std::string_view name) {
    return {graph_, std::make_shared<const Origin>(Origin{std::string(name), "", ""})};
  }

  /// The constant that the user gave for an input.
  Tensor fixed_value(const ValueInfo& input, const std::variant<double, Tensor>& given) {
    const auto dtype = stored_dtype(input.type);
    if (!input.is_tensor || !dtype)
      fail("--fix {}: the input is {}, which layline does not support", input.name,
           onnx::name(input.type));
    if (const auto* tensor = std::get_if<Tensor>(&given)) {
      bool fits = tensor->dtype() == *dtype &&
                  (!input.has_shape || input.shape.size() == tensor->dims().size());
      for (size_t axis = 0; fits && axis < input.shape.size(); ++axis)
        fits = is_open(input.shape[axis]) || *input.shape[axis].value == tensor->dims()[axis];
      if (!fits)
        fail("--fix {}: {} does not fit the input, which is {} with {} axes", input.name,
             to_string(tensor->type()), onnx::name(input.type), input.shape.size());
      return *tensor;
    }
    TensorType type{*dtype, {}};
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      const Size& size = input.shape[axis];
      const auto chosen = options_.sizes.find(size_name(input, axis));
      if (!is_open(size))
        type.shape.push_back(*size.value);
      else if (chosen != options_.sizes.end() && chosen->second.least == chosen->second.greatest)
        type.shape.push_back(chosen->second.least);
      else
        type.shape.push_back(1);
    }
    Tensor tensor(type);
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, std::get<double>(given));
    return tensor;
  }

  void bind_inputs(Scope& scope) {
    check_sizes();
    bind_stored(model_.graph, scope);
    for (const ValueInfo& input : model_.graph.inputs) {
      if (!is_given(input)) continue;
      if (scope.values.contains(input.name)) defined_twice(input.name);
      const Builder build = builder_for(input.name);
      Value* value = nullptr;
      if (const auto fixed = options_.fixed.find(std::string(input.name));
          fixed != options_.fixed.end())
        value = build.constant(fixed_value(input, fixed->second));
      else
        value = graph_.add_input(std::string(input.name), type_of(input, "input"));
      scope.values[input.name] = build.convert(value, computed_dtype(value->dtype()));
    }
  }

  void bind_stored(const Graph& graph, Scope& scope) const {
    for (const TensorMessage& tensor : graph.initializers)
      if (!scope.stored.emplace(tensor.name, &tensor).second) defined_twice(tensor.name);
  }

  [[noreturn]] void defined_twice(std::string_view name) const {
    fail("`{}` is defined twice", name);
  }

  void bind_outputs(Scope& scope) {
    for (const ValueInfo& output : model_.graph.outputs) {
      Value* value = require(output.name, scope, "the model's end");
      if (output.is_tensor) {
        const auto dtype = stored_dtype(output.type);
        if (!dtype)
          fail("the output `{}` is {}, which layline does not support", output.name,
               onnx::name(output.type));
        has_bfloat16_ = has_bfloat16_ || *dtype == DType::bf16;
        check_recorded(output, value, *dtype);
        value = builder_for(output.name).convert(value, *dtype);
      }
      graph_.add_output(std::string(output.name), value);
    }
  }

  /// Refuses a model whose output is not what the model says it is. What was recorded for one size
  /// of an input says nothing where the user chose another.
  void check_recorded(const ValueInfo& output, const Value* value, DType recorded) const {
    bool fits = computed_dtype(recorded) == value->dtype() &&
                (!output.has_shape || output.shape.size() == value->shape().size());
    for (size_t axis = 0; fits && axis < output.shape.size() && options_.sizes.empty(); ++axis) {
      const Size& size = output.shape[axis];
      const Dim& actual = value->shape()[axis];
      fits = is_open(size) || !actual.is_static() || *size.value == actual.value();
    }
    if (fits) return;
    std::vector<std::string> sizes;
    for (const Size& size : output.shape)
      sizes.push_back(size.value ? fmt::format("{}", *size.value) : std::string(size.name));
    fail("the model records {} [{}] for the output `{}`, but its nodes give {}",
         onnx::name(output.type), fmt::join(sizes, ","), output.name, to_string(value->type()));
  }

  // Nodes -----------------------------------------------------------------------------------------

  /// The value of a name; stored tensors become constants when they are first used.
  std::optional<Value*> find(std::string_view name, Scope& scope) {
    for (Scope* at = &scope; at != nullptr; at = at->outer) {
      if (const auto value = at->values.find(name); value != at->values.end()) return value->second;
      const auto stored = at->stored.find(name);
      if (stored == at->stored.end()) continue;
      auto origin = std::make_shared<const Origin>(Origin{std::string(name), "", ""});
      Value* value = graph_.constant(tensors_.read(*stored->second), std::move(origin), name);
      at->values.emplace(name, value);
      return value;
    }
    return std::nullopt;
  }

  /// The value of a name that must be defined, or null if the call of a function leaves it out;
  /// `what` says in messages whose name it is.
  Value* defined(std::string_view name, Scope& scope, std::string_view what) {
    if (const auto value = find(name, scope)) return *value;
    undefined(name, what);
  }

  /// The same for a name that may not be left out.
  Value* require(std::string_view name, Scope& scope, std::string_view what) {
    if (Value* value = defined(name, scope, what)) return value;
    undefined(name, what);
  }

  [[noreturn]] void undefined(std::string_view name, std::string_view what) const {
    const auto unsupported = unsupported_outputs_.find(name);
    if (unsupported != unsupported_outputs_.end()) fail("{}", unsupported->second);
    fail("no node before {} defines `{}`", what, name);
  }

  void import_nodes(const std::vector<Node>& nodes, Scope& scope) {
    for (const Node& node : nodes) import_node(node, scope);
  }

  int64_t opset_of(std::string_view domain, const Scope& scope) const {
    for (const Scope* at = &scope; at != nullptr; at = at->outer)
      if (at->opsets != nullptr) {
        const auto found = std::ranges::find(*at->opsets, domain, &Opset::domain);
        if (found != at->opsets->end()) return found->version;
      }
    if (domain.empty()) fail("its nodes are of ONNX's own ops, but it does not say of which opset");
    return 1;  // other domains have had one version only
  }

  /// A node's attributes, in the body of a function with what the function was called with.
  static std::vector<const Attribute*> attributes_of(const Node& node, const Scope& scope,
                                                     std::deque<Attribute>& renamed) {
    std::vector<const Attribute*> attributes;
    for (const Attribute& attribute : node.attributes) {
      if (attribute.refers_to.empty()) {
        attributes.push_back(&attribute);
        continue;
      }
      for (const Scope* at = &scope; at != nullptr; at = at->outer) {
        const auto given = at->attributes.find(attribute.refers_to);
        if (given == at->attributes.end()) continue;
        Attribute& copy = renamed.emplace_back(*given->second);
        copy.name = attribute.name;
        attributes.push_back(&copy);
        break;
      }
    }
    return attributes;
  }

  void import_node(const Node& node, Scope& scope) {
    const std::string op = full_name(node);
    const OriginRef origin = origin_of(node);
    const std::string place = describe(*origin);
    std::vector<Value*> inputs;
    for (const std::string_view name : node.inputs)
      inputs.push_back(name.empty() ? nullptr : defined(name, scope, place));
    while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
    std::deque<Attribute> renamed;
    std::vector<const Attribute*> attributes = attributes_of(node, scope, renamed);
    std::vector<Value*> results;
    if (const Function* function = find_function(node)) {
      results = import_function(*function, node, attributes, inputs, scope.depth);
    } else {
      const OpRule* rule = find_rule(op);
      if (rule == nullptr) fail("{}: {} is not supported", describe(*origin), op);
      Call call({graph_, sizes_, tensors_, placeholders_, permutes_in_model_}, node,
                std::move(attributes), std::move(inputs), opset_of(node.domain, scope), origin, op,
                [&](const Graph& body, std::vector<Value*> values) {
                  return import_body(body, std::move(values), scope);
                });
      const layline::Node* last = graph_.last();
      import_with(*rule, call);
      if (is_view(*rule)) permutes_in_model_ += moves_after(graph_, last);
      results = call.results();
    }
    bind_results(node, *origin, results, scope);
  }

  /// Imports the node. Every error names it; those of the arithmetic on sizes do not by themselves.
  static void import_with(const OpRule& rule, Call& call) {
    const std::string place = describe(*call.origin());
    try {
      rule.import(call);
    } catch (const UserError& error) {
      const bool named = std::string_view(error.what()).starts_with(place);
      throw UserError("{}{}{}", named ? "" : fmt::format("{}: {}: ", place, rule.op), error.what(),
                      hint(call));
    }
  }

  /// Two tensors of dynamic sizes may fit only if the sizes are multiples of a number.
  static std::string_view hint(const Call& call) {
    size_t dynamic = 0;
    for (size_t i = 0; i < call.input_count(); ++i)
      dynamic += call.has(i) && !is_static(call.input(i)->shape());
    return dynamic < 2 ? ""
                       : "; if the model's dynamic sizes are multiples of a number, give them in "
                         "steps (--dim NAME=32..960:32), and otherwise fix them";
  }

  void bind_results(const Node& node, const Origin& origin, const std::vector<Value*>& results,
                    Scope& scope) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (i >= results.size() || results[i] == nullptr) {
        unsupported_outputs_.emplace(
            node.outputs[i], fmt::format("{}: {}: its output {} is used, which is not supported",
                                         describe(origin), full_name(node), i));
        continue;
      }
      if (!scope.values.emplace(node.outputs[i], results[i]).second ||
          scope.stored.contains(node.outputs[i]))
        defined_twice(node.outputs[i]);
    }
  }

  std::vector<Value*> outputs_of(const std::vector<std::string_view>& names, Scope& scope) {
    std::vector<Value*> values;
    for (const std::string_view name : names)
      values.push_back(require(name, scope, "the end of its graph"));
    return values;
  }

  std::vector<Value*> import_function(const Function& function, const Node& node,
                                      const std::vector<const Attribute*>& attributes,
                                      const std::vector<Value*>& inputs, int depth) {
    Scope scope;
    scope.opsets = &function.opsets;
    scope.depth = deeper(depth);
    for (size_t i = 0; i < function.inputs.size(); ++i)
      scope.values[function.inputs[i]] = i < inputs.size() ? inputs[i] : nullptr;
    if (inputs.size() > function.inputs.size())
      fail("{}: {} has {} inputs, expected {}", describe(*origin_of(node)), function.name,
           inputs.size(), function.inputs.size());
    for (const Attribute& attribute : function.defaults)
      scope.attributes[attribute.name] = &attribute;
    for (const Attribute* attribute : attributes) scope.attributes[attribute->name] = attribute;
    import_nodes(function.nodes, scope);
    return outputs_of(function.outputs, scope);
  }

  std::vector<Value*> import_body(const Graph& body, std::vector<Value*> values, Scope& outer) {
    Scope scope;
    scope.outer = &outer;
    scope.depth = deeper(outer.depth);
    if (values.size() != body.inputs.size())
      fail("a graph in a node has {} inputs, expected {}", body.inputs.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) scope.values[body.inputs[i].name] = values[i];
    bind_stored(body, scope);
    import_nodes(body.nodes, scope);
    std::vector<std::string_view> names;
    for (const ValueInfo& output : body.outputs) names.push_back(output.name);
    return outputs_of(names, scope);
  }

  int deeper(int depth) const {
    if (depth >= kMostNestedCalls)
      fail("functions and graphs call each other more than {} deep", kMostNestedCalls);
    return depth + 1;
  }

  static bool is_view(const OpRule& rule) {
    return std::ranges::find(view_rules(), rule.op, &OpRule::op) != view_rules().end();
  }

  std::shared_ptr<const MappedFile> file_;
  const ImportOptions& options_;
  Model model_;
  std::unordered_set<std::string_view> stored_names_;
  StoredTensors tensors_;
  layline::Graph graph_;
  layline::Graph placeholders_{"placeholders"};
  SizeArithmetic sizes_;
  std::map<std::string, Dim> symbols_;                                     // by the size's name
  std::unordered_map<std::string_view, std::string> unsupported_outputs_;  // with the message
  bool has_bfloat16_ = false;
  int64_t permutes_in_model_ = 0;
};

}  // namespace

Imported import_model(std::shared_ptr<const MappedFile> file, const ImportOptions& options) {
  return Importer(std::move(file), options).run();
}

}  // namespace layline::onnx

#include "ir/verify.h"

#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"

namespace layline {
namespace {

/// "%c = exp [exp_1 (model.py:3)]", or "input %x".
std::string describe_value(const Value& value) {
  if (value.def() == nullptr) return fmt::format("input %{}", value.name());
  const Node& node = *value.def();
  return fmt::format("%{} = {} [{}]", value.name(), name(node.op()), describe(node));
}

bool is_permutation(const std::vector<int>& order, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (const int dim : order) {
    if (dim < 0 || static_cast<size_t>(dim) >= rank || seen[static_cast<size_t>(dim)]) return false;
    seen[static_cast<size_t>(dim)] = true;
  }
  return order.size() == rank;
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), symbols_(graph.symbol_table()), states_(graph.value_count()) {
    names_.reserve(graph.node_count() + graph.inputs().size());
  }

  void verify() {
    for (const GraphInput& input : graph_.inputs()) check_input(input);
    check_nodes();
    check_outputs();
    check_uses();
  }

 private:
  /// What is known about a value.
  struct State {
    const Value* defined = nullptr;  // itself, once it is
    // The operands of all nodes are numbered in sequence: the number of the first operand of the
    // node that computes this value.
    size_t first_slot = 0;
    int output_uses = 0;
  };

  template <typename... Args>
  [[noreturn]] void fail(const Value& about, fmt::format_string<Args...> format,
                         Args&&... args) const {
    throw InternalError(fmt::format("graph {}: {}: {}", graph_.name(), describe_value(about),
                                    fmt::format(format, std::forward<Args>(args)...)));
  }

  /// The value's state; null if it is not defined, or belongs to another graph.
  State* state_of(const Value* value) {
    if (value->number() >= states_.size()) return nullptr;
    State& state = states_[value->number()];
    return state.defined == value ? &state : nullptr;
  }

  /// Makes the value known, as one that later nodes may use.
  void define(const Value& value, size_t first_slot) {
    if (state_of(&value) != nullptr) fail(value, "is defined twice");
    states_[value.number()] = {&value, first_slot, 0};
    if (!names_.insert(value.name()).second) fail(value, "shares its name with another value");
    for (const Dim dim : value.shape())
      for (const SymbolId id : dim.symbols())
        if (id > graph_.symbols().size()) fail(value, "has the undeclared symbol s{}", id);
  }

  void check_order(const std::vector<int>& order, const Value& value, std::string_view kind) const {
    if (!is_permutation(order, value.shape().size()))
      fail(value, "the dim order ({}) of the {} is no permutation of {} dims",
           fmt::join(order, ","), kind, value.shape().size());
  }

  void check_input(const GraphInput& input) {
    if (input.value == nullptr) return;
    if (input.value->def() != nullptr) fail(*input.value, "is computed, yet among the inputs");
    define(*input.value, 0);
    check_order(input.dim_order, *input.value, "input");
    if (input.initial &&
        TensorType{input.initial->dtype(), input.initial->shape()} != input.value->type())
      fail(*input.value, "is a state that starts as {}{}", layline::name(input.initial->dtype()),
           to_string(input.initial->shape()));
  }

  void check_nodes() {
    const Node* previous = nullptr;
    size_t count = 0;
    for (const Node* node = graph_.first(); node != nullptr; node = node->next()) {
      const Value& result = *node->result();
      if (node->previous() != previous) fail(result, "is not linked to the node before it");
      if (result.def() != node) fail(result, "its value does not know its node");
      check_node(*node);
      define(result, slot_count_);
      slot_count_ += node->operands().size();
      previous = node;
      ++count;
    }
    if (graph_.last() != previous || count != graph_.node_count())
      throw InternalError(
          fmt::format("graph {}: its list of {} nodes is not the one it counts {} in",
                      graph_.name(), count, graph_.node_count()));
  }

  void check_node(const Node& node) {
    const Value& result = *node.result();
    const OpInfo& row = info(node.op());
    if (node.attributes().index() != row.attributes)
      fail(result, "has attributes of another op (alternative {} instead of {})",
           node.attributes().index(), row.attributes);
    if (node.operand_count() < row.min_operands ||
        (row.max_operands >= 0 && node.operand_count() > row.max_operands))
      fail(result, "has {} operands", node.operand_count());
    operand_types_.clear();
    for (const Value* operand : node.operands()) {
      if (operand == nullptr) fail(result, "has a null operand");
      if (state_of(operand) == nullptr)
        fail(result, "its operand %{} is no input or earlier result (erased, or out of order)",
             operand->name());
      operand_types_.push_back(operand->type());
    }
    check_type(node);
  }

  void check_type(const Node& node) {
    const Value& result = *node.result();
    // A constant's scales were checked when it was added. A language model has millions.
    if (node.is(Op::constant) && node.attrs<ConstantAttrs>().quantisation) {
      const auto& [data, quantisation] = node.attrs<ConstantAttrs>();
      if (TensorType{data.dtype(), data.shape(), quantisation} == result.type()) return;
    }
    try {
      const TensorType inferred = infer(node.op(), operand_types_, node.attributes(), symbols_);
      if (inferred != result.type())
        fail(result, "has type {} where its op gives {}", to_string(result.type()),
             to_string(inferred));
    } catch (const UserError& error) {
      fail(result, "has operands that its op does not take: {}", error.what());
    }
  }

  void check_outputs() {
    for (const GraphOutput& output : graph_.outputs()) {
      if (output.value == nullptr) continue;
      State* state = state_of(output.value);
      if (state == nullptr)
        fail(*output.value, "is output {}, but no input or result of the graph", output.name);
      ++state->output_uses;
      check_order(output.dim_order, *output.value, "output");
      check_write(output);
    }
  }

  void check_write(const GraphOutput& output) {
    if (!output.writes) return;
    if (*output.writes >= graph_.inputs().size())
      fail(*output.value, "is written to input {}, which there is not", *output.writes);
    const GraphInput& input = graph_.inputs()[*output.writes];
    if (input.value == nullptr || input.value->type() != output.value->type() ||
        input.dim_order != output.dim_order)
      fail(*output.value, "is written to the input {}, which has another type", input.name);
    if (!written_.insert(*output.writes).second)
      fail(*output.value, "is a second write to the input {}", input.name);
  }

  /// Use lists mirror operands: every use names an operand that is this value, no two name the same
  /// operand, and every operand is named.
  void check_uses() {
    std::vector<bool> named(slot_count_, false);
    for (const GraphInput& input : graph_.inputs())
      if (input.value != nullptr) check_uses_of(*input.value, named);
    for (const Node* node = graph_.first(); node != nullptr; node = node->next())
      check_uses_of(*node->result(), named);
    size_t slot = 0;
    for (const Node* node = graph_.first(); node != nullptr; node = node->next())
      for (const Value* operand : node->operands())
        if (!named[slot++])
          fail(*node->result(), "is not among the uses of its operand %{}", operand->name());
  }

  void check_uses_of(const Value& value, std::vector<bool>& named) {
    for (const Use& use : value.uses()) {
      // Erased nodes still exist, so the user can be looked at before it is known to be alive.
      const State* user = state_of(use.user->result());
      if (user == nullptr) fail(value, "has a use by a node that is not in the graph");
      if (use.operand < 0 || use.operand >= use.user->operand_count() ||
          use.user->operand(use.operand) != &value)
        fail(value, "lists operand {} of %{} as a use, which it is not", use.operand,
             use.user->result()->name());
      const size_t slot = user->first_slot + static_cast<size_t>(use.operand);
      if (named[slot])
        fail(value, "lists operand {} of %{} twice", use.operand, use.user->result()->name());
      named[slot] = true;
    }
    const int output_uses = state_of(&value)->output_uses;
    if (value.output_uses() != output_uses)
      fail(value, "counts {} outputs where there are {}", value.output_uses(), output_uses);
  }

  const Graph& graph_;
  SymbolTable symbols_;        // a copy: the rules add the sizes that they derive
  std::vector<State> states_;  // by a value's number
  std::unordered_set<std::string_view> names_;
  std::unordered_set<size_t> written_;  // inputs
  size_t slot_count_ = 0;
  std::vector<TensorType> operand_types_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph).verify(); }

}  // namespace layline

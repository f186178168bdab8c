// The graph: nodes in SSA form, in an order in which every value is defined before it is used.
//
// What holds between any two calls: operands and use lists mirror each other; every value has the
// type that its op's rule infers; nodes stand in topological order. verify.h checks all three.
// Nodes and values live as long as the graph; an erased node is only unlinked, and holds no weights
// and no scales of weights any more.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "algebra/symbols.h"
#include "ir/attributes.h"
#include "ir/op.h"
#include "ir/type.h"

namespace layline {

class Graph;
class Node;

/// Where a node comes from in the user's own code. Made once, shared by what is derived from it.
struct Origin {
  std::string node;    // the node's name in the model
  std::string source;  // "model.py:12"
  std::string module;  // "features.3.conv"
};
using OriginRef = std::shared_ptr<const Origin>;

/// "conv2d_3 (model.py:12, features.3.conv)"
std::string describe(const Origin& origin);

struct Use {
  Node* user;
  int operand;
};

/// A tensor: a graph input or the one result of a node.
class Value {
 public:
  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  /// The node that computes this value; null for a graph input.
  Node* def() const { return def_; }
  std::span<const Use> uses() const { return uses_; }
  /// How often the value stands among the graph's outputs.
  int output_uses() const { return static_cast<int>(outputs_.size()); }
  bool has_one_use() const { return uses_.size() + outputs_.size() == 1; }
  /// Unique in the graph; the name in the text form.
  const std::string& name() const { return name_; }
  /// A place in a table: less than the graph's value_count(), and different for each value.
  size_t number() const { return number_; }

 private:
  friend class Graph;
  size_t number_ = 0;
  TensorType type_;
  Node* def_ = nullptr;
  std::vector<Use> uses_;
  std::vector<size_t> outputs_;  // which of the graph's outputs it is, in no order
  std::string name_;
};

class Node {
 public:
  Op op() const { return op_; }
  bool is(Op op) const { return op_ == op; }
  std::span<Value* const> operands() const { return operands_; }
  Value* operand(int i) const { return operands_[static_cast<size_t>(i)]; }
  int operand_count() const { return static_cast<int>(operands_.size()); }
  Value* result() const { return result_; }
  const Attributes& attributes() const { return attributes_; }
  template <typename T>
  const T& attrs() const {
    return std::get<T>(attributes_);
  }
  const OriginRef& origin() const { return origin_; }
  Node* next() const { return next_; }
  Node* previous() const { return previous_; }

 private:
  friend class Graph;
  Op op_ = Op::constant;
  std::vector<Value*> operands_;
  Value* result_ = nullptr;
  Attributes attributes_;
  OriginRef origin_;
  Node* next_ = nullptr;
  Node* previous_ = nullptr;
};

/// An argument or a result that torch.export fixed at export time (None, or a number); it keeps its
/// place among the program's inputs or outputs but has nothing to do with any value of the graph.
using FixedValue = std::variant<std::monostate, int64_t, double, bool, std::string>;

/// dim_order says how the boundary tensor's logical dims follow each other in memory; the value's
/// shape is the logical shape permuted by it: shape[i] = logical[dim_order[i]].
struct GraphInput {
  std::string name;
  Value* value = nullptr;  // null for a fixed input
  std::vector<int> dim_order;
  FixedValue fixed;
  /// Only a state has this, a buffer that the model may change: what it holds before the first run.
  /// The caller does not give it; each run finds what the run before has written.
  std::optional<Constant> initial = {};
  /// How a state lies in memory, from its shape in the model; absent if it lies there unchanged.
  std::optional<Relayout> relaid = {};
  /// A state whose order in memory may not change, because other graphs have it too.
  bool pinned = false;

  bool is_state() const { return initial.has_value(); }
};

struct GraphOutput {
  std::string name;
  Value* value = nullptr;  // null for a fixed output
  std::vector<int> dim_order;
  FixedValue fixed;
  /// The input (a state, or an argument that the model changes) to whose memory the value is
  /// written when all else is done; the caller is not given it.
  std::optional<size_t> writes = {};
};

class Graph {
 public:
  explicit Graph(std::string graph_name);
  Graph(Graph&&);
  Graph& operator=(Graph&&);
  ~Graph();

  const std::string& name() const { return name_; }

  // Building. New nodes go before the insertion point, which is the end unless set.
  Value* add_input(std::string name, TensorType type, std::vector<int> dim_order = {});
  void add_fixed_input(std::string name, FixedValue value);
  Value* add_state(std::string name, Constant initial);
  void add_output(std::string name, Value* value, std::vector<int> dim_order = {});
  /// Adds a write: after a run the input holds `value`, which has the input's type.
  void add_write(size_t input, Value* value);
  void add_fixed_output(std::string name, FixedValue value);
  /// Adds a node, whose result's type is inferred. Errors name the origin.
  Value* add(Op op, std::vector<Value*> operands, Attributes attributes, OriginRef origin,
             std::string_view value_name = {});
  Value* constant(Constant data, OriginRef origin, std::string_view value_name = {});
  SymbolId add_symbol(Symbol symbol) { return symbols_.add(std::move(symbol)); }
  SymbolTable& symbol_table() { return symbols_; }
  const SymbolTable& symbol_table() const { return symbols_; }
  void set_insertion_point(Node* before) { insertion_ = before; }

  // Changing.
  void replace_all_uses(Value* from, Value* to);
  void set_operand(Node* node, int index, Value* to);
  /// Unlinks the node, which must have no uses left.
  void erase(Node* node);
  void set_output(size_t index, Value* value, std::vector<int> dim_order);
  /// Gives an input another order in memory, and with it another shape. Returns its new value; the
  /// caller replaces the old one.
  Value* reorder_input(size_t index, std::vector<int> dim_order);
  /// Relays out a state in memory. No caller sees a state, so any relayout will do that composes
  /// with the earlier ones. The caller of this function also relays out what is written to the
  /// state.
  Value* reorder_state(size_t index, const Relayout& relayout);
  void pin_state(size_t index) { inputs_[index].pinned = true; }
  /// Renames the boundary: one name for each input, and one for each output.
  void rename_boundary(std::vector<std::string> inputs, std::vector<std::string> outputs);

  // Looking.
  Node* first() const { return first_; }
  Node* last() const { return last_; }
  std::span<const GraphInput> inputs() const { return inputs_; }
  std::span<const GraphOutput> outputs() const { return outputs_; }
  std::span<const Symbol> symbols() const { return symbols_.all(); }
  size_t node_count() const { return node_count_; }
  /// The number of all values that there ever were.
  size_t value_count() const { return values_.size(); }

  /// Iteration that allows erasing the current node and inserting before it.
  class Iterator {
   public:
    explicit Iterator(Node* node) : node_(node), next_(node ? node->next() : nullptr) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = next_;
      next_ = node_ ? node_->next() : nullptr;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    Node* node_;
    Node* next_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  Value* new_value(TensorType type, std::string_view wanted_name);
  std::string unique_name(std::string_view wanted);
  void link(Node* node);

  std::string name_;
  std::deque<Node> nodes_;
  std::deque<Value> values_;
  std::vector<GraphInput> inputs_;
  std::vector<GraphOutput> outputs_;
  SymbolTable symbols_;
  std::unordered_map<std::string, int> names_;  // how many values asked for this name
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  Node* insertion_ = nullptr;
  size_t node_count_ = 0;
};

/// The inputs that the caller gives: all but states.
inline auto arguments(const Graph& graph) {
  return graph.inputs() |
         std::views::filter([](const GraphInput& input) { return !input.is_state(); });
}

/// The outputs that the caller is given: all but writes.
inline auto results(const Graph& graph) {
  return graph.outputs() |
         std::views::filter([](const GraphOutput& output) { return !output.writes; });
}

/// The constant that `value` is, or null. Null for quantised constants: their bytes are not the
/// numbers that they stand for.
const Constant* constant_of(const Value* value);
/// The bytes of a constant, quantised or not; null if `value` is not one.
const Constant* stored_constant(const Value* value);

/// Whether an operand or the result is quantised.
bool is_quantised(const Node& node);

/// Where a message about this node should point the user.
std::string describe(const Node& node);

}  // namespace layline

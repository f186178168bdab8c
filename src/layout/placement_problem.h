// The placement problem of a graph: which loop orders each op may take, which forms of which values
// they read and write, and what that costs (docs/placement.md; the words are in README.md here).
//
// Relayouts of the source graph are not ops here. A value that they lead to is its root in another
// form, so "which relayouts can go?" becomes "which form does each op read and write?".
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "layout/cost.h"
#include "layout/index.h"
#include "layout/loop_order.h"

namespace layline {

using NodeIndex = Index<struct NodeSort>;    // of an op, or a state, in a problem
using ValueIndex = Index<struct ValueSort>;  // of a root in a problem
using OrderIndex = Index<struct OrderSort>;  // of an order among the orders of one op
using FormIndex = Index<struct FormSort>;    // of a form among the forms of one value

/// The first order of every op is the order in which the model writes it.
constexpr OrderIndex kSourceOrder;
/// The first form of every value is its own shape.
constexpr FormIndex kOwnForm;

/// One order for every op of a problem.
using ChosenOrders = Indexed<NodeIndex, OrderIndex>;

/// What the target says about loop orders.
struct TargetOrders {
  MoveCosts moves;
  size_t most_axes = 6;
  /// What running the node in this order costs beyond its cheapest kernel; null for nothing.
  Cost (*node_cost)(const Node& node, const LoopOrder& order, const MoveCosts& moves) = nullptr;
};

/// A root: what an op computed, or a graph input. A form of it is the relayout from its own shape
/// to the shape in which it is held. Two forms with the same movement are the same bytes.
struct PlacedValue {
  Value* root = nullptr;
  std::optional<NodeIndex> producer = {};  // none for a graph input
  struct Reader {
    std::optional<NodeIndex> node;  // none for a graph output
    size_t operand;                 // its number, or the number of the output
    Relayout from_root;
  };
  std::vector<Reader> readers = {};
  Indexed<FormIndex, Relayout> forms = {};

  /// Calls `visit` with the producer and with each reader; with one that reads twice, twice.
  template <typename Visit>
  void for_each_node(Visit visit) const {
    if (producer) visit(*producer);
    for (const Reader& reader : readers)
      if (reader.node) visit(*reader.node);
  }
};

/// What a node reads at an operand.
struct PlacedOperand {
  ValueIndex value;
  size_t reader;  // which of the value's readers this operand is
};

/// An op with its candidates; the first is the order of the source. Or a state: what one run writes
/// is what the next reads, in whatever order the memory has, so it is an op that gives its operand.
struct PlacedNode {
  Node* node = nullptr;                // null for a state
  std::optional<size_t> state = {};    // the graph's output that is written to it
  std::optional<Relayout> moved = {};  // a state that was moved before: from the model's order
  Indexed<OrderIndex, LoopOrder> orders = {};
  Indexed<OrderIndex, Cost> costs = {};
  ValueIndex result = {};
  std::vector<std::optional<PlacedOperand>> operands = {};  // none for constants
  Indexed<OrderIndex, FormIndex> writes = {};               // the form of the result
  /// For each order and operand, the form of the root; none for constants.
  Indexed<OrderIndex, std::vector<std::optional<FormIndex>>> reads = {};
  bool complete = false;  // the orders are all that there are (layout/all_orders.h)

  bool has_choice() const { return orders.size() > 1; }
  /// Calls `visit` with the value of each operand that is not constant, then with the result.
  template <typename Visit>
  void for_each_value(Visit visit) const {
    for (const auto& operand : operands)
      if (operand) visit(operand->value);
    visit(result);
  }
};

struct PlacementProblem {
  Indexed<NodeIndex, PlacedNode> nodes;
  Indexed<ValueIndex, PlacedValue> values;
  /// A root, and the form in which it leaves the graph.
  struct Output {
    ValueIndex value;
    FormIndex form;
  };
  /// For each output of the graph; none for constants and states.
  std::vector<std::optional<Output>> outputs;

  /// The source graph's relayout from the root to what the node reads.
  const Relayout& from_root(const PlacedOperand& operand) const {
    return values[operand.value].readers[operand.reader].from_root;
  }
};

}  // namespace layline

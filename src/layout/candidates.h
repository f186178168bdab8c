// The placement problem of a graph: which loop orders each op may take, and which forms of which
// values they read and write (docs/placement.md).
//
// Relayouts of the source graph are not ops here. A value that they lead to is its root in another
// form, so "which relayouts can go?" becomes "which form does each op read and write?".
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "layout/cost.h"
#include "layout/limits.h"
#include "layout/loop_order.h"

namespace layline {

/// What the target says about loop orders.
struct TargetOrders {
  MoveCosts moves;
  size_t most_axes = 6;
  /// What running the node in this order costs beyond its cheapest kernel; null for nothing.
  Cost (*node_cost)(const Node& node, const LoopOrder& order, const MoveCosts& moves) = nullptr;
};

/// A form of a value: the relayout from the value's own shape to the shape in which it is held.
/// Two forms with the same movement are the same bytes.
struct PlacedValue {
  Value* root = nullptr;
  int producer = -1;  // index of the node that computes it; -1 for a graph input
  struct Reader {
    int node;     // index, or -1 for a graph output
    int operand;  // or the index of the output
    Relayout from_root;
  };
  std::vector<Reader> readers;
  std::vector<Relayout> forms;
};

/// An op with its candidates; the first is the order of the source. Or a state: what one run writes
/// is what the next reads, in whatever order the memory has, so it is an op that gives its operand.
struct PlacedNode {
  Node* node = nullptr;              // null for a state
  std::optional<size_t> state = {};  // the graph's output that is written to it
  std::vector<LoopOrder> orders;
  std::vector<Cost> costs;
  int result = -1;            // index of the value
  std::vector<int> operands;  // indices of the roots; -1 for constants
  std::vector<int> readers;   // for each operand, its place among the root's readers
  std::vector<int> writes;    // for each order, the form of the result
  std::vector<std::vector<int>>
      reads;              // for each order and operand, the form of the root; -1: constant
  bool complete = false;  // the orders are all that there are (layout/all_orders.h)
};

struct PlacementProblem {
  std::vector<PlacedNode> nodes;
  std::vector<PlacedValue> values;
  /// For each graph output, its root and the form in which it leaves.
  struct Output {
    int value;
    int form;
  };
  std::vector<Output> outputs;
};

/// Candidates spread from op to op: whatever form one neighbour reads or writes, the others are
/// offered too. Bounded in number for each op, so linear in the graph. What is missing of all
/// orders can be added, op by op.
class Candidates {
 public:
  /// What is given must live as long.
  Candidates(const Graph& graph, const TargetOrders& target, const PlacementLimits& limits);
  ~Candidates();
  /// The graph as it stands: every op in the order that it has, and in no other.
  static PlacementProblem source(const Graph& graph, const TargetOrders& target);

  const PlacementProblem& problem() const;
  /// Adds all further orders of an op. False if they are too many, and then none is added.
  bool complete(int node);
  PlacementProblem take();

 private:
  class Finder;
  std::unique_ptr<Finder> finder_;
};

}  // namespace layline

// What is left to choose in a placement problem: which orders of each op are of interest, and what
// each value costs in the orders that are chosen.
#pragma once

#include <optional>
#include <vector>

#include "layout/placement_problem.h"
#include "layout/solve/conversions.h"

namespace layline {

/// The ops with a choice on which the cost of one value depends.
struct Ports {
  std::optional<NodeIndex> writer;  // the producer, if it has a choice
  FormIndex written = kOwnForm;     // otherwise the form that is written
  std::vector<NodeIndex> readers;   // distinct
  std::vector<FormIndex> fixed;     // forms that are read whatever is chosen

  /// The writer or a reader; none if the value costs the same whatever is chosen.
  std::optional<NodeIndex> any() const {
    if (writer || readers.empty()) return writer;
    return readers[0];
  }
};

/// Ops with a choice that are connected by values, and these values.
struct Region {
  std::vector<NodeIndex> nodes;
  std::vector<ValueIndex> values;
};

class Choices {
 public:
  Choices(const PlacementProblem& problem, const MoveCosts& moves);

  const PlacementProblem& problem() const { return problem_; }
  const PlacedNode& node(NodeIndex index) const { return problem_.nodes[index]; }
  const Cost& node_cost(NodeIndex index, OrderIndex order) const {
    return node(index).costs[order];
  }

  /// The orders of an op that are still of interest; an empty list stands for all of them.
  std::vector<OrderIndex>& left(NodeIndex node) { return left_[node]; }
  size_t left_count(NodeIndex node) const;
  /// The order at a place among those that are left.
  OrderIndex left_at(NodeIndex node, size_t place) const;

  /// Works out the ports of a value. They are those in the whole graph; with `inside`, only those
  /// at the ops of a part and at ops that can do nothing else anyway.
  Ports& look_at(ValueIndex value, const Indexed<NodeIndex, bool>* inside = nullptr);
  const Ports& ports(ValueIndex value) const { return ports_[value]; }
  /// Whether the op is in the part, or has one order whatever the part is.
  bool is_known(NodeIndex node, const Indexed<NodeIndex, bool>& inside) const;

  /// The form that is written: that of the writer's order, if there is a writer.
  FormIndex written(const Ports& ports, OrderIndex order) const;
  /// Adds the forms of a value that an op reads in one of its orders.
  void add_reads(NodeIndex node, OrderIndex order, ValueIndex value,
                 std::vector<FormIndex>& forms) const;
  Conversions& conversions(ValueIndex value) { return conversions_[value]; }

  Cost cost_of_value(ValueIndex value, const ChosenOrders& chosen);
  Cost cost_in(const Region& region, const ChosenOrders& chosen);

 private:
  const PlacementProblem& problem_;
  Indexed<NodeIndex, std::vector<OrderIndex>> left_;
  Indexed<ValueIndex, Ports> ports_;
  Indexed<ValueIndex, Conversions> conversions_;
};

}  // namespace layline

// What is left to choose in a placement problem: which orders of each op are of interest, and what
// each value costs in the orders that are chosen.
#pragma once

#include <vector>

#include "layout/candidates.h"
#include "layout/conversions.h"

namespace layline {

/// The ops that have a choice and that the cost of one value depends on.
struct Ports {
  int writer = -1;           // the producer, if it has a choice
  int written = 0;           // otherwise the form it writes
  std::vector<int> readers;  // distinct
  std::vector<int> fixed;    // forms that are read whatever is chosen

  int any() const { return writer >= 0 ? writer : readers.empty() ? -1 : readers[0]; }
};

/// A connected part of the graph in which there is a choice.
struct Region {
  std::vector<int> nodes;
  std::vector<int> values;
};

class Choices {
 public:
  Choices(const PlacementProblem& problem, const MoveCosts& moves);

  const PlacementProblem& problem() const { return problem_; }
  const PlacedNode& node(int index) const { return problem_.nodes[static_cast<size_t>(index)]; }
  const Cost& node_cost(int index, int order) const {
    return node(index).costs[static_cast<size_t>(order)];
  }
  bool has_choice(int index) const { return node(index).orders.size() > 1; }

  /// The orders of an op that are still of interest, and which they are: all, unless fewer are
  /// `left`.
  int orders(int node) const;
  int order_at(int node, int place) const;
  std::vector<int>& left(int node) { return left_[static_cast<size_t>(node)]; }

  /// Looks at the whole graph at this value; or, with `inside`, only at the ops of a part of it and
  /// at ops that can do nothing else anyway.
  Ports& look_at(int value, const std::vector<bool>* inside = nullptr);
  const Ports& ports(int value) const { return ports_[static_cast<size_t>(value)]; }
  bool is_known(int node, const std::vector<bool>& inside) const;

  /// The form that is written: by the producer's order, if it has a choice.
  int written(const Ports& ports, int order) const;
  /// Adds the forms of a value that an op reads in one of its orders.
  void add_reads(int node, int order, int value, std::vector<int>& forms) const;
  Conversions& conversions(int value) { return conversions_[static_cast<size_t>(value)]; }

  Cost cost_of_value(int value, const std::vector<int>& order);
  Cost cost_in(const Region& region, const std::vector<int>& order);

 private:
  const PlacementProblem& problem_;
  std::vector<std::vector<int>> left_;
  std::vector<Ports> ports_;  // of each value
  std::vector<Conversions> conversions_;
};

}  // namespace layline

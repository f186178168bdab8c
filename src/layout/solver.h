// The cheapest choice among the candidates of a placement problem, and bounds for parts of it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "layout/candidates.h"

namespace layline {

/// One order for every op.
struct Choice {
  std::vector<int> order;
  Cost cost;
  Cost before;                // of the orders in the source
  size_t regions = 0;         // connected parts in which there is a choice
  size_t largest_region = 0;  // ops
};

/// What a part of the graph costs, whatever the ops outside do: `least` over all choices of those
/// inside, and what a given choice costs there.
struct PartialCost {
  Cost least;
  Cost chosen;
  std::vector<std::pair<int, int>> cheapest;  // ops and their orders, if anything is cheaper
  bool decided = true;                        // whether anything is
  size_t work = 0;
  bool reached() const { return least.price() == chosen.price(); }
};

class Solver {
 public:
  /// What is given must live as long.
  Solver(const PlacementProblem& problem, const MoveCosts& moves, const PlacementLimits& limits);
  ~Solver();

  Choice cheapest();
  /// The ops that cost something in these orders, and those at values that do.
  std::vector<int> paying(const std::vector<int>& order);
  /// Of the part of the graph that is made of these ops. Their candidates must be complete for the
  /// bound to hold for all orders; values that other ops write cost nothing.
  /// Nothing is known of it, and `least` is 0, if that would take more than `most_work`.
  PartialCost part(const std::vector<int>& nodes, const std::vector<int>& order, size_t most_work);
  /// What these ops and all values at them cost.
  Cost around(const std::vector<int>& nodes, const std::vector<int>& order);
  /// What an op and the value that it writes cost.
  Cost producing(int node, const std::vector<int>& order);
  Cost total(const std::vector<int>& order);
  /// What values cost that no op reads or writes.
  Cost apart();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace layline

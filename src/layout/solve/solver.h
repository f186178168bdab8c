// The cheapest choice among the candidates of a placement problem, and bounds for parts of it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "layout/limits.h"
#include "layout/placement_problem.h"

namespace layline {

/// One order for every op.
struct Choice {
  ChosenOrders order;
  Cost cost;
  Cost before;                // what the orders of the source cost
  size_t regions = 0;         // in the whole graph
  size_t largest_region = 0;  // its ops
};

/// What a part of the graph costs, whatever the ops outside do.
struct PartialCost {
  Cost least;   // no orders of the ops inside cost less
  Cost chosen;  // what the given choice costs inside
  /// The cheapest orders that were found for the ops inside; empty where nothing can be cheaper
  /// than the given choice.
  std::vector<std::pair<NodeIndex, OrderIndex>> cheapest;
  bool decided = true;   // it is known whether anything is cheaper
  bool guessed = false;  // `least` was not worked out as far as it can be
  size_t work = 0;       // entries of tables that were looked at
  /// Nothing is cheaper than the given choice.
  bool reached() const { return least.price() == chosen.price(); }
};

/// How far a part is looked into. A part that is too small to prove anything should cost little:
/// its bound is of no use once the part has grown.
enum class Effort { until_cheaper, until_bounded };

/// Examples are of conv -> relu -> linear, with relayouts from NHWC to NCHW and flat between them
/// (docs/placement.md, "Worked example").
class Solver {
 public:
  /// The problem may get further orders and forms, but no further nodes or values. What is given
  /// must live as long.
  Solver(const PlacementProblem& problem, const MoveCosts& moves, const PlacementLimits& limits);
  ~Solver();

  /// The cheapest choice among the orders that the problem has now, region by region. It costs no
  /// more than the orders of the source. No other choice among these orders is cheaper where
  /// elimination is exact.
  ///
  ///   Relu and linear are one region: both take the order that reads NHWC, and the cost is 0.
  Choice cheapest();

  /// The ops that cost something in a choice, and those at values that do, in the sequence of the
  /// problem. Views and reordered ops cost nothing here.
  ///
  ///   In the source orders: conv and relu, because the value between them is permuted to NCHW.
  std::vector<NodeIndex> paying(const ChosenOrders& order);

  /// What a part costs: `nodes`, which are distinct and at least one, and the values at them, but
  /// for values that are written outside by ops with a choice. `least` holds for all orders if the
  /// nodes are complete, and otherwise for their candidates. Gives up after `most_work` entries of
  /// tables: the part is then undecided, and `least` is lower. 0 is always valid. The effort may
  /// end as soon as something cheaper than the given choice is found.
  ///
  ///   The part {conv, relu} in the source orders: `chosen` is a permute, and `least` is 0, with
  ///   relu in NHWC, because linear is outside and may read anything.
  PartialCost part(const std::vector<NodeIndex>& nodes, const ChosenOrders& order, size_t most_work,
                   Effort effort);

  /// What these ops and all values at them cost in a choice. A change of orders of `nodes` changes
  /// the total by as much as it changes this.
  Cost around(const std::vector<NodeIndex>& nodes, const ChosenOrders& order);

  /// What an op and the value that it writes cost in a choice.
  ///
  ///   For conv in the source orders: nothing for the op, and a permute for its result.
  Cost producing(NodeIndex node, const ChosenOrders& order);

  /// What all ops and all values cost in a choice.
  ///
  ///   total(cheapest().order) == cheapest().cost
  Cost total(const ChosenOrders& order);

  /// What values cost that no op reads or writes, whatever is chosen.
  ///
  ///   A graph input that is an output too, in another form: the permute between the two.
  Cost apart();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace layline

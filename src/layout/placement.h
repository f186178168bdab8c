// Placement: one loop order for every op, so that the conversions between what is written and what
// is read cost the least over the whole graph, with a proof (docs/placement.md). README.md, in this
// folder, explains the words and says in which sequence the files are best read.
#pragma once

#include <functional>

#include "ir/graph.h"
#include "layout/limits.h"
#include "layout/placement_problem.h"

namespace layline {

/// What is known about a placement: no choice of loop orders costs less than `bound`, so it is
/// optimal if it reaches it (docs/placement.md, "The certificate").
struct Certificate {
  Cost cost;
  Cost bound;
  Cost before;  // what the moves would cost if placement had changed nothing
  /// What they cost when all later passes have run: nothing is proved of the rest. Found with
  /// PipelineOptions::explain only.
  Cost written;
  size_t ops = 0;
  size_t candidates = 0;      // orders, over all ops
  size_t regions = 0;         // groups of connected ops that have a choice
  size_t largest_region = 0;  // ops
  size_t absorbed = 0;        // relayouts that went into constant weights
  /// The certificate of both placements, if this one came after `earlier` on the same graph: what
  /// both saved, what both absorbed, and the larger search. The graph may have changed in between,
  /// so what the earlier one began with is no measure for this one.
  Certificate after(const Certificate& earlier) const;
  /// No choice of loop orders takes less time by the profile, or as much time with fewer permutes.
  /// Views and reordered ops only break ties.
  bool optimal() const { return cost.price() == bound.price(); }
  /// Whether no later pass added or took away anything that moves data.
  bool covers_program() const { return written.price() == cost.price(); }
};

struct Placement {
  PlacementProblem problem;
  ChosenOrders order;
  Certificate certificate;
};

/// An order for every op of a problem, from which the search of parts starts in place of the
/// cheapest choice that was found: from a bad choice it must come to the same end.
using StartAt = std::function<ChosenOrders(const PlacementProblem&)>;

/// Without a proof, the choice is the cheapest among the candidates, and the bound is what values
/// cost that no op reads or writes.
Placement place(const Graph& graph, const TargetOrders& target, bool prove,
                const PlacementLimits& limits = {}, const StartAt& start = {});

/// What the moves of a graph cost as it stands.
Cost standing_cost(const Graph& graph, const TargetOrders& target);

/// Rewrites the graph so that every op runs in its chosen order, with relayouts where forms differ.
/// Returns false, and leaves the graph as it is, if every op keeps the order of the source.
bool apply_placement(Graph& graph, const Placement& placement);

}  // namespace layline

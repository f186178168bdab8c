// Which loop orders each op of a graph may take: finds the placement problem (placement_problem.h).
#pragma once

#include <memory>

#include "layout/limits.h"
#include "layout/placement_problem.h"

namespace layline {

/// Candidates spread from op to op: whatever form one neighbour reads or writes, the others are
/// offered too. Their number is bounded for each op, so the search is linear in the graph. The
/// orders that are missing can be added, op by op.
class Candidates {
 public:
  /// What is given must live as long.
  Candidates(const Graph& graph, const TargetOrders& target, const PlacementLimits& limits);
  ~Candidates();
  /// The graph as it stands: every op in the order that it has, and in no other.
  static PlacementProblem source(const Graph& graph, const TargetOrders& target);

  const PlacementProblem& problem() const;
  /// Adds all further orders of an op. Returns false, and adds none, if they are too many.
  bool complete(NodeIndex node);
  PlacementProblem take();

 private:
  class Finder;
  std::unique_ptr<Finder> finder_;
};

}  // namespace layline

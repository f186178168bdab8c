// The digits that a graph tells apart: what its relayouts move as one, and what its ops treat
// alike, need never be taken apart (docs/placement.md, "All orders").
#pragma once

#include <optional>
#include <vector>

#include "layout/candidates.h"

namespace layline {

/// A factorisation of a value's positions, outermost first, none of size 1.
struct ValueDigits {
  Dims size;
  /// False where the graph cuts the value in ways that have no common refinement: 6 as 2*3 and as
  /// 3*2.
  bool complete = true;
};

/// For each value of the problem, the coarsest digits such that every relayout of the graph moves
/// whole digits, and every op does the same to all of a digit, whichever of its tensors has it.
std::vector<ValueDigits> find_digits(const PlacementProblem& problem);

/// The digits of a relayout's source as its target has them; those that the relayout cuts are cut.
/// Nullopt where they cannot be.
std::optional<Dims> moved_digits(const Dims& digits, const Relayout& relayout);

}  // namespace layline

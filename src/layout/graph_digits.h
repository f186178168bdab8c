// The digits that a graph tells apart: what its relayouts move as one, and what its ops treat
// alike, need never be taken apart (docs/placement.md, "All orders").
#pragma once

#include <optional>
#include <vector>

#include "layout/placement_problem.h"

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
Indexed<ValueIndex, ValueDigits> find_digits(const PlacementProblem& problem);

/// The digits of a relayout's source in the sequence that its target has. Digits that the relayout
/// cuts are cut. Nullopt where they cannot be cut there.
///
///   moved_digits((24), [6,4] (6,4)->(1,0) [4,6])  ==  (4,6)
std::optional<Dims> moved_digits(const Dims& digits, const Relayout& relayout);

}  // namespace layline

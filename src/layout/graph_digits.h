// The digits that a graph tells apart: what its relayouts move as one, and what its ops treat
// alike, need never be taken apart (docs/placement.md, "All orders").
#pragma once

#include <vector>

#include "layout/placement_problem.h"

namespace layline {

/// Where the positions of a tensor are cut: the sizes of what lies inside each cut, without 1 and
/// the whole. Not every two cuts divide each other: 6 may be cut at 3, as 2*3, and at 2, as 3*2.
///
///   [2,3,4] with all its dims told apart: 4 and 12
using Cuts = Dims;

struct ValueCuts {
  Cuts cuts;
  bool complete = true;  // false where there are too many to be told apart
};

/// For each value of the problem, the fewest cuts such that every relayout of the graph moves whole
/// digits, and every op does the same to all of a digit, whichever of its tensors has it.
Indexed<ValueIndex, ValueCuts> find_cuts(const PlacementProblem& problem);

/// Where the cuts of a relayout's source are in its target. A cut that lies across the relayout's
/// own has no place there.
///
///   moved_cuts((2), [6,4] (6,4)->(1,0) [4,6])  ==  (6, 12)
///   moved_cuts((3), [6] (3,2)->(1,0) [6])      ==  (3): the relayout's own; the other cut has gone
Cuts moved_cuts(const Cuts& cuts, const Relayout& relayout);

/// The factorisations, outermost first, of `count` positions that have as many of the cuts as go
/// together.
///
///   digits_between((2, 4), 24)  ==  (6,2,2)
///   digits_between((2, 3), 6)   ==  (3,2) and (2,3)
std::vector<Dims> digits_between(const Cuts& cuts, Dim count);

}  // namespace layline

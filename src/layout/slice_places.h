// Where else the axis of a slice could stand.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace layline {

/// Relayouts of a slice's operand that take a sliced axis to its neighbours in the root, from which
/// `from_root` leads to the operand. A permute that takes q, k and v before the heads leaves more
/// pieces apart than one that keeps them beside the heads; the slices are the same, and no form of
/// a neighbouring op shows that place.
std::vector<Relayout> slice_places(const Node& slice, const Relayout& from_root);

}  // namespace layline

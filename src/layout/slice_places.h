// Where else the axis of a slice could stand.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace layline {

/// Relayouts of a slice's operand that take a sliced axis to the neighbours that it has in the
/// root. `from_root` leads from the root to the operand. A permute that takes q, k and v before the
/// heads leaves more pieces apart than one that keeps them beside the heads. The slices are the
/// same, and no form of a neighbouring op shows that place.
std::vector<Relayout> slice_places(const Node& slice, const Relayout& from_root);

}  // namespace layline

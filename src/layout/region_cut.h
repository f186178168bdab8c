// A region of a placement problem as a minimum cut (layout/min_cut.h).
#pragma once

#include <optional>

#include "layout/choices.h"
#include "layout/elimination.h"

namespace layline {

/// Puts the cheapest orders of the region's ops into `order`. Nullopt if an op of the region has
/// more than two orders, a value more than two forms of different bytes, or the cut cannot express
/// their costs.
std::optional<Minimum> minimum_by_cut(Choices& choices, const Region& region,
                                      std::vector<int>& order);

}  // namespace layline

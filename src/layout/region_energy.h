// A region of a placement problem as a sum of tables (layout/elimination.h).
#pragma once

#include <limits>
#include <optional>

#include "layout/elimination.h"
#include "layout/narrow.h"

namespace layline {

/// The variables of the region's ops come first, in their order. Sets of copies of one value are
/// told apart up to `most_sets`, and only those that cost no more than is `most_paid`. Nullopt if
/// the tables would have more than `most_entries` together.
std::optional<Energy> energy_of(Choices& choices, const Region& region, size_t most_sets,
                                const MostPaid& most_paid = {},
                                size_t most_entries = std::numeric_limits<size_t>::max());

}  // namespace layline

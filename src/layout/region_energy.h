// A region of a placement problem as a sum of tables (layout/elimination.h).
#pragma once

#include <optional>

#include "layout/elimination.h"
#include "layout/limits.h"
#include "layout/narrow.h"

namespace layline {

/// The variables of the region's ops come first, in their order. Sets of copies of one value are
/// told apart up to a limit, and only those that can be part of something that costs no more
/// than is `most_paid`. Takes the entries of all tables that are worked out from `room`; nullopt if
/// it does not suffice.
std::optional<Energy> energy_of(Choices& choices, const Region& region,
                                const PlacementLimits& limits, const MostPaid& most_paid,
                                size_t& room);

}  // namespace layline

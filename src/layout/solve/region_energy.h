// The cost of a region as a sum of tables (layout/solve/elimination.h).
#pragma once

#include <optional>

#include "layout/limits.h"
#include "layout/solve/elimination.h"
#include "layout/solve/narrow.h"

namespace layline {

/// The energy of a region: a choice costs what the orders cost that it stands for. The variables of
/// the region's ops come first, in the sequence of the ops; the choices of each are the orders that
/// are left. Then come variables for kept sets. Sets of copies of one value are told apart up to a
/// limit, and only those that can be part of something that costs no more than is `most_paid`.
///
/// Takes the entries of all tables that are worked out from `room`. Nullopt if they are more.
std::optional<Energy> energy_of(Choices& choices, const Region& region,
                                const PlacementLimits& limits, const MostPaid& most_paid,
                                size_t& room);

}  // namespace layline

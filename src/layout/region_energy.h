// A region of a placement problem as a sum of tables (layout/elimination.h).
#pragma once

#include <optional>

#include "layout/elimination.h"
#include "layout/narrow.h"

namespace layline {

/// The variables of the region's ops come first, in their order. Sets of copies of one value are
/// told apart up to `most_sets`, and only those that can be part of something that costs no more
/// than is `most_paid`. Takes the entries of all tables that are worked out from `room`; nullopt if
/// it does not suffice.
std::optional<Energy> energy_of(Choices& choices, const Region& region, size_t most_sets,
                                const MostPaid& most_paid, size_t& room);

}  // namespace layline

// A region of a placement problem as a sum of tables (layout/elimination.h).
#pragma once

#include "layout/elimination.h"
#include "layout/narrow.h"

namespace layline {

/// The variables of the region's ops come first, in their order. Sets of copies of one value are
/// told apart up to `most_sets`, and only those that cost no more than is `most_paid`.
Energy energy_of(Choices& choices, const Region& region, size_t most_sets,
                 const MostPaid& most_paid = {});

}  // namespace layline

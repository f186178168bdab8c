// Fewer orders to choose from, where something cheaper than a known choice is looked for.
#pragma once

#include <optional>
#include <unordered_map>

#include "layout/solve/choices.h"

namespace layline {

/// For a value, what it costs at most in anything cheaper than a limit.
using MostPaid = std::unordered_map<ValueIndex, Cost>;

struct Narrowed {
  MostPaid most_paid;
  Cost least;                                 // what all ops and values cost at least
  std::vector<std::vector<OrderIndex>> left;  // for each op of the region
};

/// Removes orders of the region's ops from those that are left: those that cannot be part of
/// something cheaper than `limit`. Nullopt if an op has none left: nothing is cheaper.
std::optional<Narrowed> narrow(Choices& choices, const Region& region, Cost limit);

}  // namespace layline

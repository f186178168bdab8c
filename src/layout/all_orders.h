// Every loop order of an op over given digits: what the certificate of a placement speaks of.
#pragma once

#include <optional>
#include <vector>

#include "layout/crossings.h"
#include "layout/limits.h"
#include "layout/loop_order.h"

namespace layline {

/// The digits of each port, operands first and the result last; constants have none.
using PortDigits = std::vector<Dims>;

/// All orders of the node in which every port moves whole digits, beside those that are `known`.
/// Nullopt if they are too many, or have too many digits to be tried.
std::optional<std::vector<LoopOrder>> all_orders(const Node& node, const PortDigits& digits,
                                                 const std::vector<LoopOrder>& known,
                                                 const PlacementLimits& limits,
                                                 Crossings& crossings);

}  // namespace layline

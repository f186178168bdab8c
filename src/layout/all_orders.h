// Every loop order of an op over given digits. The certificate of a placement speaks of these.
#pragma once

#include <optional>
#include <vector>

#include "layout/crossings.h"
#include "layout/limits.h"
#include "layout/loop_order.h"

namespace layline {

/// The digits of each port, operands first and the result last; constants have none.
using PortDigits = std::vector<Dims>;

/// All orders of the node in which every port moves whole digits, without those that are `known`.
/// Nullopt if there are too many of them, or too many digits at a port to try all sequences.
///
///   neg of [2,3,5] with the digits 2, 3 and 5: five orders beside that of the source
std::optional<std::vector<LoopOrder>> all_orders(const Node& node, const PortDigits& digits,
                                                 const std::vector<LoopOrder>& known,
                                                 const PlacementLimits& limits,
                                                 Crossings& crossings);

}  // namespace layline

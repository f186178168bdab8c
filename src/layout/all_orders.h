// Every loop order of an op over given digits. The certificate of a placement speaks of these.
#pragma once

#include <optional>
#include <vector>

#include "layout/crossings.h"
#include "layout/limits.h"
#include "layout/loop_order.h"

namespace layline {

/// The digits of each port, operands first and the result last; constants have none. A port that is
/// cut in ways that do not go together has several factorisations.
using PortDigits = std::vector<std::vector<Dims>>;

/// All relayouts of a tensor that move whole digits of one of its factorisations; each movement
/// once. Nullopt if there are too many of them.
///
///   [2,3] with the digits 2 and 3: itself, and (2,3)->(1,0)
std::optional<std::vector<Relayout>> all_movements(const Shape& shape,
                                                   const std::vector<Dims>& digits,
                                                   const PlacementLimits& limits);

/// All orders of the node in which every port moves whole digits, without those that are `known`.
/// Nullopt if there are too many of them, or too many digits at a port to try all sequences.
///
///   neg of [2,3,5] with the digits 2, 3 and 5: five orders beside that of the source
std::optional<std::vector<LoopOrder>> all_orders(const Node& node, const PortDigits& digits,
                                                 const std::vector<LoopOrder>& known,
                                                 const PlacementLimits& limits,
                                                 Crossings& crossings);

}  // namespace layline

// Chooses the node at which each reason is told.
#pragma once

#include <vector>

#include "report/picture.h"

namespace layline {

/// For each node of the picture, the reasons that are told there: those about its value. A value
/// may not be drawn, because a pass made it or took it away. A reason about it is told at the first
/// node that comes from the same node of the model. So each reason is told at most once, however
/// many nodes have one origin.
std::vector<std::vector<const Reason*>> reasons_at(const Picture& picture,
                                                   const std::vector<Reason>& reasons);

}  // namespace layline

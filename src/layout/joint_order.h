// Orders in which two ports of an op are moved for different reasons: a contraction's input
// channels as one neighbour has them and its output channels as another does; the rows of a slice
// and the axis that it takes away.
#pragma once

#include <vector>

#include "layout/loop_order.h"

namespace layline {

/// Whether some tensor of the node lacks loops that another has, so that moving one port leaves the
/// others a choice.
bool has_free_ports(const Node& node);

/// The orders in which a port is moved by `relayout` and that otherwise are like `order`, as far as
/// that is possible. They obey the law of LoopOrder.
std::vector<LoopOrder> cross_from(const Node& node, const LoopOrder& order, int port,
                                  const Relayout& relayout);

}  // namespace layline

// Orders in which two ports of an op are moved for different reasons: a contraction's input
// channels as one neighbour has them and its output channels as another does; the rows of a slice
// and the axis that it takes away.
#pragma once

#include <vector>

#include "layout/loop_order.h"

namespace layline {

/// Whether some tensor of the node lacks loops that another has. Then moving one port leaves the
/// others a choice.
///
///   True for linear (the input lacks the output channels), false for relu.
bool has_free_ports(const Node& node);

/// The orders in which a port is moved by `relayout`, and the other ports as in `order`, as far as
/// that is possible.
///
/// Before: `order` is an order of the node, and the relayout's source is the port's shape.
/// After: every order obeys the law of LoopOrder, and at(port) moves like `relayout`.
///
///   A linear whose input channels are permuted in `order`; the result's channels are moved too:
///   both the columns and the rows of the weight are permuted.
///
/// `symbols` are those of the node's graph.
std::vector<LoopOrder> cross_from(const Node& node, const LoopOrder& order, int port,
                                  const Relayout& relayout, const SymbolTable& symbols);

}  // namespace layline

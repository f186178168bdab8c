// The sizes of a graph's boundary that are known only when it runs.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace layline {

/// The shape that a boundary tensor has in the model: dim dim_order[i] of it is stored at place i.
Shape logical_shape(const Shape& stored, const std::vector<int>& dim_order);

/// Throws UserError, naming the input, the axis and the remedy, if a size has no upper bound:
/// memory is planned for the largest sizes.
void check_bounded(const Graph& graph);

/// Throws UserError, naming the value, if a size does not fit the 31 bits that a .pte has for it,
/// or if all values of the graph together take 2^63 bytes.
void check_representable(const Graph& graph);

/// Throws UserError, naming the input or the node, if any size of the graph is dynamic.
void check_static(const Graph& graph);

}  // namespace layline

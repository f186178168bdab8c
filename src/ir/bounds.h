// The sizes of a graph's boundary that are known only when it runs.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace layline {

/// The shape that a boundary tensor has in the model: dim dim_order[i] of it is stored at place i.
Shape logical_shape(const Shape& stored, const std::vector<int>& dim_order);

/// Memory is planned for the largest sizes, so each must have an upper bound: UserError that names
/// the input, the axis and the remedy.
void check_bounded(const Graph& graph);

/// A .pte stores sizes in 31 bits, and all that a graph computes must have its place in 63:
/// UserError that names the value.
void check_representable(const Graph& graph);

/// UserError that names the input if any size of the graph is dynamic.
void check_static(const Graph& graph);

}  // namespace layline

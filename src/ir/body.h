// Graphs inside of ops: see ScanAttrs.
#pragma once

#include "ir/graph.h"

namespace layline {

/// The same graph again, with the same names.
Graph copy_of(const Graph& graph);

/// Whether both have the same boundary and the same nodes in the same order.
bool is_same(const Graph& a, const Graph& b);

/// Whether the body hands this input from step to step.
bool is_carried(const Graph& body, size_t input);

/// Refuses a graph that no scan can run: one with states, fixed or reordered inputs and outputs, or
/// dynamic sizes.
void check_body(const Graph& body);

}  // namespace layline

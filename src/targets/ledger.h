// What every target tells about its programs: the boundary, and the data they move.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "report/report.h"

namespace layline {

BoundaryTensor describe_boundary(const Graph& graph, const std::string& name, const Value* value,
                                 const std::vector<int>& dim_order);

/// Counts what a node of the final graph moves, dynamic sizes at their upper bounds. `stored` is
/// the element type in the program.
void count_moves(const Node& node, DType stored, const SymbolTable& symbols, Report& report);

}  // namespace layline

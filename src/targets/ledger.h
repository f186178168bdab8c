// What every target tells about its programs: the boundary, and the data they move.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "report/report.h"

namespace layline {

BoundaryTensor describe_boundary(const std::string& method, const std::string& name,
                                 const Value* value, const std::vector<int>& dim_order);

/// Counts what a node of the final graph moves.
void count_moves(const Node& node, Report& report);

}  // namespace layline

// The boundary of a graph: names under which its inputs and outputs are known outside, and the
// order in which they lie in memory.
#pragma once

#include <vector>

#include "compiler/compile.h"
#include "ir/graph.h"

namespace layline {

/// Makes names unique and safe as file names.
void name_boundary(Graph& graph);

/// Applies the orders that the user asks for to every method that has the name; UserError if none
/// has it, or if the tensor has no such order.
void order_boundary(std::vector<Graph>& graphs, const std::vector<BoundaryOrder>& inputs,
                    const std::vector<BoundaryOrder>& outputs);

}  // namespace layline

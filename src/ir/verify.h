// The invariants of a graph, checked after every pass.
#pragma once

#include "ir/graph.h"

namespace layline {

/// Throws InternalError, naming the node, unless
///  - the nodes form one list, in which every operand is a graph input or an earlier result;
///  - use lists mirror operands, both ways, and output_uses counts the outputs;
///  - every node has its op's kind of attributes and number of operands, and the type that its op
///    infers, over symbols that the graph declares;
///  - value names are unique;
///  - the dim orders of inputs and outputs are permutations.
/// Linear in the size of the graph.
void verify(const Graph& graph);

}  // namespace layline

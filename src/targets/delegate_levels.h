// When delegates run. Nodes that a delegate can run are given levels: those of one level are one
// delegate, and the kernels of a level run after it and before the next.
//
// The law: no partition into convex delegates has fewer of them. On a path through the graph,
// delegated nodes with a kernel between them are in different delegates. So there are at least as
// many delegates as runs of delegated nodes on the richest path. A node's level is the number of
// runs on the richest path that ends in it.
#pragma once

#include <cstdint>
#include <vector>

namespace layline {

/// A graph as the levels see it. Nodes stand in topological order; operands are indices of earlier
/// nodes.
struct DelegateGraph {
  struct Node {
    bool delegated = false;
    bool is_output = false;
    int64_t bytes = 0;  // the size of the result
    std::vector<int> operands = {};
  };
  std::vector<Node> nodes;
};

/// The level of each node: from 1 for delegated nodes, from 0 for kernels, which run after the
/// delegate of their level.
std::vector<int> delegate_levels(const DelegateGraph& graph);

/// Moves nodes to later levels, as far as their users allow, if fewer bytes then cross from
/// delegate to delegate. The number of delegates stays the same.
void sink_nodes(const DelegateGraph& graph, std::vector<int>& levels);

}  // namespace layline

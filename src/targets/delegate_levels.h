// When delegates run. Nodes that a delegate can run are given levels: those of one level are one
// delegate, and the kernels of a level run after it and before the next.
//
// The law: of all partitions into convex delegates this one has the fewest. On a path through the
// graph, delegated nodes with a kernel between them are in different delegates, so there are at
// least as many as there are such runs of delegated nodes on the richest path; a node's level is
// the number of runs on the richest path that ends in it.
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
    int64_t bytes = 0;  // of the result
    std::vector<int> operands = {};
  };
  std::vector<Node> nodes;
};

/// For each node its level: from 1 for delegated nodes, from 0 for kernels, which run after the
/// delegate of their level.
std::vector<int> delegate_levels(const DelegateGraph& graph);

/// The same number of delegates with less data between them: nodes are moved to later levels, as
/// far as their users allow, where fewer bytes cross from delegate to delegate.
void sink_nodes(const DelegateGraph& graph, std::vector<int>& levels);

}  // namespace layline

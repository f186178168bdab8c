// Which nodes run in delegates. Nodes are given levels: a delegate takes all nodes of one level
// that XNNPACK can run, kernels of the runtime run between them. Every level is convex by
// construction, and no order of the same nodes needs fewer levels.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace layline::xnnpack {

/// Nodes in execution order that run as one delegate, or as one kernel call each.
struct Part {
  bool delegated = false;
  std::vector<Node*> nodes;
  std::vector<Value*> inputs;   // read from outside, constants not among them
  std::vector<Value*> outputs;  // read outside
};

struct Partition {
  std::vector<Part> parts;
  struct Refused {
    const Node* node;
    std::string why;
  };
  std::vector<Refused> refused;
};

/// Without `delegate` every node is a kernel call.
Partition partition(const Graph& graph, bool delegate = true);

}  // namespace layline::xnnpack

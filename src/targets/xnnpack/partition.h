// Which nodes run in delegates: all that XNNPACK can run, in the fewest delegates that convexity
// allows (targets/delegate_levels.h), with kernels of the runtime before, between and after them.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace layline::xnnpack {

/// Nodes in execution order that run as one delegate, or as one kernel call each.
struct Part {
  bool delegated = false;
  std::vector<Node*> nodes;
  std::string why = {};              // for a kernel: why it is in no delegate
  std::vector<Value*> inputs = {};   // what it reads from outside, without constants
  std::vector<Value*> outputs = {};  // what is read outside
};

struct Partition {
  std::vector<Part> parts;
};

/// Partitions the graph. Without `delegate` every node is a kernel call.
Partition partition(const Graph& graph, bool delegate = true);

}  // namespace layline::xnnpack

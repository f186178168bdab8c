// XNNPACK's kernels: for each core op, when a node can become XNNPACK nodes, and which.
#pragma once

#include <string>

#include "ir/graph.h"
#include "targets/xnnpack/delegate_builder.h"

namespace layline::xnnpack {

struct Kernel {
  Op op;
  /// Why XNNPACK cannot run this node; empty if it can.
  std::string (*refuse)(const Node& node);
  void (*emit)(DelegateBuilder& delegate, const Node& node);
};

/// Null if XNNPACK has nothing for the op.
const Kernel* find_kernel(Op op);

/// Why XNNPACK cannot run the node; empty if it can.
std::string refusal(const Node& node);

}  // namespace layline::xnnpack

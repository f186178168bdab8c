// XNNPACK's kernels: for each core op, when a node can become XNNPACK nodes, and which.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ir/graph.h"
#include "targets/xnnpack/delegate_builder.h"

namespace layline::xnnpack {

/// XNNPACK's XNN_MAX_TENSOR_DIMS.
constexpr size_t kMostAxes = 6;

/// The windows for which XNNPACK has depthwise kernels, by how many places they have. A smaller
/// window costs as much as the next. A larger one runs as a grouped convolution, of reals or
/// integers.
constexpr std::array<int64_t, 4> kDepthwisePlaces = {3, 4, 9, 25};

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

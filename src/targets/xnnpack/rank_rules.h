// Ops on tensors of more axes than XNNPACK has, and transposes of more axes than it takes, as ops
// of fewer. Each rule gives the value to use instead of the node's result, or null if it does not
// apply.
#pragma once

#include "ir/builder.h"

namespace layline::xnnpack {

constexpr size_t kMostAxes = 6;  // XNN_MAX_TENSOR_DIMS

/// Merges neighbouring axes that the op treats alike.
Value* with_fewer_axes(const Builder& build, const Node& node);
/// A transpose of too many factors as several, each of which moves one block of axes.
Value* transpose_in_steps(const Builder& build, const Node& node);

}  // namespace layline::xnnpack

// Ops on tensors of more axes than kernels take, and transposes of more, as ops of fewer. Each rule
// gives the value to use instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

/// XNNPACK's XNN_MAX_TENSOR_DIMS, and MAX_RANK of TOSA's level 8K.
constexpr size_t kMostAxes = 6;

/// Merges neighbouring axes that the op treats alike.
Value* with_fewer_axes(const Builder& build, const Node& node);
/// A transpose of too many factors as several, each of which moves one block of axes.
Value* transpose_in_steps(const Builder& build, const Node& node);

}  // namespace layline::rewrites

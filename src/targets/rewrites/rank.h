// Ops on tensors of more axes than kernels take, and transposes of more, as ops of fewer. Each rule
// gives the value to use instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

/// Merges neighbouring axes that the op treats alike, in an op with more than `most_axes`.
Value* with_fewer_axes(const Builder& build, const Node& node, size_t most_axes);
/// A transpose of more than `most_axes` factors as several, each of which moves one block of axes.
Value* transpose_in_steps(const Builder& build, const Node& node, size_t most_axes);

}  // namespace layline::rewrites

// Rewrites ops and transposes that have more axes than kernels take, as ops of fewer axes. Each
// rule gives the value to use instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

/// Merges neighbouring axes that the op treats alike, in an op with more than `most_axes`.
Value* with_fewer_axes(const Builder& build, const Node& node, size_t most_axes);
/// Splits a transpose of more than `most_axes` factors into several, each of which moves one block
/// of axes.
Value* transpose_in_steps(const Builder& build, const Node& node, size_t most_axes);

}  // namespace layline::rewrites

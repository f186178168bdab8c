// Contractions, pools and resampling in the forms that TOSA has. Each rule gives the value to use
// instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::tosa {

Value* matmul(const Builder& build, const Node& node);
Value* conv(const Builder& build, const Node& node);
Value* conv_transpose(const Builder& build, const Node& node);
/// Rewrites a transposed convolution as a convolution of the spread operand with the reversed
/// kernel. It is for what TRANSPOSE_CONV2D lacks, such as dilation, depth and depthwise filters.
Value* transposed_as_conv(const Builder& build, const Node& node);
Value* pool(const Builder& build, const Node& node);
Value* resize(const Builder& build, const Node& node);

}  // namespace layline::tosa

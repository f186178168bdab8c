// Rewrites convolutions and pools of one or three spatial axes as those of two. Each rule gives the
// value to use instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

Value* legal_conv(const Builder& build, const Node& node);
Value* legal_conv_transpose(const Builder& build, const Node& node);
/// A transposed convolution as a convolution of the operand, with zeros between its elements, with
/// the reversed kernel. It is for what transposed kernels lack, such as depth.
Value* transposed_as_conv(const Builder& build, const Node& node);
Value* legal_pool(const Builder& build, const Node& node);

}  // namespace layline::rewrites

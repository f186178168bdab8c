// Convolutions. These are channels-first with weights [O, I/g, k...] (transposed: [I, O/g, k...]);
// core convolutions are channels-last with weights [O, k..., I/g].
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// The spatial axes that a weight has, from 1 to 3.
size_t spatial_axes(const Builder& build, const Value* weight);

/// Convolves x, which is [N, C, spatial...] or, without a batch, [C, spatial...]. The bias may be
/// null.
Value* conv(const Builder& build, Value* x, Value* weight, Value* bias, ConvAttrs attrs);
Value* conv_transpose(const Builder& build, Value* x, Value* weight, Value* bias,
                      ConvTransposeAttrs attrs);

/// Sets the padding with which a stride of 1 keeps the lengths. If the total is odd, the extra
/// element is behind.
void pad_to_same_length(const Builder& build, const Value* weight, ConvAttrs& attrs);

}  // namespace layline::ops

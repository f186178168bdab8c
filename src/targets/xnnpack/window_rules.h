// Convolutions and pools of one or three spatial axes as those of two, which XNNPACK has. Each rule
// gives the value to use instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::xnnpack {

/// What XNNPACK computes with. A rule that builds the op it rewrites must ask first, lest the new
/// node be refused for its dtype and rewritten again.
inline bool computes(DType dtype) { return dtype == DType::f32 || dtype == DType::f16; }

Value* legal_conv(const Builder& build, const Node& node);
Value* legal_conv_transpose(const Builder& build, const Node& node);
Value* legal_pool(const Builder& build, const Node& node);

}  // namespace layline::xnnpack

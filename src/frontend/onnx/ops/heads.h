// Heads of attention: an axis of their own, or side by side in the last one.
#pragma once

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// [batch, rows, heads * width] as [batch, heads, rows, width].
Value* with_heads(const Call& call, Value* x, int64_t heads);
/// The inverse.
Value* without_heads(const Call& call, Value* x);

}  // namespace layline::onnx

// How windows of convolutions and pools move: attributes that they have in common.
#pragma once

#include "frontend/onnx/call.h"
#include "frontend/ops/pool.h"

namespace layline::onnx {

/// One entry for each spatial axis.
struct Window {
  Ints kernel, stride, dilation;
  Ints low, high;  // padding
};

/// Reads strides, dilations, pads and auto_pad for an x of [N, C, spatial...].
Window read_window(const Call& call, const Value* x, Ints kernel);
/// Reads these, the kernel and the rounding of a pool.
ops::PoolWindow read_pool_window(const Call& call, const Value* x);

}  // namespace layline::onnx

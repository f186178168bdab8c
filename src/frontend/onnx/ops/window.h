// How windows of convolutions and pools move: attributes that they have in common.
#pragma once

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// One entry for each spatial axis.
struct Window {
  Ints kernel, stride, dilation;
  Ints low, high;  // padding
};

/// Reads strides, dilations, pads and auto_pad for an x of [N, C, spatial...].
Window read_window(const Call& call, const Value* x, Ints kernel);

}  // namespace layline::onnx

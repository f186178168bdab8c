// Convolutions, for all ops that have the attributes of Conv.
#pragma once

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// Convolves x, [N, C, spatial...], as the call's attributes say. The bias may be null.
Value* convolve(const Call& call, Value* x, Value* weight, Value* bias);

}  // namespace layline::onnx

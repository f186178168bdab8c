// Average pools, for ops on floats and on quantised numbers.
#pragma once

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// x pooled as the attributes of the call say.
Value* average_pool(const Call& call, Value* x);

}  // namespace layline::onnx

// Constants of bfloat16 as f32, which holds the same numbers.
#pragma once

#include "ir/constant.h"

namespace layline {

/// The f32 constant of the same numbers. Its bytes are computed when they are written; until then
/// they take no memory.
Constant widened(const Constant& bf16);

}  // namespace layline

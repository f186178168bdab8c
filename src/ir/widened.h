// Constants of bfloat16 as f32, which holds the same numbers, and of f32 as bfloat16.
#pragma once

#include "ir/constant.h"

namespace layline {

/// The f32 constant of the same numbers. Its bytes are computed when they are written; until then
/// they take no memory.
Constant widened(const Constant& bf16);

/// The bfloat16 constant of the nearest numbers, computed likewise.
Constant narrowed(const Constant& f32);

/// Rounds every number to the nearest bfloat16.
void round_to_bfloat(std::span<float> numbers);

}  // namespace layline

// einsum: a product of tensors whose axes have letters, summed over the letters that the result
// lacks.
#pragma once

#include <string_view>
#include <vector>

#include "ir/builder.h"

namespace layline::ops {

/// An equation such as "bij,bjk->bik". Without an arrow, the result has the letters that occur
/// once, in alphabetical order. "..." stands for axes without letters, which broadcast; a letter
/// that an operand has twice is its diagonal.
Value* einsum(const Builder& build, std::string_view equation, const std::vector<Value*>& operands);

}  // namespace layline::ops

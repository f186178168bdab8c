// Orders of tensors at the boundary. A caller may keep them in another order than that of their
// dims.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace layline {

/// The tensor as it lies in memory, from the one in logical shape.
Tensor stored(const Tensor& logical, const std::vector<int>& dim_order);
/// The tensor in logical shape, from the one in memory: stored(logical(x, order), order) is x.
Tensor logical(const Tensor& stored, const std::vector<int>& dim_order);

}  // namespace layline

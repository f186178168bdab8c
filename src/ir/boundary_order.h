// Tensors of the boundary, which a caller may keep in another order than that of their dims.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace layline {

/// A tensor in logical shape, as it lies in memory.
Tensor stored(const Tensor& logical, const std::vector<int>& dim_order);
/// The other way round: stored(logical(x, order), order) is x.
Tensor logical(const Tensor& stored, const std::vector<int>& dim_order);

}  // namespace layline

// NumPy's names of element types.
#pragma once

#include "base/npy.h"
#include "ir/dtype.h"
#include "ir/tensor.h"

namespace layline {

/// NumPy's type for a dtype; bfloat16, which it lacks, is stored as two opaque bytes an element.
NpyType npy_type(DType dtype);
DType dtype_of(NpyType type);

/// The array as what the evaluator computes with.
Tensor tensor_of(NpyArray array);

}  // namespace layline

// Host tensors in `.npy` files.
#pragma once

#include <string>

#include "base/npy.h"
#include "runtime/host_tensor.h"

namespace layline {

/// NumPy's type for a dtype; bfloat16, which it lacks, is stored as two opaque bytes an element.
NpyType npy_type(DType dtype);

/// UserError if the file is no array that layline has a dtype for.
HostTensor read_tensor(const std::string& path);

}  // namespace layline

// A tensor as the user sees it: logical shape, bytes in row-major order over that shape, whatever
// dim order the program wants. This is also what a `.npy` file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/dtype.h"
#include "ir/tensor.h"

namespace layline {

struct HostTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

/// Convert from and to what the evaluator computes with.
HostTensor as_host(const Tensor& tensor);
Tensor as_tensor(HostTensor host);

/// A host tensor whose bytes belong to somebody else.
struct TensorView {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

}  // namespace layline

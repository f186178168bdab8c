// What multiplying costs, where a target has kernels of different speed for it.
#pragma once

#include <cstdint>

namespace layline {

/// Femtoseconds for a multiply-add, in a convolution whose window has several places and in one
/// whose window has one. Zeros where nothing was measured: then nothing is chosen by them.
struct ProductCosts {
  int64_t window_fs = 0;
  int64_t pointwise_fs = 0;
  bool operator==(const ProductCosts&) const = default;
};

}  // namespace layline

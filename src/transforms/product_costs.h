// What multiplying costs, where a target has kernels of different speed for it.
#pragma once

#include <cstdint>

namespace layline {

/// Femtoseconds for a multiply-add. Zeros where nothing was measured: then nothing is chosen by
/// them.
struct ProductCosts {
  int64_t window_fs = 0;               // in a convolution whose window has several places
  int64_t pointwise_fs = 0;            // in one whose window has one
  int64_t depthwise_fs = 0;            // in a depthwise one for which the target has a kernel
  int64_t grouped_fs = 0;              // in a depthwise one whose window has too many places for it
  int64_t integer_depthwise9_fs = 0;   // in a depthwise one of integers with up to 9 places
  int64_t integer_depthwise25_fs = 0;  // and with more
  int64_t convert_fs = 0;              // not for a multiply-add: for quantising a number, or back
  bool operator==(const ProductCosts&) const = default;
};

}  // namespace layline

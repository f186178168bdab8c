// What multiplying costs on a target whose kernels for it differ in speed.
#pragma once

#include <cstdint>

namespace layline {

/// Femtoseconds for a multiply-add. All are 0 if nothing was measured; nothing is then chosen by
/// them.
struct ProductCosts {
  int64_t window_fs = 0;               // in a convolution whose window has several places
  int64_t pointwise_fs = 0;            // in one whose window has one
  int64_t depthwise_fs = 0;            // in a depthwise one for which the target has a kernel
  int64_t grouped_fs = 0;              // in a depthwise one whose window has too many places for it
  int64_t integer_depthwise9_fs = 0;   // in a depthwise one of integers with up to 9 places
  int64_t integer_depthwise25_fs = 0;  // in one of integers with more places
  int64_t convert_fs = 0;              // to quantise or dequantise a number: no multiply-add
  bool operator==(const ProductCosts&) const = default;
};

}  // namespace layline

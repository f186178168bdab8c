// Windows that slide over the spatial axes of channels-last tensors: convolutions and pools.
#pragma once

#include <array>
#include <cstdint>

#include "ir/ops/op_rules.h"

namespace layline::rules {

/// How a window slides along one axis. The defaults suit an axis that is not there.
struct Sliding {
  int64_t in = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t low = 0, high = 0;
  int64_t out = 1;

  /// Where tap `k` of window `o` reads; outside [0, in) is padding.
  int64_t source(int64_t o, int64_t k) const { return o * stride + k * dilation - low; }
  bool inside(int64_t i) const { return i >= 0 && i < in; }
};

/// The number of elements from the first tap of a window to its last.
int64_t dilated_kernel(int64_t kernel, int64_t dilation);

/// x must be [N, one to three spatial axes, C]; returns how many spatial axes there are.
size_t expect_channels_last(const TensorType& x);

/// Checks that each list has one entry for each spatial axis, that kernels, strides and dilations
/// are positive, and paddings not negative.
void expect_sliding(size_t spatial, const Ints& kernel, const Ints& stride, const Ints& dilation,
                    const Ints& low, const Ints& high);

/// The windows that fit an axis: floor((in + low + high - dilated kernel) / stride) + 1, at
/// least 1 for every value of the symbols.
Dim window_count(const Dim& in, int64_t kernel, int64_t stride, int64_t dilation, int64_t low,
                 int64_t high, SymbolTable& symbols);

/// The windows along three spatial axes; the first ones are units if x has fewer. The caller has
/// checked its operands.
template <typename Attrs>
std::array<Sliding, 3> sliding(const Tensor& x, const Ints& kernel, const Attrs& attrs,
                               const TensorType& result) {
  std::array<Sliding, 3> axes;
  const size_t first = axes.size() - kernel.size();
  for (size_t i = 0; i < kernel.size(); ++i)
    axes[first + i] = {x.dims()[i + 1],
                       kernel[i],
                       attrs.stride[i],
                       attrs.dilation[i],
                       attrs.low[i],
                       attrs.high[i],
                       result.shape[i + 1].value()};
  return axes;
}

/// Calls visit(index) for every index of three nested loops.
template <typename Visit>
void each3(int64_t a, int64_t b, int64_t c, Visit visit) {
  std::array<int64_t, 3> i;
  for (i[0] = 0; i[0] < a; ++i[0])
    for (i[1] = 0; i[1] < b; ++i[1])
      for (i[2] = 0; i[2] < c; ++i[2]) visit(i);
}

}  // namespace layline::rules

// Pools of channels-first tensors, [N, C, spatial...] or, without a batch, [C, spatial...].
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

/// A window and how it moves, with one entry for each spatial axis.
struct PoolWindow {
  Ints kernel, stride, dilation;
  Ints low, high;     // padding, which a maximum ignores
  bool ceil = false;  // a last window may reach beyond the padding behind
};

Value* max_pool(const Builder& build, Value* x, const PoolWindow& window);
/// Where each maximum stands among the elements of x, [N, C, spatial...] of fixed size, counted
/// along the last axis first, or along the first spatial axis first (`columns_first`). The first of
/// equal ones counts. `maxima` is what max_pool gives.
Value* max_pool_places(const Builder& build, Value* x, Value* maxima, const PoolWindow& window,
                       bool columns_first);

struct Divisor {
  bool count_padding = true;     // without what `ceil` adds behind it
  std::optional<int64_t> fixed;  // a divisor, not 0, in place of the number of elements
};
Value* avg_pool(const Builder& build, Value* x, const PoolWindow& window, const Divisor& divisor);

/// Pools by `op`, max_pool or avg_pool. Each spatial axis is divided into as many windows as
/// `sizes` says, of nearly equal length: window i covers [floor(i * in / out), ceil((i + 1) * in /
/// out)).
Value* adaptive_pool(const Builder& build, Op op, Value* x, const Ints& sizes);

}  // namespace layline::ops

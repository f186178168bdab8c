// Resizing of channels-first tensors, [N, C, spatial...], as kernels do it. resample.h has what no
// kernel does.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

/// What each spatial axis becomes. An element's place in the source is computed from the scale if
/// one is given, and otherwise from the sizes.
struct ResizedTo {
  Shape sizes;
  std::vector<std::optional<double>> scales;  // as many as sizes; only those above 0 count
  /// The first and the last elements stay where they are.
  bool align_corners = false;
};

/// Resizes one or two spatial axes, to the nearest element or linearly between neighbours. The
/// nearest of element i is element floor(i * step) of the source.
Value* resize(const Builder& build, Value* x, ResizeMode mode, const ResizedTo& to);
/// Resizes two spatial axes by cubic convolution of neighbours.
Value* resize_cubic(const Builder& build, Value* x, const ResizedTo& to);

}  // namespace layline::ops

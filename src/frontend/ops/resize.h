// Resizing of channels-first tensors, [N, C, spatial...], as kernels do it. resample.h has what no
// kernel does.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

/// What each spatial axis becomes. Where a scale is given, the place in the source of an element is
/// computed from it, and from the sizes otherwise.
struct ResizedTo {
  Shape sizes;
  std::vector<std::optional<double>> scales;  // as many as sizes; those above 0 count
  /// The first and the last elements stay where they are.
  bool align_corners = false;
};

/// Nearest, or linear between neighbours, along one or two spatial axes. Element i of the nearest
/// is element floor(i * step) of the source.
Value* resize(const Builder& build, Value* x, ResizeMode mode, const ResizedTo& to);
/// Cubic convolution of neighbours along two spatial axes.
Value* resize_cubic(const Builder& build, Value* x, const ResizedTo& to);

}  // namespace layline::ops

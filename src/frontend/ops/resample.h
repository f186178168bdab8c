// Resizing as a map of each axis by itself, for modes and axes that no kernel has: the nearest
// element, or a weighted sum of neighbours. Tensors are channels-first, [N, C, spatial...].
#pragma once

#include "frontend/ops/resize.h"
#include "ir/tensor.h"

namespace layline::ops {

/// Takes the nearest element: element i is element floor((i + offset) * step) of the source.
Value* resample_nearest(const Builder& build, Value* x, const ResizedTo& to, double offset);
/// Interpolates linearly between neighbours.
Value* resample_linear(const Builder& build, Value* x, const ResizedTo& to);

enum class Filter : uint8_t { triangle, cubic };
/// Resizes with a filter that widens with the step, so that no element of the source is passed
/// over.
Value* resample_filtered(const Builder& build, Value* x, const ResizedTo& to, Filter filter);

/// Applies weights, [out, in], along an axis.
Value* weighted_along(const Builder& build, Value* x, int64_t axis, const Tensor& weights);

/// Refuses to resize an axis if the [out, in] matrix of weights would be too large, or empty.
void check_resampled(const Builder& build, int64_t in, int64_t out);

}  // namespace layline::ops

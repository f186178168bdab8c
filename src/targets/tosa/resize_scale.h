// RESIZE's own terms: source coordinates in units of 1 / numerator, so that they are integers.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/attributes.h"

namespace layline::tosa {

/// The source coordinate of output i is (i * denominator + offset) / numerator.
struct ResizeScale {
  int64_t numerator, denominator, offset, border;
};

/// The scale along one axis of a resize, from `in` elements; nothing if TOSA has no such scale.
std::optional<ResizeScale> resize_scale(const ResizeAttrs& attrs, size_t axis, int64_t in);

}  // namespace layline::tosa

// The same elements in another shape or order.
#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace layline::ops {

/// A shape for `count` elements in which at most one size is left open. If another size is zero,
/// nothing determines the open one: it is then `beside_zero`.
Shape complete_shape(const Builder& build, const std::vector<std::optional<Dim>>& sizes,
                     const Dim& count, const Dim& beside_zero);

/// Moves axis from[i] to place to[i]; the others keep their order.
Value* move_axes(const Builder& build, Value* x, const Ints& from, const Ints& to);
/// Exchanges two axes. A tensor without axes is returned unchanged.
Value* swap_axes(const Builder& build, Value* x, int64_t a, int64_t b);
Value* reverse_axes(const Builder& build, Value* x);

/// [..., C*r*r, H, W] to [..., C, H*r, W*r]: channel c*r*r + i*r + j goes to pixel (h*r+i, w*r+j).
Value* pixel_shuffle(const Builder& build, Value* x, int64_t r);
/// The inverse of pixel_shuffle.
Value* pixel_unshuffle(const Builder& build, Value* x, int64_t r);
/// Reorders the channels of [N, groups * C, ...]: the first of all groups, then the second, and so
/// on.
Value* channel_shuffle(const Builder& build, Value* x, int64_t groups);

/// Repeats each axis as often as asked. The shorter of shape and `times` is taken to begin with
/// ones.
Value* repeat(const Builder& build, Value* x, Ints times);
/// Repeats each element along an axis as often as asked.
Value* repeat_elements(const Builder& build, Value* x, int64_t axis, int64_t times);
/// Turns the plane of two axes by 90 degrees so many times, from the first axis to the second.
Value* quarter_turns(const Builder& build, Value* x, int64_t from, int64_t to, int64_t times);

}  // namespace layline::ops

// Windows along an axis as an axis of their own, patches of an image as columns, and back.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// Windows of `size` elements along an axis, every `step` elements: the axis counts them, and a new
/// last axis holds their elements. All sizes of x are fixed.
Value* unfold(const Builder& build, Value* x, int64_t axis, int64_t size, int64_t step);

/// How patches lie on an image: an entry for each of the two spatial axes.
struct Patches {
  Ints kernel, stride, dilation;
  Ints padding;  // on both sides
};

/// [N, C, H, W] to [N, C * kernel, patches], with or without N.
Value* im2col(const Builder& build, Value* x, const Patches& patches);
/// [N, C * kernel, patches] to [N, C, H, W], with or without N: overlapping elements are added up.
/// `image` is H and W.
Value* col2im(const Builder& build, Value* x, const Ints& image, const Patches& patches);

}  // namespace layline::ops

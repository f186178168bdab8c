// Windows along an axis as an axis of their own, patches of an image as columns, and back.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// Windows of `size` elements along an axis, one every `step` elements. The axis counts the
/// windows, and a new last axis holds their elements. All sizes of x are fixed.
Value* unfold(const Builder& build, Value* x, int64_t axis, int64_t size, int64_t step);

/// How patches lie on an image: an entry for each of the spatial axes, which are two.
struct Patches {
  Ints kernel, stride, dilation;
  Ints padding;  // on both sides
};

/// Turns [N, C, H, W] into [N, C * kernel, patches], with or without N.
Value* im2col(const Builder& build, Value* x, const Patches& patches);
/// Turns [N, C * kernel, patches] into [N, C, H, W], with or without N. Overlapping elements are
/// added up. `image` is H and W.
Value* col2im(const Builder& build, Value* x, const Ints& image, const Patches& patches);
/// Like col2im, with N, for any number of spatial axes, and with padding of its own behind them.
Value* col2im(const Builder& build, Value* x, const Ints& image, const Patches& patches,
              const Ints& padding_behind);

}  // namespace layline::ops

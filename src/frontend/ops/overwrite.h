// A tensor with a part of it replaced: what an in-place write to a slice comes to.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// `base` with elements start, start + step ... of the axis replaced by those of `part`, which has
/// the shape of that slice.
Value* overwrite(const Builder& build, Value* base, Value* part, int64_t axis, int64_t start,
                 int64_t step);

}  // namespace layline::ops

// Writing, or adding, to elements at places that a tensor holds.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// x with x[index[i, j], j] replaced by updates[i, j], along axis 0. If the op is scatter_add, the
/// updates are added instead. Updates may be longer than the index. Tensors without axes have one
/// of length 1.
Value* scatter(const Builder& build, Op op, Value* x, Value* index, Value* updates, int64_t axis);

/// x with the slices of an axis that a list of indices names replaced by those of `slices`, which
/// is as long as the list there.
Value* put_slices(const Builder& build, Value* x, int64_t axis, Value* index, Value* slices);

/// x with `source` added to the parts of an axis that a list of indices names.
Value* index_add(const Builder& build, Value* x, int64_t axis, Value* index, Value* source);
/// x with one number written to the parts of an axis that a list of indices names.
Value* index_fill(const Builder& build, Value* x, int64_t axis, Value* index, Value* number);
/// An i64 tensor with a new last axis of places: 1 where the place is the class, 0 elsewhere.
Value* one_hot(const Builder& build, Value* classes, int64_t count);

/// A list of indices along an axis, for every element of `shape`.
Value* spread_index(const Builder& build, Value* index, int64_t axis, const Shape& shape);

}  // namespace layline::ops

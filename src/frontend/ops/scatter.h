// Writing, or adding, to elements at places that a tensor holds.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// x with x[index[i, j], j] replaced by updates[i, j], along axis 0; with the op scatter_add they
/// are added up. Updates may be longer than the index. Tensors without axes have one of length 1.
Value* scatter(const Builder& build, Op op, Value* x, Value* index, Value* updates, int64_t axis);

/// x with the parts of an axis that a list of indices names added to.
Value* index_add(const Builder& build, Value* x, int64_t axis, Value* index, Value* source);
/// Likewise, with one number written to them.
Value* index_fill(const Builder& build, Value* x, int64_t axis, Value* index, Value* number);
/// 1 where the class is the place along a new last axis, an i64.
Value* one_hot(const Builder& build, Value* classes, int64_t count);

/// A list of indices along an axis, for every element of `shape`.
Value* spread_index(const Builder& build, Value* index, int64_t axis, const Shape& shape);

}  // namespace layline::ops

// Taking tensors apart and putting them together.
#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace layline::ops {

// Putting together. There is at least one tensor.

/// Stacks tensors along a new axis.
Value* stack(const Builder& build, std::vector<Value*> parts, int64_t axis);
/// Joins tensors along `axis`, or along the last if there are fewer. Tensors get at least `rank`
/// axes, new ones in front.
Value* stack_along(const Builder& build, std::vector<Value*> parts, int64_t axis, size_t rank);
/// Joins columns side by side; a vector is one column.
Value* stack_columns(const Builder& build, std::vector<Value*> parts);
/// Joins along the third axis; a vector is a row of single elements.
Value* stack_depth(const Builder& build, std::vector<Value*> parts);
/// All combinations of the elements of vectors, one a row.
Value* cartesian_product(const Builder& build, const std::vector<Value*>& vectors);
/// Matrices along a diagonal of zeros; vectors are rows.
Value* block_diagonal(const Builder& build, const std::vector<Value*>& blocks);
/// One grid for each vector, which lies along an axis of its own and is repeated along the others.
/// `columns_first` exchanges the first two axes.
std::vector<Value*> meshgrid(const Builder& build, const std::vector<Value*>& vectors,
                             bool columns_first);

// Taking apart. Negative places count from the end.

/// Elements `start`, `start + step` ... before `end` of an axis; all places are kept inside.
struct Slice {
  std::optional<Sum> start, end;
  int64_t step = 1;
};
Value* slice(const Builder& build, Value* x, int64_t axis, const Slice& slice);
/// `size` elements `start`, `start + step` ..., where the model computes `start`, i64[]. It is not
/// negative, and a run that reaches beyond the axis is refused.
Value* slice_at(const Builder& build, Value* x, int64_t axis, Value* start, const Dim& size,
                int64_t step);
/// One element, without the axis.
Value* select(const Builder& build, Value* x, int64_t axis, int64_t index);
/// `length` elements.
Value* narrow(const Builder& build, Value* x, int64_t axis, int64_t start, const Sum& length);
/// Pieces of these sizes, which add up to the axis.
std::vector<Value*> cut(const Builder& build, Value* x, int64_t axis, const Ints& sizes);
/// Pieces of one size, the last perhaps shorter.
std::vector<Value*> split(const Builder& build, Value* x, int64_t axis, int64_t size);
/// So many pieces; the first ones may have one element more than the others.
std::vector<Value*> split_evenly(const Builder& build, Value* x, int64_t axis, int64_t pieces);
/// Pieces that begin at these places, and one before them.
std::vector<Value*> split_at(const Builder& build, Value* x, int64_t axis, const Ints& places);
/// Every element, without the axis.
std::vector<Value*> unbind(const Builder& build, Value* x, int64_t axis);

// Moving along axes.

/// Rolls elements: those that leave at one end come in at the other. Without axes, rolls the
/// flattened tensor.
Value* roll(const Builder& build, Value* x, Ints axes, const Ints& shifts);
/// Differences of neighbours, n times over.
Value* diff(const Builder& build, Value* x, int64_t axis, int64_t n);

}  // namespace layline::ops

// Taking tensors apart and putting them together.
#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace layline::ops {

// Together. There is a tensor at least.

/// Along a new axis.
Value* stack(const Builder& build, std::vector<Value*> parts, int64_t axis);
/// Along `axis`, or the last if there are fewer: tensors get `rank` axes at least, new ones in
/// front.
Value* stack_along(const Builder& build, std::vector<Value*> parts, int64_t axis, size_t rank);
/// Vectors are columns.
Value* stack_columns(const Builder& build, std::vector<Value*> parts);
/// Along the third axis: a vector is a row of single elements.
Value* stack_depth(const Builder& build, std::vector<Value*> parts);
/// All combinations of the elements of vectors, one a row.
Value* cartesian_product(const Builder& build, const std::vector<Value*>& vectors);
/// Matrices along a diagonal of zeros; vectors are rows.
Value* block_diagonal(const Builder& build, const std::vector<Value*>& blocks);
/// Each vector along an axis of its own, repeated along the others; `columns_first` exchanges the
/// first two axes.
std::vector<Value*> meshgrid(const Builder& build, const std::vector<Value*>& vectors,
                             bool columns_first);

// Apart. Places count from the end where negative.

/// Elements `start`, `start + step` ... before `end` of an axis; all places are kept inside.
struct Slice {
  std::optional<Sum> start, end;
  int64_t step = 1;
};
Value* slice(const Builder& build, Value* x, int64_t axis, const Slice& slice);
/// One element, without the axis.
Value* select(const Builder& build, Value* x, int64_t axis, int64_t index);
/// `length` elements.
Value* narrow(const Builder& build, Value* x, int64_t axis, int64_t start, const Sum& length);
/// Pieces of these sizes, which add up to the axis.
std::vector<Value*> cut(const Builder& build, Value* x, int64_t axis, const Ints& sizes);
/// Pieces of one size, the last perhaps shorter.
std::vector<Value*> split(const Builder& build, Value* x, int64_t axis, int64_t size);
/// So many pieces; the first may have one element more than the others.
std::vector<Value*> split_evenly(const Builder& build, Value* x, int64_t axis, int64_t pieces);
/// Pieces that begin at these places, and one before them.
std::vector<Value*> split_at(const Builder& build, Value* x, int64_t axis, const Ints& places);
/// Every element, without the axis.
std::vector<Value*> unbind(const Builder& build, Value* x, int64_t axis);

// Moved along axes.

/// Elements that leave at one end come in at the other. Without axes, of the flattened tensor.
Value* roll(const Builder& build, Value* x, Ints axes, const Ints& shifts);
/// Differences of neighbours, n times over.
Value* diff(const Builder& build, Value* x, int64_t axis, int64_t n);

}  // namespace layline::ops

// Reading elements at places that a tensor holds, and writing to a part of a tensor.
#pragma once

#include <vector>

#include "ir/builder.h"

namespace layline::ops {

/// The places as i64, counted from the start: one from -length to -1 counts from the end.
Value* counted_from_start(const Builder& build, Value* index, Dim length);

/// The parts of x that a tensor of indices names along an axis. The axes of the indices replace
/// that axis.
Value* gather(const Builder& build, Value* x, Value* indices, int64_t axis);
/// Element [i, j] is x[index[i, j], j] along axis 0. Tensors without axes have one of length 1.
Value* gather_elements(const Builder& build, Value* x, Value* index, int64_t axis);
/// Like gather_elements, but the index broadcasts against x beside the axis.
Value* take_along_axis(const Builder& build, Value* x, Value* index, int64_t axis);
/// The elements that the index names in the flattened tensor, from the end if negative.
Value* take(const Builder& build, Value* x, Value* index);

/// Repeats each element along an axis as often as `times` says, which is a constant: one number for
/// each element, or one for all.
Value* repeat_each(const Builder& build, Value* x, int64_t axis, const Value* times);

/// How the rows of a bag become one.
enum class Bag : uint8_t { sum, mean, max };
/// Rows of a table in `count` bags, one after another. They begin at the constant `offsets`, and
/// have one length. `weights` multiply the rows; they may be null.
Value* bags(const Builder& build, Value* table, Value* indices, const Value* offsets, int64_t count,
            Value* weights, Bag bag);

/// x[i, :, j]: an index for each axis, null for all of it. Indices broadcast, count from the end if
/// negative, and may be constant masks. If the indexed axes stand next to each other, the axes of
/// the indices take their place; otherwise they come first.
Value* index(const Builder& build, Value* x, const std::vector<Value*>& indices);
/// x with x[i, :, j] replaced by values, which broadcast, or with the values added.
Value* index_put(const Builder& build, Value* x, const std::vector<Value*>& indices, Value* values,
                 bool accumulate);
/// x with the elements of one axis that a list of indices names replaced by those of `source`.
Value* index_copy(const Builder& build, Value* x, int64_t axis, Value* index, Value* source);

/// x with elements `start`, `start + step` ... before `end` of an axis replaced by `source`, which
/// broadcasts. Negative places count from the end, and all are kept inside.
Value* slice_scatter(const Builder& build, Value* x, Value* source, int64_t axis, int64_t start,
                     int64_t end, int64_t step);
/// x with element `index` of an axis replaced by `source`, which lacks the axis.
Value* select_scatter(const Builder& build, Value* x, Value* source, int64_t axis, int64_t index);

}  // namespace layline::ops

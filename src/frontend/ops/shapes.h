// The op library: what the ops of models mean, for every front end.
//
// A front end reads a file; this folder knows what a pool, a resize or an LSTM comes to in core
// ops. Each header is one family of ops. All functions follow the same conventions:
//
// - The first parameter is the Builder of the model's node. It adds core ops. Its `fail` refuses
//   the node, with a message that names the place in the model.
// - Operands are Values, results are Values. Null is an operand that the model leaves out.
// - Parameters say what the op means, and have no file format's names. If a core op has the same
//   parameters, they come as its attributes.
// - Axes are counted from 0. The front end has checked them, because it knows what the model calls
//   them.
// - Operands have the dtype in which the op computes. Formats differ in how they promote dtypes, so
//   the front end converts them.
// - Shapes of results follow from the operands. No function asks what a file records for a result.
// - Tensors of images are channels-first, [N, C, spatial...]. Core ops are channels-last.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// `x` in another shape. Refuses the node if the element counts differ.
Value* view(const Builder& build, Value* x, Shape shape);

/// x with a new axis of length 1 at place `axis`.
Value* with_axis(const Builder& build, Value* x, int64_t axis);
/// x without these axes, which have length 1.
Value* without_axes(const Builder& build, Value* x, const Ints& axes);
/// x itself, or if it has no axes, x with a single axis.
Value* with_some_axis(const Builder& build, Value* x);

/// All axes of x.
Ints all_axes(const Value* x);

/// The length of an axis, for ops that need it to be fixed.
int64_t static_length(const Builder& build, const Value* x, int64_t axis);

}  // namespace layline::ops

// Diagonals, and the constants that are made of them.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// The elements [i, i + offset] of two axes, as a new last axis.
Value* diagonal(const Builder& build, Value* x, int64_t offset, int64_t axis1, int64_t axis2);
/// The last axis put on the diagonal of zeros: two new last axes.
Value* on_diagonal(const Builder& build, Value* x, int64_t offset);
/// A matrix with ones on its main diagonal.
Value* eye(const Builder& build, const TensorType& type);

/// The places of a matrix on or below a diagonal, or on or above it (`upper`).
struct Triangle {
  int64_t rows, columns;
  int64_t offset;
  bool upper;
};
/// The rows, then the columns, of the places. The type is [2, count].
Value* triangle_indices(const Builder& build, const TensorType& type, const Triangle& triangle);

}  // namespace layline::ops

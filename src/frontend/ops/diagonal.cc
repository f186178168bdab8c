#include "frontend/ops/diagonal.h"

#include <algorithm>
#include <cstdlib>

#include "ir/tensor.h"

namespace layline::ops {
namespace {

/// Where diagonal `offset` of a matrix begins and how long it is.
struct Diagonal {
  int64_t row, column, length;
};

Diagonal diagonal_of(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  return {row, column, std::max<int64_t>(0, std::min(rows - row, columns - column))};
}

int64_t static_size(const Builder& build, const Dim& dim) {
  if (!dim.is_static()) build.fail("of a dynamic size is not supported");
  return dim.value();
}

}  // namespace

Value* diagonal(const Builder& build, Value* x, int64_t offset, int64_t axis1, int64_t axis2) {
  if (x->shape().size() < 2) build.fail("takes no {}", to_string(x->type()));
  if (axis1 == axis2) build.fail("takes the diagonal of one axis");
  std::vector<int> order;
  for (int a = 0; a < x->type().rank(); ++a)
    if (a != axis1 && a != axis2) order.push_back(a);
  order.push_back(static_cast<int>(axis1));
  order.push_back(static_cast<int>(axis2));
  x = build.permute(x, order);
  const size_t rank = x->shape().size();
  const int64_t rows = static_size(build, x->shape()[rank - 2]);
  const int64_t columns = static_size(build, x->shape()[rank - 1]);
  const Diagonal d = diagonal_of(rows, columns, offset);
  Shape flat(x->shape().begin(), x->shape().end() - 2);
  flat.push_back(rows * columns);
  // Every (columns + 1)-th element of the flattened matrix.
  const int64_t first = d.length == 0 ? 0 : d.row * columns + d.column;
  return build.slice(build.view(x, flat), static_cast<int64_t>(rank) - 2, first, d.length,
                     columns + 1);
}

Value* on_diagonal(const Builder& build, Value* x, int64_t offset) {
  if (x->shape().empty()) build.fail("takes no {}", to_string(x->type()));
  const int64_t length = static_size(build, x->shape().back());
  const int64_t side = length + std::abs(offset);
  Tensor places({DType::boolean, {side, side}});
  const Diagonal d = diagonal_of(side, side, offset);
  for (int64_t i = 0; i < d.length; ++i) places.set_int((d.row + i) * side + d.column + i, 1);
  // Row r of the result holds element r - row of x, wherever that is on the diagonal.
  PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 0};
  pad.low.back() = d.row;
  pad.high.back() = side - length - d.row;
  if (side != length) x = build.add(Op::pad, {x}, std::move(pad));
  Shape column = x->shape();
  column.push_back(1);
  return build.add(Op::where,
                   {build.constant(places), build.view(x, column), build.scalar(x->dtype(), 0)});
}

Value* eye(const Builder& build, const TensorType& type) {
  if (!is_static(type.shape)) build.fail("of a dynamic size is not supported");
  if (type.shape.size() != 2) build.fail("makes no {}", to_string(type));
  Tensor matrix(type);
  for (int64_t i = 0; i < std::min(matrix.dim(0), matrix.dim(1)); ++i)
    matrix.set_int(i * matrix.dim(1) + i, 1);
  return build.constant(matrix);
}

Value* triangle_indices(const Builder& build, const TensorType& type, const Triangle& triangle) {
  if (!is_static(type.shape)) build.fail("of a dynamic size is not supported");
  if (type.shape.size() != 2) build.fail("makes no {}", to_string(type));
  const auto [rows, columns, offset, upper] = triangle;
  Tensor places(type);
  const int64_t count = places.dim(1);
  int64_t next = 0;
  for (int64_t i = 0; i < rows && next < count; ++i)
    for (int64_t j = 0; j < columns && next < count; ++j) {
      if (upper ? j - i < offset : j - i > offset) continue;
      places.set_int(next, i);
      places.set_int(count + next, j);
      ++next;
    }
  return build.constant(places);
}

}  // namespace layline::ops

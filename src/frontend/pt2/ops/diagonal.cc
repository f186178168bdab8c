// Diagonals, and the constants that are made of them.
#include <algorithm>

#include "frontend/pt2/ops/rules.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

Value* owned(const Call& call, const Tensor& tensor) { return call.constant(Constant::of(tensor)); }

/// Where diagonal `offset` of a matrix begins and how long it is.
struct Diagonal {
  int64_t row, column, length;
};

Diagonal diagonal_of(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  return {row, column, std::max<int64_t>(0, std::min(rows - row, columns - column))};
}

int64_t static_size(const Call& call, const Dim& dim) {
  if (!dim.is_static()) call.fail("of a dynamic size is not supported");
  return dim.value();
}

/// The elements [i, i + offset] of two axes, as a new last axis: every (columns + 1)-th element of
/// the flattened matrix.
Value* diagonal(const Call& call, Value* x, int64_t offset, int64_t axis1, int64_t axis2) {
  if (axis1 == axis2) call.fail("takes the diagonal of one axis");
  std::vector<int> order;
  for (int a = 0; a < x->type().rank(); ++a)
    if (a != axis1 && a != axis2) order.push_back(a);
  order.push_back(static_cast<int>(axis1));
  order.push_back(static_cast<int>(axis2));
  x = call.permute(x, order);
  const size_t rank = x->shape().size();
  const int64_t rows = static_size(call, x->shape()[rank - 2]);
  const int64_t columns = static_size(call, x->shape()[rank - 1]);
  const Diagonal d = diagonal_of(rows, columns, offset);
  Shape flat(x->shape().begin(), x->shape().end() - 2);
  flat.push_back(rows * columns);
  const int64_t first = d.length == 0 ? 0 : d.row * columns + d.column;
  return call.slice(call.view(x, flat), static_cast<int64_t>(rank) - 2, first, d.length,
                    columns + 1);
}

Value* diagonal(const Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  return diagonal(call, x, call.integer("offset", 0), call.axis("dim1", 0, rank),
                  call.axis("dim2", 1, rank));
}

void diagonal_view(Call& call) { call.view_result(diagonal(call), "self"); }

void diagonal_copy(Call& call) { call.result(diagonal(call)); }

void trace(Call& call) {
  Value* d = diagonal(call, call.tensor("self"), 0, 0, 1);
  d = call.convert(d, call.recorded().dtype);
  call.result(call.view(call.add(Op::reduce_sum, {d}, AxesAttrs{{0}}), {}));
}

/// The last axis on a diagonal of zeros: multiplied by a matrix of ones there.
Value* on_diagonal(const Call& call, Value* x, int64_t offset) {
  const int64_t length = static_size(call, x->shape().back());
  const int64_t side = length + std::abs(offset);
  Tensor places({DType::boolean, {side, side}});
  const Diagonal d = diagonal_of(side, side, offset);
  for (int64_t i = 0; i < d.length; ++i) places.set_int((d.row + i) * side + d.column + i, 1);
  // Row r of the result holds element r - row of x, wherever that is on the diagonal.
  PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 0};
  pad.low.back() = d.row;
  pad.high.back() = side - length - d.row;
  if (side != length) x = call.add(Op::pad, {x}, std::move(pad));
  Shape column = x->shape();
  column.push_back(1);
  return call.add(Op::where,
                  {owned(call, places), call.view(x, column), call.scalar(x->dtype(), 0)});
}

void diag_embed(Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank() + 1;
  if (call.axis("dim1", -2, rank) != rank - 2 || call.axis("dim2", -1, rank) != rank - 1)
    call.fail("is supported for the last two axes only");
  call.result(on_diagonal(call, x, call.integer("offset", 0)));
}

void diag(Call& call) {
  Value* x = call.tensor("self");
  const int64_t offset = call.integer("diagonal", 0);
  call.result(x->type().rank() == 1 ? on_diagonal(call, x, offset)
                                    : diagonal(call, x, offset, 0, 1));
}

void eye(Call& call) {
  const TensorType type = call.recorded();
  if (!is_static(type.shape)) call.fail("of a dynamic size is not supported");
  Tensor matrix(type);
  for (int64_t i = 0; i < std::min(matrix.dim(0), matrix.dim(1)); ++i)
    matrix.set_int(i * matrix.dim(1) + i, 1);
  call.result(owned(call, matrix));
}

/// The rows, then the columns, of the places on or below a diagonal, or on or above it.
template <bool upper>
void triangle_indices(Call& call) {
  const int64_t rows = call.integer("row"), columns = call.integer("col");
  const int64_t offset = call.integer("offset", 0);
  const TensorType type = call.recorded();
  if (!is_static(type.shape)) call.fail("of a dynamic size is not supported");
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
  call.result(owned(call, places));
}

constexpr OpRule kRules[] = {
    {"aten.diagonal.default", diagonal_view},
    {"aten.diagonal_copy.default", diagonal_copy},
    {"aten.trace.default", trace},
    {"aten.diag.default", diag},
    {"aten.diag_embed.default", diag_embed},
    {"aten.eye.default", eye},
    {"aten.eye.m", eye},
    {"aten.tril_indices.default", triangle_indices<false>},
    {"aten.triu_indices.default", triangle_indices<true>},
};

}  // namespace

std::span<const OpRule> diagonal_rules() { return kRules; }

}  // namespace layline::pt2

// Elements at places that a tensor holds: read, or written.
#include "frontend/ops/index.h"

#include <algorithm>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/join.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/scatter.h"
#include "frontend/ops/shapes.h"

namespace layline::onnx {
namespace {

/// Places counted from 0 along an axis of x; negative ones count from the end.
Value* places(const Call& call, Value* index, const Value* x, int64_t axis) {
  index = call.convert(index, DType::i64);
  if (const Tensor* known = call.constant_value(index)) index = call.constant(*known);
  return ops::counted_from_start(call, index, x->shape()[static_cast<size_t>(axis)]);
}

/// The shape with these axes in place of one.
Shape with_axes(Shape shape, int64_t axis, const Shape& axes) {
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, axes.begin(), axes.end());
  return shape;
}

/// There is only one place on an axis of length 1. Sequences that are sorted by their lengths read
/// the one of a batch so.
Value* only_element(const Call& call, Value* x, const Shape& indices, int64_t axis) {
  Value* one = call.view(x, with_axes(x->shape(), axis, Shape(indices.size(), Dim(1))));
  return call.expand(one, with_axes(x->shape(), axis, indices));
}

void gather(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer("axis", 0), x->type().rank());
  const Tensor* known = call.constant_value(call.input(1));
  if (known != nullptr && known->rank() == 0)
    return call.result(ops::select(call, x, axis, known->get_int(0)));
  if (x->shape()[static_cast<size_t>(axis)].is_one())
    return call.result(only_element(call, x, call.input(1)->shape(), axis));
  call.result(ops::gather(call, x, places(call, call.input(1), x, axis), axis));
}

void gather_elements(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer("axis", 0), x->type().rank());
  call.result(ops::gather_elements(call, x, places(call, call.input(1), x, axis), axis));
}

/// The last axis of an index tensor holds coordinates of the axes of x after the first `batch`.
/// Gives x with these axes as one, and the places along it, [batch..., rest...].
struct Flat {
  Value* x;       // [batch..., places, slice...]
  Value* places;  // the axes of the index without the last
  Shape slice;
};

Flat flatten(const Call& call, Value* x, Value* index, size_t batch) {
  const Shape& shape = x->shape();
  if (index->shape().empty() || !index->shape().back().is_static())
    call.fail("its indices are {}", to_string(index->type()));
  const auto depth = static_cast<size_t>(index->shape().back().value());
  if (depth < 1 || batch + depth > shape.size())
    call.fail("reads {} coordinates of {}", depth, to_string(x->type()));
  const int64_t last = index->type().rank() - 1;
  Value* place = nullptr;
  Dim count = 1;
  for (size_t i = 0; i < depth; ++i) {
    const auto axis = static_cast<int64_t>(batch + i);
    Value* at = call.slice(index, last, static_cast<int64_t>(i), 1);
    at = places(call, ops::without_axes(call, at, {last}), x, axis);
    if (place != nullptr) {
      Value* length = ops::number(call, call.graph().symbol_table().expand(shape[batch + i]));
      place = call.add(Op::add, {call.add(Op::mul, {place, length}), at});
    } else {
      place = at;
    }
    count = count * shape[batch + i];
  }
  const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(batch);
  Shape slice(begin + static_cast<std::ptrdiff_t>(depth), shape.end());
  Shape flat(shape.begin(), begin);
  flat.push_back(count);
  flat.insert(flat.end(), slice.begin(), slice.end());
  return {call.view(x, flat), place, slice};
}

void gather_nd(Call& call) {
  const int64_t batch = call.integer("batch_dims", 0);
  Value* x = call.input(0);
  Value* index = call.input(1);
  if (batch < 0 || batch >= index->type().rank()) call.fail("has {} batch axes", batch);
  auto [flat, place, slice] = flatten(call, x, index, static_cast<size_t>(batch));
  if (batch == 0) return call.result(ops::gather(call, flat, place, 0));
  // All batch axes become one, in front of the flat one: x is then one list of slices.
  const auto end = x->shape().begin() + batch;
  const Dim batches = product({x->shape().begin(), end});
  const Dim length = flat->shape()[static_cast<size_t>(batch)];
  if (!batches.is_static()) call.fail("with dynamic batches is not supported");
  Shape list = {batches * length};
  list.insert(list.end(), slice.begin(), slice.end());
  Shape result = place->shape();
  Shape rows = {batches, product({place->shape().begin() + batch, place->shape().end()})};
  Value* first = ops::arange(call, {DType::i64, {batches, 1}}, 0, 1);
  Value* size = ops::number(call, call.graph().symbol_table().expand(length));
  place = call.add(Op::add, {call.view(place, rows), call.add(Op::mul, {first, size})});
  Value* y = ops::gather(call, call.view(flat, list), call.view(place, {element_count(rows)}), 0);
  result.insert(result.end(), slice.begin(), slice.end());
  call.result(call.view(y, result));
}

void scatter_elements(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer("axis", 0), x->type().rank());
  Value* index = places(call, call.input(1), x, axis);
  const std::string_view reduction = call.string("reduction", "none");
  if (reduction != "none" && reduction != "add")
    call.fail("the reduction `{}` is not supported", reduction);
  call.result(ops::scatter(call, reduction == "add" ? Op::scatter_add : Op::scatter_elements, x,
                           index, call.input(2), axis));
}

/// x with slices at coordinates replaced by the updates, or with the updates added.
void scatter_nd(Call& call) {
  Value* x = call.input(0);
  Value* index = call.input(1);
  const std::string_view reduction = call.string("reduction", "none");
  if (reduction != "none" && reduction != "add")
    call.fail("the reduction `{}` is not supported", reduction);
  const auto [flat, place, slice] = flatten(call, x, index, 0);
  const Dim count = element_count(place->shape());
  Shape rows = {count};
  rows.insert(rows.end(), slice.begin(), slice.end());
  Value* list = call.view(place, {count});
  Value* updates = ops::view(call, call.input(2), rows);
  Value* y = reduction == "add" ? ops::index_add(call, flat, 0, list, updates)
                                : ops::put_slices(call, flat, 0, list, updates);
  call.result(call.view(y, x->shape()));
}

/// A new axis with `on` at the class's place, and `off` elsewhere.
void one_hot(Call& call) {
  Value* classes = call.input(0);
  const int64_t depth = call.integer_at(1, "`depth`");
  if (depth < 0 || depth > 1 << 24) call.fail("has {} classes", depth);
  Value* values = call.input(2);
  const int64_t rank = classes->type().rank() + 1;
  const int64_t axis = call.axis(call.integer("axis", -1), rank);
  auto value = [&](int64_t i) { return call.view(call.slice(values, 0, i, 1), {}); };
  Shape along(static_cast<size_t>(rank), Dim(1));
  along[static_cast<size_t>(axis)] = depth;
  Value* wanted = call.convert(classes, DType::i64);
  Value* zero = call.scalar(DType::i64, 0);
  Value* wrapped = call.add(Op::add, {wanted, call.scalar(DType::i64, static_cast<double>(depth))});
  wanted = call.add(Op::where, {call.add(Op::less, {wanted, zero}), wrapped, wanted});
  Value* hit = call.add(Op::equal, {ops::with_axis(call, wanted, axis),
                                    ops::arange(call, {DType::i64, along}, 0, 1)});
  call.result(call.add(Op::where, {hit, value(1), value(0)}));
}

void triangle(Call& call) {
  const int64_t diagonal = call.has(1) ? call.integer_at(1, "`k`") : 0;
  call.result(ops::triangle(call, call.input(0), call.flag("upper", true), diagonal));
}

/// The coordinates of elements that are not 0: only of a tensor that is known.
void non_zero(Call& call) {
  const Tensor& x = call.known(0, "what is counted");
  std::vector<int64_t> hits;
  for (int64_t i = 0; i < x.count(); ++i)
    if (x.get(i) != 0) hits.push_back(i);
  Tensor places({DType::i64, {x.rank(), std::ssize(hits)}});
  for (size_t i = 0; i < hits.size(); ++i) {
    int64_t rest = hits[i];
    for (int64_t axis = x.rank(); axis-- > 0;) {
      places.set_int(axis * std::ssize(hits) + static_cast<int64_t>(i), rest % x.dim(axis));
      rest /= x.dim(axis);
    }
  }
  call.result(call.constant(places));
}

/// The slices of an axis for which a condition holds, which must be known.
void compress(Call& call) {
  Value* x = call.input(0);
  const Ints condition = call.integers(1, "`condition`");
  int64_t axis = 0;
  if (call.has("axis"))
    axis = call.axis(call.integer("axis"), x->type().rank());
  else
    x = call.view(x, {element_count(x->shape())});
  Tensor kept({DType::i64, {std::ranges::count_if(condition, [](int64_t c) { return c != 0; })}});
  int64_t next = 0;
  for (size_t i = 0; i < condition.size(); ++i)
    if (condition[i] != 0) kept.set_int(next++, static_cast<int64_t>(i));
  call.result(ops::gather(call, x, call.constant(kept), axis));
}

constexpr OpRule kRules[] = {
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"OneHot", one_hot},
    {"Trilu", triangle},
    {"NonZero", non_zero},
    {"Compress", compress},
};

}  // namespace

std::span<const OpRule> index_rules() { return kRules; }

}  // namespace layline::onnx

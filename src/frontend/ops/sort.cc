#include "frontend/ops/sort.h"

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

Dim length_of(const Value* x, int64_t axis) {
  return x->shape().empty() ? Dim(1) : x->shape()[static_cast<size_t>(axis)];
}

/// The length, for ops that count elements from its ends.
int64_t fixed_length(const Builder& build, const Value* x, int64_t axis) {
  const Dim length = length_of(x, axis);
  if (!length.is_static())
    build.fail("takes a part of an axis of dynamic length in order, which is not supported");
  return length.value();
}

/// Numbers 0, 1, 2 ... along an axis of x.
Value* numbered(const Builder& build, const Value* x, int64_t axis, DType dtype) {
  Shape along(x->shape().size(), Dim(1));
  along[static_cast<size_t>(axis)] = x->shape()[static_cast<size_t>(axis)];
  return arange(build, {dtype, along}, 0, 1);
}

/// Keys in the order of x, in which of equal elements the first is the greatest: i64 has room for
/// an integer and its place, and f64 for an f32 and its place.
Value* distinct(const Builder& build, Value* x, int64_t axis) {
  if (!is_float(x->dtype())) {
    Value* length = number(build, Sum(length_of(x, axis)));
    Value* key = build.add(Op::mul, {build.convert(x, DType::i64), length});
    return build.add(Op::sub, {key, numbered(build, x, axis, DType::i64)});
  }
  // Each place lowers the key by 2^-50 of it, which 2^25 places cannot lower to the next f32. The
  // infinities are numbers beyond all others here, and the least f32 keeps zeros apart.
  constexpr double kBeyond = 0x1p130, kStep = 0x1p-50, kLeast = 0x1p-149;
  Value* key = build.clamp(build.convert(x, DType::f64), -kBeyond, kBeyond);
  Value* size = build.add(Op::add, {build.add(Op::abs, {key}), build.scalar(DType::f64, kLeast)});
  Value* place = times(build, numbered(build, x, axis, DType::f64), kStep);
  return build.add(Op::sub, {key, build.add(Op::mul, {size, place})});
}

/// The places of the elements, of a tensor with at least one axis.
Value* places(const Builder& build, Value* x, SortOrder order) {
  if (x->dtype() == DType::boolean || (x->dtype() == DType::u8 && !order.greatest_first))
    x = build.convert(x, DType::i32);
  if (!order.greatest_first) x = build.add(Op::neg, {x});
  if (order.equals_in_order && x->dtype() != DType::f64) x = distinct(build, x, order.axis);
  return build.add(Op::argsort, {x}, AxisAttrs{order.axis});
}

/// `count` elements from place `start` of the order, as a tensor with an axis at least.
Sorted part(const Builder& build, Value* x, SortOrder order, int64_t start, const Dim& count) {
  Value* at = build.slice(places(build, x, order), order.axis, start, count);
  return {build.add(Op::gather_elements, {x, at}, AxisAttrs{order.axis}), at};
}

/// The result without its axis, if x has none.
Sorted shaped(const Builder& build, const Sorted& sorted, const Value* x) {
  if (!x->shape().empty()) return sorted;
  Value* values = without_axes(build, sorted.values, {0});
  return {values, without_axes(build, sorted.places, {0})};
}

Sorted one_element(const Builder& build, Value* x, int64_t axis, int64_t place, bool keep) {
  const Sorted one = part(build, with_some_axis(build, x), {axis, false}, place, 1);
  if (keep) return shaped(build, one, x);
  Value* values = without_axes(build, one.values, {axis});
  return {values, without_axes(build, one.places, {axis})};
}

}  // namespace

Sorted sorted(const Builder& build, Value* x, SortOrder order) {
  const Dim all = length_of(x, order.axis);
  return shaped(build, part(build, with_some_axis(build, x), order, 0, all), x);
}

Value* argsort(const Builder& build, Value* x, SortOrder order) {
  return build.view(places(build, with_some_axis(build, x), order), x->shape());
}

Sorted topk(const Builder& build, Value* x, SortOrder order, const Sum& k) {
  SymbolTable& symbols = build.graph().symbol_table();
  const Dim length = length_of(x, order.axis);
  if (symbols.range(k).min < 0 || symbols.range(symbols.expand(length) - k).min < 0)
    build.fail("takes {} of {} elements", to_string(k), to_string(length));
  return shaped(build, part(build, with_some_axis(build, x), order, 0, symbols.dim(k)), x);
}

Sorted kth_value(const Builder& build, Value* x, int64_t axis, int64_t k, bool keep) {
  const int64_t length = fixed_length(build, x, axis);
  if (k < 1 || k > length) build.fail("takes element {} of {}", k, length);
  return one_element(build, x, axis, k - 1, keep);
}

Sorted median(const Builder& build, Value* x, int64_t axis, bool keep) {
  const int64_t length = fixed_length(build, x, axis);
  if (length == 0) build.fail("takes no empty axis");
  return one_element(build, x, axis, (length - 1) / 2, keep);
}

}  // namespace layline::ops

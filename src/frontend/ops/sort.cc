#include "frontend/ops/sort.h"

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

/// The places of the elements, of a tensor with at least one axis.
Value* places(const Builder& build, Value* x, SortOrder order) {
  if (x->dtype() == DType::boolean || (x->dtype() == DType::u8 && !order.greatest_first))
    x = build.convert(x, DType::i32);
  if (!order.greatest_first) x = build.add(Op::neg, {x});
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

Sorted topk(const Builder& build, Value* x, SortOrder order, int64_t k) {
  const int64_t length = fixed_length(build, x, order.axis);
  if (k < 0 || k > length) build.fail("takes {} of {} elements", k, length);
  return shaped(build, part(build, with_some_axis(build, x), order, 0, k), x);
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

// Elements by their order along an axis.
#include "frontend/pt2/ops/rules.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

/// The operand with an axis at least, and the axis that the op works along.
struct Sorted {
  Value* x;
  int64_t axis;
  int64_t length;
};

Sorted operand(Call& call, int64_t otherwise) {
  Value* x = call.tensor("self");
  if (x->shape().empty()) x = call.view(x, {1});
  const int64_t axis = call.axis("dim", otherwise, x->type().rank());
  const Dim& length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static()) call.fail("sorts an axis of dynamic length, which is not supported");
  return {x, axis, length.value()};
}

/// Places of the elements, the greatest first, or the least.
Value* places(const Call& call, const Sorted& sorted, bool greatest_first) {
  Value* x = sorted.x;
  if (x->dtype() == DType::boolean || (x->dtype() == DType::u8 && !greatest_first))
    x = call.convert(x, DType::i32);
  if (!greatest_first) x = call.add(Op::neg, {x});
  return call.add(Op::argsort, {x}, AxisAttrs{sorted.axis});
}

/// The elements at these places, and the places: what the ops give.
void give(Call& call, const Sorted& sorted, Value* at) {
  Value* values = call.add(Op::gather_elements, {sorted.x, at}, AxisAttrs{sorted.axis});
  call.result(call.view(values, call.recorded(0).shape));
  call.result(call.view(at, call.recorded(1).shape));
}

void topk(Call& call) {
  const Sorted sorted = operand(call, -1);
  const int64_t k = call.integer("k");
  if (k < 0 || k > sorted.length) call.fail("takes {} of {} elements", k, sorted.length);
  Value* at = places(call, sorted, call.flag("largest", true));
  give(call, sorted, call.slice(at, sorted.axis, 0, k));
}

void expect_any_order(const Call& call) {
  if (call.flag("stable", false))
    call.fail("keeps equal elements in order (stable=True), which the runtime's kernel does not");
}

void sort(Call& call) {
  expect_any_order(call);
  const Sorted sorted = operand(call, -1);
  give(call, sorted, places(call, sorted, call.flag("descending", false)));
}

void argsort(Call& call) {
  expect_any_order(call);
  const Sorted sorted = operand(call, -1);
  Value* at = places(call, sorted, call.flag("descending", false));
  call.result(call.view(at, call.recorded().shape));
}

/// Counted from 1.
void kthvalue(Call& call) {
  const Sorted sorted = operand(call, -1);
  const int64_t k = call.integer("k");
  if (k < 1 || k > sorted.length) call.fail("takes element {} of {}", k, sorted.length);
  give(call, sorted, call.slice(places(call, sorted, false), sorted.axis, k - 1, 1));
}

/// The lower of the two in the middle.
void median(Call& call) {
  const Sorted sorted = operand(call, -1);
  if (sorted.length == 0) call.fail("takes no empty axis");
  give(call, sorted,
       call.slice(places(call, sorted, false), sorted.axis, (sorted.length - 1) / 2, 1));
}

constexpr OpRule kRules[] = {
    {"aten.topk.default", topk},      {"aten.sort.default", sort},
    {"aten.sort.stable", sort},       {"aten.argsort.default", argsort},
    {"aten.argsort.stable", argsort}, {"aten.kthvalue.default", kthvalue},
    {"aten.median.dim", median},
};

}  // namespace

std::span<const OpRule> sort_rules() { return kRules; }

}  // namespace layline::pt2

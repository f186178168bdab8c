// Scaled dot-product attention, written out: softmax(q k^T * scale + mask) v.
#include <cmath>
#include <limits>

#include "frontend/pt2/ops/rules.h"
#include "ir/finite.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

/// Finite, so that a row without any key gives no NaN, and small enough for exp to give 0.
double lowest(DType dtype) { return dtype == DType::f16 ? -65504.0 : -1e30; }

/// What to add to the scores, and what to multiply the probabilities with: a query that may look at
/// no key gets zeros from torch. Constant masks make constants of both.
struct Mask {
  Value* addend = nullptr;
  Value* keep = nullptr;
};

/// Query i sees keys 0 to i.
Mask causal(const Call& call, DType dtype, const Dim& queries, const Dim& keys) {
  Value* addend = call.front_of_constant({queries, keys}, [&](const Shape& whole) {
    Tensor mask({dtype, whole});
    const int64_t rows = whole[0].value(), columns = whole[1].value();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = i + 1; j < columns; ++j) mask.set(i * columns + j, lowest(dtype));
    return Constant::of(mask);
  });
  return {addend, nullptr};
}

Mask given(const Call& call, Value* mask, DType dtype) {
  if (mask->shape().empty()) call.fail("the mask has no axes");
  Value* least = call.scalar(dtype, lowest(dtype));
  Value* visible = mask;
  Value* addend = nullptr;
  if (mask->dtype() == DType::boolean) {
    addend = call.add(Op::where, {mask, call.scalar(dtype, 0), least});
  } else {
    mask = call.convert(mask, dtype);
    if (is_always_finite(mask)) return {mask, nullptr};
    Value* hidden = call.scalar(dtype, -std::numeric_limits<double>::infinity());
    visible = call.add(Op::greater, {mask, hidden});
    addend = call.add(Op::maximum, {mask, least});
  }
  const AxesAttrs keys{{mask->type().rank() - 1}};
  return {addend, call.convert(call.add(Op::reduce_any, {visible}, keys), dtype)};
}

/// [..., heads, rows, width] as [..., groups, heads / groups, rows, width]; a mask with one head,
/// or without that axis, stays broadcast.
Value* grouped(const Call& call, Value* x, const Dim& groups) {
  Shape shape = x->shape();
  if (shape.size() < 3) return x;
  const size_t axis = shape.size() - 3;
  const Dim outer = shape[axis].is_one() ? Dim(1) : groups;
  const auto inner = divide(shape[axis], outer);
  if (!inner)
    call.fail("{} heads do not divide into {} groups", to_string(shape[axis]), to_string(outer));
  shape[axis] = *inner;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), outer);
  return call.view(x, shape);
}

void attention(Call& call) {
  Value* query = call.tensor("query");
  Value* key = call.tensor("key");
  Value* value = call.tensor("value");
  for (const Value* operand : {query, key, value})
    if (operand->shape().size() < 2) call.fail("takes no {}", to_string(operand->type()));
  if (call.number("dropout_p", 0) != 0) call.fail("has dropout; call .eval() before the export");
  const DType dtype = query->dtype();
  const Dim width = query->shape().back();
  if (!width.is_static() || width.is_zero()) call.fail("the width of a head must be static");

  Mask mask;
  if (call.flag("is_causal", false))
    mask = causal(call, dtype, *(query->shape().end() - 2), *(key->shape().end() - 2));
  else if (Value* tensor = call.optional_tensor("attn_mask"))
    mask = given(call, tensor, dtype);

  // With grouped queries a key head serves several query heads: a broadcast batch axis.
  const bool several_queries = call.flag("enable_gqa", false) && query->shape().size() > 2 &&
                               key->shape().size() == query->shape().size();
  if (several_queries) {
    const Dim groups = *(key->shape().end() - 3);
    for (Value** operand : {&query, &key, &value, &mask.addend, &mask.keep})
      if (*operand != nullptr) *operand = grouped(call, *operand, groups);
  }
  const double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(width.value())));
  query = call.add(Op::mul, {query, call.scalar(dtype, scale)});
  Value* scores = call.add(Op::matmul, {query, key}, MatmulAttrs{true});
  if (mask.addend != nullptr) scores = call.add(Op::add, {scores, mask.addend});
  Value* weights = call.add(Op::softmax, {scores}, AxisAttrs{scores->type().rank() - 1});
  if (mask.keep != nullptr) weights = call.add(Op::mul, {weights, mask.keep});
  call.result(
      call.view(call.add(Op::matmul, {weights, value}, MatmulAttrs{}), call.recorded().shape));
}

constexpr OpRule kRules[] = {
    {"aten.scaled_dot_product_attention.default", attention},
};

}  // namespace

std::span<const OpRule> attention_rules() { return kRules; }

}  // namespace layline::pt2

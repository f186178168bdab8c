#include "frontend/ops/attention.h"

#include <cmath>
#include <limits>

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "ir/finite.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

/// The number for hidden scores. It is finite, so that a row without any key gives no NaN, and
/// small enough for exp to give 0.
double lowest(DType dtype) { return dtype == DType::f16 ? -65504.0 : -1e30; }

/// What to add to the scores, and what to multiply the probabilities with: torch gives zeros to a
/// query that sees no key. Constant masks make constants of both.
struct Mask {
  Value* addend = nullptr;
  Value* keep = nullptr;
};

/// Query i sees keys 0 to i.
Mask causal(const Builder& build, DType dtype, const Dim& queries, const Dim& keys) {
  Value* addend = front_of_constant(build, {queries, keys}, [&](const Shape& whole) {
    Tensor mask({dtype, whole});
    const int64_t rows = whole[0].value(), columns = whole[1].value();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = i + 1; j < columns; ++j) mask.set(i * columns + j, lowest(dtype));
    return Constant::of(mask);
  });
  return {addend, nullptr};
}

Mask given(const Builder& build, Value* mask, DType dtype) {
  if (mask->shape().empty()) build.fail("the mask has no axes");
  Value* least = build.scalar(dtype, lowest(dtype));
  Value* visible = mask;
  Value* addend = nullptr;
  if (mask->dtype() == DType::boolean) {
    addend = build.add(Op::where, {mask, build.scalar(dtype, 0), least});
  } else {
    mask = build.convert(mask, dtype);
    if (is_always_finite(mask)) return {mask, nullptr};
    Value* hidden = build.scalar(dtype, -std::numeric_limits<double>::infinity());
    visible = build.add(Op::greater, {mask, hidden});
    addend = build.add(Op::maximum, {mask, least});
  }
  const AxesAttrs keys{{mask->type().rank() - 1}};
  return {addend, build.convert(build.add(Op::reduce_any, {visible}, keys), dtype)};
}

Mask up_to(const Builder& build, Value* places, DType dtype, const Dim& keys) {
  Value* numbers = arange(build, {DType::i64, {keys}}, 0, 1);
  Value* rows = build.view(places, {element_count(places->shape()), 1});
  Value* seen = build.add(Op::less_equal, {numbers, rows});
  Value* least = build.scalar(dtype, lowest(dtype));
  return {build.add(Op::where, {seen, build.scalar(dtype, 0), least}), nullptr};
}

/// [..., heads, rows, width] as [..., groups, heads / groups, rows, width]; a mask with one head,
/// or without that axis, stays broadcast.
Value* grouped(const Builder& build, Value* x, const Dim& groups) {
  Shape shape = x->shape();
  if (shape.size() < 3) return x;
  const size_t axis = shape.size() - 3;
  const Dim outer = shape[axis].is_one() ? Dim(1) : groups;
  const auto inner = divide(shape[axis], outer);
  if (!inner)
    build.fail("{} heads do not divide into {} groups", to_string(shape[axis]), to_string(outer));
  shape[axis] = *inner;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), outer);
  return build.view(x, shape);
}

/// The inverse: [..., heads, rows, width] again.
Value* ungrouped(const Builder& build, Value* x) {
  Shape shape = x->shape();
  const auto inner = shape.end() - 3;
  *(inner - 1) = *(inner - 1) * *inner;
  shape.erase(inner);
  return build.view(x, std::move(shape));
}

}  // namespace

AttentionSteps attention_steps(const Builder& build, Value* query, Value* key, Value* value,
                               const Attention& how) {
  for (const Value* operand : {query, key, value})
    if (operand->shape().size() < 2) build.fail("takes no {}", to_string(operand->type()));
  const DType dtype = query->dtype();
  const Dim width = query->shape().back();
  if (!width.is_static() || width.is_zero()) build.fail("the width of a head must be static");

  Mask mask;
  if (how.causal)
    mask = causal(build, dtype, *(query->shape().end() - 2), *(key->shape().end() - 2));
  else if (how.places != nullptr)
    mask = up_to(build, how.places, dtype, *(key->shape().end() - 2));
  else if (how.mask != nullptr)
    mask = given(build, how.mask, dtype);

  // With grouped queries a key head serves several query heads: a broadcast batch axis.
  const bool several_queries =
      how.grouped && query->shape().size() > 2 && key->shape().size() == query->shape().size();
  if (several_queries) {
    const Dim groups = *(key->shape().end() - 3);
    for (Value** operand : {&query, &key, &value, &mask.addend, &mask.keep})
      if (*operand != nullptr) *operand = grouped(build, *operand, groups);
  }
  const double scale = how.scale.value_or(1 / std::sqrt(static_cast<double>(width.value())));
  query = build.add(Op::mul, {query, build.scalar(dtype, scale)});
  AttentionSteps steps;
  steps.scores = build.add(Op::matmul, {query, key}, MatmulAttrs{true});
  steps.capped = steps.scores;
  if (how.cap != 0) {
    Value* bent = build.add(Op::tanh, {times(build, steps.scores, 1 / how.cap)});
    steps.capped = times(build, bent, how.cap);
  }
  Value* masked = steps.capped;
  if (mask.addend != nullptr) masked = build.add(Op::add, {masked, mask.addend});
  steps.weights = build.add(Op::softmax, {masked}, AxisAttrs{masked->type().rank() - 1});
  if (mask.keep != nullptr) steps.weights = build.add(Op::mul, {steps.weights, mask.keep});
  Value* y = build.add(Op::matmul, {steps.weights, value}, MatmulAttrs{});
  steps.result = several_queries ? ungrouped(build, y) : y;
  return steps;
}

Value* attention(const Builder& build, Value* query, Value* key, Value* value,
                 const Attention& how) {
  return attention_steps(build, query, key, value, how).result;
}

}  // namespace layline::ops

#include "frontend/ops/arithmetic.h"

#include "frontend/ops/creation.h"
#include "ir/tensor.h"

namespace layline::ops {

Value* times(const Builder& build, Value* x, double factor) {
  return factor == 1 ? x : build.add(Op::mul, {x, build.scalar(x->dtype(), factor)});
}

Value* divide_towards_zero(const Builder& build, Value* a, Value* b) {
  if (is_float(a->dtype())) return build.add(Op::trunc, {build.add(Op::div, {a, b})});
  // What is left has the sign of the dividend.
  Value* divisible = build.add(Op::sub, {a, build.add(Op::fmod, {a, b})});
  return build.add(Op::floor_div, {divisible, b});
}

Value* power(const Builder& build, Value* x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return build.add(Op::square, {x});
  if (is_float(x->dtype())) {
    if (exponent == 0.5) return build.add(Op::sqrt, {x});
    if (exponent == -0.5) return build.add(Op::rsqrt, {x});
    if (exponent == -1) return build.add(Op::reciprocal, {x});
    if (exponent == 3) return build.add(Op::mul, {build.add(Op::square, {x}), x});
  }
  return build.add(Op::pow, {x, build.scalar(x->dtype(), exponent)});
}

Value* lerp(const Builder& build, Value* start, Value* end, double weight) {
  Value* way = build.add(Op::sub, {end, start});
  return weight < 0.5 ? build.add(Op::add, {start, times(build, way, weight)})
                      : build.add(Op::sub, {end, times(build, way, 1 - weight)});
}

Value* lerp(const Builder& build, Value* start, Value* end, Value* weight) {
  Value* way = build.add(Op::sub, {end, start});
  return build.add(Op::add, {start, build.add(Op::mul, {way, weight})});
}

Value* triangle(const Builder& build, Value* x, bool upper, int64_t diagonal) {
  if (x->shape().size() < 2) build.fail("takes no {}", to_string(x->type()));
  const Shape matrix(x->shape().end() - 2, x->shape().end());
  Value* mask = front_of_constant(build, matrix, [&](const Shape& whole) {
    Tensor keep({DType::boolean, whole});
    const int64_t rows = whole[0].value(), columns = whole[1].value();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        keep.set_int(i * columns + j, upper ? j - i >= diagonal : j - i <= diagonal);
    return Constant::of(keep);
  });
  return build.add(Op::where, {mask, x, build.scalar(x->dtype(), 0)});
}

}  // namespace layline::ops

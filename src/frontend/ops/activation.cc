#include "frontend/ops/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double held_by(DType dtype, double bound) {
  if (is_float(dtype) || std::isinf(bound)) return bound;
  Tensor held({dtype, {}});
  held.set_int(0, static_cast<int64_t>(bound));
  return static_cast<double>(held.get_int(0));
}

/// log(1 + exp(-|x|)), which keeps its digits where it is small. No delegate has log1p, and
/// XNNPACK's logarithm has few digits near 1. With s = sigmoid(-|x| - log 2) it is 2 artanh(s), a
/// series in the square of s, which is at most 1/9. The factors give 2e-7 of it, near f32's own
/// step.
Value* log_of_one_plus_decay(const Builder& build, Value* x) {
  const auto number = [&](double value) { return build.scalar(x->dtype(), value); };
  Value* size = build.add(Op::abs, {x});
  if (x->dtype() == DType::f64)
    return build.add(Op::log1p, {build.add(Op::exp, {build.add(Op::neg, {size})})});
  Value* s = build.add(Op::sigmoid, {build.add(Op::sub, {number(-std::numbers::ln2), size})});
  Value* square = build.add(Op::mul, {s, s});
  Value* sum = number(0.33983566);
  for (const double factor : {0.39635969, 0.66673483, 2.0})
    sum = build.add(Op::add, {build.add(Op::mul, {sum, square}), number(factor)});
  return build.add(Op::mul, {sum, s});
}

/// log(1 + exp(x)), written so that exp never overflows: max(x, 0) + log(1 + exp(-|x|)).
Value* log_of_one_plus_exp(const Builder& build, Value* x) {
  return build.add(Op::add, {build.clamp(x, 0, kInfinity), log_of_one_plus_decay(build, x)});
}

}  // namespace

Value* relu(const Builder& build, Value* x) { return build.clamp(x, 0, kInfinity); }

Value* clamp(const Builder& build, Value* x, double min, double max) {
  max = held_by(x->dtype(), max);
  return build.clamp(x, std::min(held_by(x->dtype(), min), max), max);
}

Value* clamp(const Builder& build, Value* x, Value* min, Value* max) {
  if (min != nullptr) x = build.add(Op::maximum, {x, build.convert(min, x->dtype())});
  if (max != nullptr) x = build.add(Op::minimum, {x, build.convert(max, x->dtype())});
  return x;
}

Value* hardsigmoid(const Builder& build, Value* x) {
  Value* shifted = build.add(Op::add, {x, build.scalar(x->dtype(), 3)});
  return build.add(Op::mul, {build.clamp(shifted, 0, 6), build.scalar(x->dtype(), 1.0 / 6)});
}

Value* hardsigmoid(const Builder& build, Value* x, double slope, double offset) {
  Value* line = build.add(Op::add, {times(build, x, slope), build.scalar(x->dtype(), offset)});
  return build.clamp(line, 0, 1);
}

Value* silu(const Builder& build, Value* x) { return swish(build, x, 1); }

Value* swish(const Builder& build, Value* x, double alpha) {
  return build.add(Op::mul, {x, build.add(Op::sigmoid, {times(build, x, alpha)})});
}

Value* softsign(const Builder& build, Value* x) {
  Value* divisor = build.add(Op::add, {build.add(Op::abs, {x}), build.scalar(x->dtype(), 1)});
  return build.add(Op::div, {x, divisor});
}

Value* softplus(const Builder& build, Value* x, double beta, double threshold) {
  Value* scaled = times(build, x, beta);
  Value* y = log_of_one_plus_exp(build, scaled);
  if (beta != 1) y = build.add(Op::div, {y, build.scalar(x->dtype(), beta)});
  // From 20 on the two agree to the last digit.
  constexpr double kAlike = 20;
  if (threshold >= kAlike) return y;
  Value* above = build.add(Op::greater, {scaled, build.scalar(x->dtype(), threshold)});
  return build.add(Op::where, {above, x, y});
}

Value* mish(const Builder& build, Value* x) {
  // tanh(log(1 + e)) is n / (n + 2) with n = e * (e + 2), which keeps its digits where e is small.
  // It is 1 long before e overflows.
  const double most = x->dtype() == DType::f16 ? 5 : 20;
  Value* two = build.scalar(x->dtype(), 2);
  Value* e = build.add(Op::exp, {build.clamp(x, -kInfinity, most)});
  Value* n = build.add(Op::mul, {e, build.add(Op::add, {e, two})});
  return build.add(Op::mul, {x, build.add(Op::div, {n, build.add(Op::add, {n, two})})});
}

Value* log_sigmoid(const Builder& build, Value* x) {
  return build.add(Op::neg, {log_of_one_plus_exp(build, build.add(Op::neg, {x}))});
}

Value* elu(const Builder& build, Value* x, double alpha, double scale) {
  return times(build, build.add(Op::elu, {x}, AlphaAttrs{alpha}), scale);
}

Value* celu(const Builder& build, Value* x, double alpha) {
  // An elu in units of alpha.
  return times(build, build.add(Op::elu, {times(build, x, 1 / alpha)}, AlphaAttrs{1}), alpha);
}

Value* selu(const Builder& build, Value* x) {
  // Constants of Klambauer et al., Self-Normalizing Neural Networks, as torch has them.
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  return elu(build, x, kAlpha, kScale);
}

Value* prelu(const Builder& build, Value* x, Value* slope) {
  if (slope->type().rank() == 1 && x->type().rank() > 2) {
    Shape shape(x->shape().size() - 1, Dim(1));
    shape[0] = slope->shape()[0];
    slope = build.view(slope, shape);
  }
  return build.add(Op::prelu, {x, slope});
}

Value* glu(const Builder& build, Value* x, int64_t axis) {
  if (x->shape().empty()) build.fail("takes no 0-d tensors");
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static() || length.value() % 2 != 0)
    build.fail("halves an axis of {} elements", to_string(length));
  const int64_t half = length.value() / 2;
  Value* gate = build.add(Op::sigmoid, {build.slice(x, axis, half, half)});
  return build.add(Op::mul, {build.slice(x, axis, 0, half), gate});
}

Value* hardshrink(const Builder& build, Value* x, double bound) {
  Value* limit = build.scalar(x->dtype(), bound);
  Value* inside = build.add(Op::less_equal, {build.add(Op::abs, {x}), limit});
  return build.add(Op::where, {inside, build.scalar(x->dtype(), 0), x});
}

Value* softshrink(const Builder& build, Value* x, double bound) {
  return build.add(Op::sub, {x, build.clamp(x, -bound, bound)});
}

Value* threshold(const Builder& build, Value* x, double bound, double value) {
  Value* below = build.add(Op::less_equal, {x, build.scalar(x->dtype(), bound)});
  return build.add(Op::where, {below, build.scalar(x->dtype(), value), x});
}

Value* softmax(const Builder& build, Op op, Value* x, int64_t axis) {
  Value* y = build.add(op, {with_some_axis(build, x)}, AxisAttrs{axis});
  return build.view(y, x->shape());
}

}  // namespace layline::ops

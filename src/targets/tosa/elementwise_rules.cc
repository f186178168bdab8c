#include "targets/tosa/elementwise_rules.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "transforms/rewrite.h"

namespace layline::tosa {
namespace {

/// Arithmetic on one dtype, written as it reads.
class Formula {
 public:
  Formula(const Builder& build, const Node& node)
      : build_(build), dtype_(node.operand(0)->dtype()) {}

  Value* number(double value) const { return build_.scalar(dtype_, value); }
  Value* add(Value* a, Value* b) const { return build_.binary(Op::add, a, b); }
  Value* sub(Value* a, Value* b) const { return build_.binary(Op::sub, a, b); }
  Value* mul(Value* a, Value* b) const { return build_.binary(Op::mul, a, b); }
  Value* times(Value* a, double b) const { return mul(a, number(b)); }
  Value* plus(Value* a, double b) const { return add(a, number(b)); }
  Value* apply(Op op, Value* x) const { return build_.add(op, {x}); }
  Value* is(Op comparison, Value* a, Value* b) const { return build_.binary(comparison, a, b); }
  Value* is(Op comparison, Value* a, double b) const { return is(comparison, a, number(b)); }
  Value* choose(Value* condition, Value* yes, Value* no) const {
    return build_.add(Op::where, {condition, yes, no});
  }
  /// slope * min(x, 0) + max(x, 0)
  Value* leaky(Value* x, Value* slope) const {
    return add(build_.binary(Op::maximum, x, number(0)),
               mul(build_.binary(Op::minimum, x, number(0)), slope));
  }

 private:
  const Builder& build_;
  DType dtype_;
};

}  // namespace

/// A fused clamp is not lost: the product clamps.
Value* quotient(const Builder& build, const Node& node) {
  Value* reciprocal = build.add(Op::reciprocal, {node.operand(1)});
  return build.add(Op::mul, {node.operand(0), reciprocal}, node.attributes());
}

/// The product with a rounded reciprocal can fall just under or over a whole number, which the rest
/// shows: of floor(a / b) it has the sign of b and is smaller.
Value* floored_quotient(const Builder& build, const Node& node) {
  if (!is_float(node.result()->dtype())) return nullptr;
  const Formula f(build, node);
  Value* a = node.operand(0);
  Value* b = node.operand(1);
  Value* q = f.apply(Op::floor, build.binary(Op::div, a, b));
  Value* size = f.apply(Op::abs, b);
  Value* rest = f.sub(a, f.mul(q, b));
  Value* towards_b = f.choose(f.is(Op::less, b, 0.0), f.apply(Op::neg, rest), rest);
  Value* more = f.choose(f.is(Op::greater_equal, towards_b, size), f.number(1), f.number(0));
  Value* less = f.choose(f.is(Op::less, towards_b, 0.0), f.number(1), f.number(0));
  return f.sub(f.add(q, more), less);
}

/// a - b floor(a / b)
Value* remainder(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* a = node.operand(0);
  Value* b = node.operand(1);
  return f.sub(a, f.mul(b, build.binary(Op::floor_div, a, b)));
}

/// |a| mod |b|, with the sign of a.
Value* remainder_of_magnitudes(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* a = node.operand(0);
  Value* rest = build.binary(Op::remainder, f.apply(Op::abs, a), f.apply(Op::abs, node.operand(1)));
  return f.choose(f.is(Op::less, a, 0.0), f.apply(Op::neg, rest), rest);
}

std::optional<int64_t> whole_exponent(const Node& node) {
  const std::optional<double> exponent = uniform_value(node.operand(1));
  if (!exponent || *exponent != std::floor(*exponent) || std::abs(*exponent) > 1e9)
    return std::nullopt;
  return static_cast<int64_t>(*exponent);
}

/// POW has no negative bases; whole exponents take them. What stands in its place is a power too,
/// which is refused again if it is the dtype that has none.
Value* power(const Builder& build, const Node& node) {
  const std::optional<int64_t> exponent = whole_exponent(node);
  Value* x = node.operand(0);
  const bool has_magnitude = x->def() != nullptr && x->def()->is(Op::abs);
  if (!exponent || !is_float(node.result()->dtype()) || has_magnitude) return nullptr;
  const Formula f(build, node);
  if (*exponent == 2) return f.mul(x, x);
  Value* magnitude = build.binary(Op::pow, f.apply(Op::abs, x), node.operand(1));
  if (*exponent % 2 == 0) return magnitude;
  return f.choose(f.is(Op::less, x, 0.0), f.apply(Op::neg, magnitude), magnitude);
}

/// Abramowitz & Stegun 4.4.49 on [-1, 1], within 2e-8; pi/2 - atan(1/x) beyond.
Value* atan(const Builder& build, const Node& node) {
  constexpr double kCoefficients[] = {0.0028662257,  -0.0161657367, 0.0429096138,
                                      -0.0752896400, 0.1065626393,  -0.1420889944,
                                      0.1999355085,  -0.3333314528, 1};
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* size = f.apply(Op::abs, x);
  Value* is_large = f.is(Op::greater, size, 1.0);
  Value* reduced = f.choose(is_large, f.apply(Op::reciprocal, size), size);
  Value* square = f.mul(reduced, reduced);
  Value* sum = f.number(kCoefficients[0]);
  for (size_t i = 1; i < std::size(kCoefficients); ++i)
    sum = f.plus(f.mul(sum, square), kCoefficients[i]);
  Value* angle = f.mul(reduced, sum);
  angle = f.choose(is_large, f.sub(f.number(std::numbers::pi / 2), angle), angle);
  return f.choose(f.is(Op::less, x, 0.0), f.apply(Op::neg, angle), angle);
}

Value* prelu(const Builder& build, const Node& node) {
  return Formula(build, node).leaky(node.operand(0), node.operand(1));
}

Value* leaky_relu(const Builder& build, const Node& node) {
  const Formula f(build, node);
  return f.leaky(node.operand(0), f.number(node.attrs<AlphaAttrs>().alpha));
}

Value* expm1(const Builder& build, const Node& node) {
  const Formula f(build, node);
  return f.plus(f.apply(Op::exp, node.operand(0)), -1);
}

Value* log1p(const Builder& build, const Node& node) {
  const Formula f(build, node);
  return f.apply(Op::log, f.plus(node.operand(0), 1));
}

/// Unlike x / sqrt(x), right at 0 and at infinity.
Value* square_root(const Builder& build, const Node& node) {
  const Formula f(build, node);
  return f.apply(Op::reciprocal, f.apply(Op::rsqrt, node.operand(0)));
}

/// To the nearest whole number, of two to the even one.
Value* round(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (!is_float(x->dtype())) return x;
  const Formula f(build, node);
  Value* below = f.apply(Op::floor, x);
  Value* above = f.plus(below, 1);
  Value* fraction = f.sub(x, below);
  Value* half_of_even = f.apply(Op::floor, f.times(below, 0.5));
  Value* even = f.choose(f.is(Op::equal, f.times(half_of_even, 2), below), below, above);
  Value* nearest = f.choose(f.is(Op::less, fraction, 0.5), below, above);
  return f.choose(f.is(Op::equal, fraction, 0.5), even, nearest);
}

Value* trunc(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (!is_float(x->dtype())) return x;
  const Formula f(build, node);
  return f.choose(f.is(Op::less, x, 0.0), f.apply(Op::ceil, x), f.apply(Op::floor, x));
}

/// The floor of an integer.
Value* whole_number(const Builder&, const Node& node) {
  return is_float(node.result()->dtype()) ? nullptr : node.operand(0);
}

Value* square(const Builder& build, const Node& node) {
  return build.binary(Op::mul, node.operand(0), node.operand(0));
}

Value* sign(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* not_positive = f.choose(f.is(Op::less, x, 0.0), f.number(-1), f.times(x, 0));
  return f.choose(f.is(Op::greater, x, 0.0), f.number(1), not_positive);
}

/// x clamp(x + 3, 0, 6) / 6
Value* hardswish(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  return f.mul(x, f.times(build.clamp(f.plus(x, 3), 0, 6), 1.0 / 6));
}

/// x (1 + erf(x / sqrt(2))) / 2
Value* gelu_erf(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* erf = f.apply(Op::erf, f.times(x, 1 / std::numbers::sqrt2));
  return f.mul(f.times(x, 0.5), f.plus(erf, 1));
}

/// The exponential of what is positive may overflow, and is not wanted.
Value* elu(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* e = f.apply(Op::exp, build.binary(Op::minimum, x, f.number(0)));
  Value* low = f.times(f.plus(e, -1), node.attrs<AlphaAttrs>().alpha);
  return f.choose(f.is(Op::greater, x, 0.0), x, low);
}

/// CLAMP takes floats and narrow integers.
Value* integer_clamp(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (!is_integer(x->dtype())) return nullptr;
  const Bounds& bounds = node.attrs<ClampAttrs>().bounds;
  if (bounds.min > std::numeric_limits<int32_t>::min())
    x = build.binary(Op::maximum, x, build.scalar(x->dtype(), std::ceil(bounds.min)));
  if (bounds.max < std::numeric_limits<int32_t>::max())
    x = build.binary(Op::minimum, x, build.scalar(x->dtype(), std::floor(bounds.max)));
  return x;
}

Value* convert_by_integers(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (is_float(x->dtype()) && node.result()->dtype() == DType::boolean)
    return build.binary(Op::not_equal, x, build.scalar(x->dtype(), 0));
  if (x->dtype() == DType::boolean && is_float(node.result()->dtype()))
    return build.convert(build.convert(x, DType::i32), node.result()->dtype());
  return nullptr;
}

}  // namespace layline::tosa

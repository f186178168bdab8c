#include "targets/tosa/elementwise_rules.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "ir/evaluate.h"
#include "targets/tosa/formula.h"
#include "transforms/rewrite.h"

namespace layline::tosa {
namespace {

constexpr int kMostShift = 31;

}  // namespace
/// The product with a reciprocal. A fused clamp is not lost: the product clamps. Half floats are
/// divided as floats: a reciprocal of 11 bits would be rounded once too often.
Value* quotient(const Builder& build, const Node& node) {
  const DType dtype = node.result()->dtype();
  const DType wide = dtype == DType::f16 ? DType::f32 : dtype;
  Value* reciprocal = build.add(Op::reciprocal, {build.convert(node.operand(1), wide)});
  Value* a = build.convert(node.operand(0), wide);
  return build.convert(build.add(Op::mul, {a, reciprocal}, node.attributes()), dtype);
}

/// The floor of a quotient. The product with a rounded reciprocal can fall just under or over a
/// whole number. The remainder shows it: that of floor(a / b) has the sign of b, and that of the
/// next number has not.
Value* floored_quotient(const Builder& build, const Node& node) {
  if (!is_float(node.result()->dtype())) return nullptr;
  const Formula f(build, node);
  Value* a = node.operand(0);
  Value* b = node.operand(1);
  Value* q = f.apply(Op::floor, build.add(Op::div, {a, b}));
  Value* down = f.is(Op::less, b, 0.0);
  const auto rest_of = [&](Value* quotient) {
    Value* rest = f.sub({a, f.mul({quotient, b})});
    return f.choose({down, f.apply(Op::neg, rest), rest});
  };
  Value* next = f.add({q, f.number(1)});
  Value* reaches_next = f.is(Op::greater_equal, rest_of(next), 0.0);
  Value* less = f.choose({f.is(Op::less, rest_of(q), 0.0), f.number(1), f.number(0)});
  return f.sub({f.choose({reaches_next, next, q}), less});
}

/// a - b floor(a / b)
Value* remainder(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* a = node.operand(0);
  Value* b = node.operand(1);
  return f.sub({a, f.mul({b, build.add(Op::floor_div, {a, b})})});
}

/// |a| mod |b|, with the sign of a.
Value* remainder_of_magnitudes(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* a = node.operand(0);
  Value* rest = build.add(Op::remainder, {f.apply(Op::abs, a), f.apply(Op::abs, node.operand(1))});
  return f.choose({f.is(Op::less, a, 0.0), f.apply(Op::neg, rest), rest});
}

std::optional<int64_t> whole_exponent(const Node& node) {
  const std::optional<double> exponent = uniform_value(node.operand(1));
  if (!exponent || *exponent != std::floor(*exponent) || std::abs(*exponent) > 1e9)
    return std::nullopt;
  return static_cast<int64_t>(*exponent);
}

/// POW takes no negative bases, whole exponents do. What replaces it is a power, too, and is
/// refused again if it is the dtype that TOSA cannot raise.
Value* power(const Builder& build, const Node& node) {
  const std::optional<int64_t> exponent = whole_exponent(node);
  Value* x = node.operand(0);
  const bool has_magnitude = x->def() != nullptr && x->def()->is(Op::abs);
  if (!exponent || !is_float(node.result()->dtype()) || has_magnitude) return nullptr;
  const Formula f(build, node);
  if (*exponent == 2) return f.mul({x, x});
  Value* magnitude = build.add(Op::pow, {f.apply(Op::abs, x), node.operand(1)});
  if (*exponent % 2 == 0) return magnitude;
  return f.choose({f.is(Op::less, x, 0.0), f.apply(Op::neg, magnitude), magnitude});
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

/// A formula that, unlike x / sqrt(x), is right at 0 and at infinity.
Value* square_root(const Builder& build, const Node& node) {
  const Formula f(build, node);
  return f.apply(Op::reciprocal, f.apply(Op::rsqrt, node.operand(0)));
}

/// Rounds to the nearest whole number, and halves to the even one.
Value* round(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (!is_float(x->dtype())) return x;
  const Formula f(build, node);
  Value* below = f.apply(Op::floor, x);
  Value* above = f.plus(below, 1);
  Value* fraction = f.sub({x, below});
  Value* half_of_even = f.apply(Op::floor, f.times(below, 0.5));
  Value* even = f.choose({f.is(Op::equal, {f.times(half_of_even, 2), below}), below, above});
  Value* nearest = f.choose({f.is(Op::less, fraction, 0.5), below, above});
  return f.choose({f.is(Op::equal, fraction, 0.5), even, nearest});
}

Value* trunc(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (!is_float(x->dtype())) return x;
  const Formula f(build, node);
  return f.choose({f.is(Op::less, x, 0.0), f.apply(Op::ceil, x), f.apply(Op::floor, x)});
}

/// The floor of an integer.
Value* whole_number(const Builder&, const Node& node) {
  return is_float(node.result()->dtype()) ? nullptr : node.operand(0);
}

Value* square(const Builder& build, const Node& node) {
  return build.add(Op::mul, {node.operand(0), node.operand(0)});
}

Value* sign(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* not_positive = f.choose({f.is(Op::less, x, 0.0), f.number(-1), f.times(x, 0)});
  return f.choose({f.is(Op::greater, x, 0.0), f.number(1), not_positive});
}

/// x clamp(x + 3, 0, 6) / 6
Value* hardswish(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  return f.mul({x, f.times(build.clamp(f.plus(x, 3), 0, 6), 1.0 / 6)});
}

/// x (1 + erf(x / sqrt(2))) / 2
Value* gelu_erf(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* erf = f.apply(Op::erf, f.times(x, 1 / std::numbers::sqrt2));
  return f.mul({f.times(x, 0.5), f.plus(erf, 1)});
}

/// Takes no exponential of positive numbers: it is not wanted and may overflow.
Value* elu(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* e = f.apply(Op::exp, build.add(Op::minimum, {x, f.number(0)}));
  Value* low = f.times(f.plus(e, -1), node.attrs<AlphaAttrs>().alpha);
  return f.choose({f.is(Op::greater, x, 0.0), x, low});
}

/// CLAMP takes floats and narrow integers.
Value* integer_clamp(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (!is_integer(x->dtype())) return nullptr;
  const Bounds& bounds = node.attrs<ClampAttrs>().bounds;
  if (bounds.min > std::numeric_limits<int32_t>::min())
    x = build.add(Op::maximum, {x, build.scalar(x->dtype(), std::ceil(bounds.min))});
  if (bounds.max < std::numeric_limits<int32_t>::max())
    x = build.add(Op::minimum, {x, build.scalar(x->dtype(), std::floor(bounds.max))});
  return x;
}

Value* convert_by_integers(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (is_float(x->dtype()) && node.result()->dtype() == DType::boolean)
    return build.add(Op::not_equal, {x, build.scalar(x->dtype(), 0)});
  if (x->dtype() == DType::boolean && is_float(node.result()->dtype()))
    return build.convert(build.convert(x, DType::i32), node.result()->dtype());
  return nullptr;
}

/// TOSA shifts by 0 to 31 bits. A shift by more leaves 0 or, to the right, the sign.
Value* shift_in_range(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* a = node.operand(0);
  Value* count = node.operand(1);
  if (is_shift_count(count)) return nullptr;
  Value* most = build.scalar(count->dtype(), kMostShift);
  Value* none = build.scalar(count->dtype(), 0);
  Value* within = build.add(Op::minimum, {build.add(Op::maximum, {count, none}), most});
  Value* is_within = build.add(Op::equal, {count, within});
  Value* shifted = build.add(node.op(), {a, within});
  Value* rest = node.is(Op::left_shift) ? f.number(0) : build.add(Op::right_shift, {a, most});
  return f.choose({is_within, shifted, rest});
}

/// The count must be a constant from 0 to 31, or clamped to that range.
bool is_shift_count(const Value* count) {
  if (stored_constant(count)) {
    const layline::Tensor counts = tensor_of(count);
    for (int64_t i = 0; i < counts.count(); ++i)
      if (counts.get_int(i) < 0 || counts.get_int(i) > kMostShift) return false;
    return true;
  }
  const Node* at_most = count->def();
  if (!at_most || !at_most->is(Op::minimum)) return false;
  const Node* at_least = at_most->operand(0)->def();
  const std::optional<double> most = uniform_value(at_most->operand(1));
  if (!at_least || !at_least->is(Op::maximum) || !most || *most > kMostShift) return false;
  const std::optional<double> least = uniform_value(at_least->operand(1));
  return least && *least >= 0;
}

}  // namespace layline::tosa

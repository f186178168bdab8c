// Functions of one or two tensors that are written out in others.
#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* self(Call& call) { return call.convert(call.tensor("self"), call.recorded().dtype); }

Value* number(const Call& call, const Value* like, double value) {
  return call.scalar(like->dtype(), value);
}

void times(Call& call, double factor) {
  Value* x = self(call);
  call.result(call.add(Op::mul, {x, number(call, x, factor)}));
}

void frac(Call& call) {
  Value* x = self(call);
  call.result(call.add(Op::sub, {x, call.add(Op::trunc, {x})}));
}

void erfc(Call& call) {
  Value* x = self(call);
  call.result(call.add(Op::sub, {number(call, x, 1), call.add(Op::erf, {x})}));
}

/// sin(pi x) / (pi x), and 1 at 0.
void sinc(Call& call) {
  Value* x = self(call);
  Value* angle = call.add(Op::mul, {x, number(call, x, std::numbers::pi)});
  Value* quotient = call.add(Op::div, {call.add(Op::sin, {angle}), angle});
  Value* at_zero = call.add(Op::equal, {x, number(call, x, 0)});
  call.result(call.add(Op::where, {at_zero, number(call, x, 1), quotient}));
}

/// log(x / (1 - x)), of x kept away from 0 and 1 by eps.
void logit(Call& call) {
  Value* x = self(call);
  if (call.has("eps")) {
    const double eps = call.number("eps", 0);
    x = call.clamp(x, eps, 1 - eps);
  }
  Value* odds = call.add(Op::div, {x, call.add(Op::sub, {number(call, x, 1), x})});
  call.result(call.add(Op::log, {odds}));
}

void everywhere(Call& call, bool truth) {
  const Shape shape = call.tensor("self")->shape();
  call.result(call.expand(call.scalar(DType::boolean, truth), shape));
}

/// x - x is 0 for numbers and NaN for all else.
void isfinite(Call& call) {
  Value* x = call.tensor("self");
  if (!is_float(x->dtype())) return everywhere(call, true);
  call.result(call.add(Op::equal, {call.add(Op::sub, {x, x}), number(call, x, 0)}));
}

void is_equal_to(Call& call, double what) {
  Value* x = call.tensor("self");
  if (!is_float(x->dtype())) return everywhere(call, false);
  call.result(call.add(Op::equal, {x, number(call, x, what)}));
}

/// Negative zero counts, so the sign is looked for where 1 / x is.
void signbit(Call& call) {
  Value* x = call.tensor("self");
  Value* zero = number(call, x, 0);
  Value* negative = call.add(Op::less, {x, zero});
  if (!is_float(x->dtype())) return call.result(negative);
  Value* inverse = call.add(Op::reciprocal, {x});
  Value* negative_zero = call.add(
      Op::logical_and, {call.add(Op::equal, {x, zero}), call.add(Op::less, {inverse, zero})});
  call.result(call.add(Op::logical_or, {negative, negative_zero}));
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 3.3895313892515355e38;
    case DType::f64:
      return std::numeric_limits<double>::max();
    default:
      return std::numeric_limits<float>::max();
  }
}

void nan_to_num(Call& call) {
  Value* x = call.tensor("self");
  if (!is_float(x->dtype())) return call.result(x);
  const double most = largest(x->dtype());
  auto replaced = [&](Value* where, double by) {
    x = call.add(Op::where, {where, number(call, x, by), x});
  };
  replaced(call.add(Op::not_equal, {x, x}), call.number("nan", 0));
  replaced(call.add(Op::equal, {x, number(call, x, kInfinity)}), call.number("posinf", most));
  replaced(call.add(Op::equal, {x, number(call, x, -kInfinity)}), call.number("neginf", -most));
  call.result(x);
}

void round_decimals(Call& call) {
  Value* x = self(call);
  const double unit = std::pow(10.0, std::abs(static_cast<double>(call.integer("decimals", 0))));
  const bool fractions = call.integer("decimals", 0) > 0;
  Value* scaled = call.add(fractions ? Op::mul : Op::div, {x, number(call, x, unit)});
  Value* rounded = call.add(Op::round, {scaled});
  call.result(call.add(fractions ? Op::div : Op::mul, {rounded, number(call, x, unit)}));
}

void positive(Call& call) { call.result(call.tensor("self")); }

/// Between the two slopes of training, as torch evaluates it.
void rrelu(Call& call) {
  if (call.flag("training", false))
    call.fail("is in training mode; call model.eval() before the export");
  const double slope = (call.number("lower", 1.0 / 8) + call.number("upper", 1.0 / 3)) / 2;
  call.result(call.add(Op::leaky_relu, {call.tensor("self")}, AlphaAttrs{slope}));
}

// ---- Two tensors ----

struct Pair {
  Value *a, *b;
};

Pair pair(Call& call) {
  const DType dtype = call.recorded().dtype;
  return {as(call, operand(call, "self"), dtype), as(call, operand(call, "other"), dtype)};
}

void atan2(Call& call) {
  const auto [y, x] = pair(call);
  call.result(call.add(Op::atan2, {y, x}));
}

/// The extremum, or the other operand where one is NaN.
void number_extremum(Call& call, Op op) {
  const auto [a, b] = pair(call);
  Value* y = call.add(op, {a, b});
  if (is_float(a->dtype())) {
    y = call.add(Op::where, {call.add(Op::not_equal, {a, a}), b, y});
    y = call.add(Op::where, {call.add(Op::not_equal, {b, b}), a, y});
  }
  call.result(y);
}

void hypot(Call& call) {
  const auto [a, b] = pair(call);
  call.result(call.add(
      Op::sqrt, {call.add(Op::add, {call.add(Op::square, {a}), call.add(Op::square, {b})})}));
}

/// max + log(1 + exp(-|a - b|)), in units of log(base).
void logaddexp(Call& call, double unit) {
  const auto [a, b] = pair(call);
  Value* distance = call.add(Op::abs, {call.add(Op::sub, {a, b})});
  Value* decay = call.add(Op::exp, {call.add(Op::mul, {distance, number(call, a, -unit)})});
  Value* rest = call.add(Op::mul, {call.add(Op::log1p, {decay}), number(call, a, 1 / unit)});
  call.result(call.add(Op::add, {call.add(Op::maximum, {a, b}), rest}));
}

/// x log(y), and 0 where x is 0 and y a number.
void xlogy(Call& call) {
  const auto [x, y] = pair(call);
  Value* product = call.add(Op::mul, {x, call.add(Op::log, {y})});
  Value* zero = call.add(
      Op::logical_and, {call.add(Op::equal, {x, number(call, x, 0)}), call.add(Op::equal, {y, y})});
  call.result(call.add(Op::where, {zero, number(call, x, 0), product}));
}

void ldexp(Call& call) {
  const auto [x, exponent] = pair(call);
  call.result(call.add(Op::mul, {x, call.add(Op::pow, {number(call, x, 2), exponent})}));
}

/// |a| with the sign of b; a negative zero counts as positive.
void copysign(Call& call) {
  const auto [a, b] = pair(call);
  Value* magnitude = call.add(Op::abs, {a});
  Value* negative = call.add(Op::less, {b, number(call, b, 0)});
  call.result(call.add(Op::where, {negative, call.add(Op::neg, {magnitude}), magnitude}));
}

void heaviside(Call& call) {
  Value* x = call.tensor("self");
  Value* zero = number(call, x, 0);
  Value* step = call.convert(call.add(Op::greater, {x, zero}), x->dtype());
  call.result(call.add(Op::where, {call.add(Op::equal, {x, zero}), call.tensor("values"), step}));
}

/// |a - b| <= atol + rtol * |b|, or equal, as infinities are.
void isclose(Call& call) {
  const Operand left = operand(call, "self"), right = operand(call, "other");
  const DType dtype = promote({left, right});
  Value* a = as(call, left, dtype);
  Value* b = as(call, right, dtype);
  Value* equal = call.add(Op::equal, {a, b});
  if (!is_float(dtype)) call.fail("is supported on floats only");
  if (call.flag("equal_nan", false)) call.fail("equal_nan=True is not supported");
  Value* bound = call.add(
      Op::add,
      {call.add(Op::mul, {call.add(Op::abs, {b}), number(call, b, call.number("rtol", 1e-5))}),
       number(call, b, call.number("atol", 1e-8))});
  Value* distance = call.add(Op::abs, {call.add(Op::sub, {a, b})});
  Value* finite = call.add(Op::less, {distance, number(call, b, kInfinity)});
  Value* near = call.add(Op::logical_and, {call.add(Op::less_equal, {distance, bound}), finite});
  call.result(call.add(Op::logical_or, {equal, near}));
}

template <Op op>
void unary(Call& call) {
  call.result(call.add(op, {self(call)}));
}

// ---- Bits ----

/// Of booleans, the logical op.
template <Op integers, Op booleans>
void bitwise(Call& call) {
  const auto [a, b] = pair(call);
  call.result(call.add(a->dtype() == DType::boolean ? booleans : integers, {a, b}));
}

template <Op op>
void shift(Call& call) {
  const auto [a, b] = pair(call);
  call.result(call.add(op, {a, b}));
}

/// ~x = x ^ -1.
void bitwise_not(Call& call) {
  Value* x = call.tensor("self");
  if (x->dtype() == DType::boolean) return call.result(call.add(Op::logical_not, {x}));
  const bool is_unsigned = x->dtype() == DType::u8 || x->dtype() == DType::u16;
  const double ones =
      is_unsigned ? std::pow(2.0, 8.0 * static_cast<double>(byte_size(x->dtype()))) - 1 : -1;
  call.result(call.add(Op::bitwise_xor, {x, number(call, x, ones)}));
}

constexpr OpRule kRules[] = {
    {"aten.asin.default", unary<Op::asin>},
    {"aten.acos.default", unary<Op::acos>},
    {"aten.sinh.default", unary<Op::sinh>},
    {"aten.cosh.default", unary<Op::cosh>},
    {"aten.asinh.default", unary<Op::asinh>},
    {"aten.acosh.default", unary<Op::acosh>},
    {"aten.atanh.default", unary<Op::atanh>},
    {"aten.sgn.default", unary<Op::sign>},
    {"aten.special_expit.default", unary<Op::sigmoid>},
    {"aten.deg2rad.default", [](Call& call) { times(call, std::numbers::pi / 180); }},
    {"aten.rad2deg.default", [](Call& call) { times(call, 180 / std::numbers::pi); }},
    {"aten.frac.default", frac},
    {"aten.erfc.default", erfc},
    {"aten.sinc.default", sinc},
    {"aten.logit.default", logit},
    {"aten.isfinite.default", isfinite},
    {"aten.isposinf.default", [](Call& call) { is_equal_to(call, kInfinity); }},
    {"aten.isneginf.default", [](Call& call) { is_equal_to(call, -kInfinity); }},
    {"aten.signbit.default", signbit},
    {"aten.nan_to_num.default", nan_to_num},
    {"aten.round.decimals", round_decimals},
    {"aten.positive.default", positive},
    {"aten.rrelu.default", rrelu},
    {"aten.atan2.default", atan2},
    {"aten.fmax.default", [](Call& call) { number_extremum(call, Op::maximum); }},
    {"aten.fmin.default", [](Call& call) { number_extremum(call, Op::minimum); }},
    {"aten.hypot.default", hypot},
    {"aten.logaddexp.default", [](Call& call) { logaddexp(call, 1); }},
    {"aten.logaddexp2.default", [](Call& call) { logaddexp(call, std::numbers::ln2); }},
    {"aten.xlogy.Tensor", xlogy},
    {"aten.xlogy.Scalar_Self", xlogy},
    {"aten.xlogy.Scalar_Other", xlogy},
    {"aten.ldexp.Tensor", ldexp},
    {"aten.copysign.Tensor", copysign},
    {"aten.copysign.Scalar", copysign},
    {"aten.heaviside.default", heaviside},
    {"aten.isclose.default", isclose},
    {"aten.bitwise_not.default", bitwise_not},
    {"aten.bitwise_and.Tensor", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.bitwise_and.Scalar", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.__and__.Tensor", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.__and__.Scalar", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.bitwise_or.Tensor", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.bitwise_or.Scalar", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.__or__.Tensor", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.__or__.Scalar", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.bitwise_xor.Tensor", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.bitwise_xor.Scalar", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.__xor__.Tensor", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.__xor__.Scalar", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.bitwise_left_shift.Tensor", shift<Op::left_shift>},
    {"aten.bitwise_left_shift.Tensor_Scalar", shift<Op::left_shift>},
    {"aten.__lshift__.Scalar", shift<Op::left_shift>},
    {"aten.__lshift__.Tensor", shift<Op::left_shift>},
    {"aten.bitwise_right_shift.Tensor", shift<Op::right_shift>},
    {"aten.bitwise_right_shift.Tensor_Scalar", shift<Op::right_shift>},
    {"aten.__rshift__.Scalar", shift<Op::right_shift>},
    {"aten.__rshift__.Tensor", shift<Op::right_shift>},
};

}  // namespace

std::span<const OpRule> function_rules() { return kRules; }

}  // namespace layline::pt2

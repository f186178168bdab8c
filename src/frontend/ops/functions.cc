#include "frontend/ops/functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace layline::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* number(const Builder& build, const Value* like, double value) {
  return build.scalar(like->dtype(), value);
}

Value* everywhere(const Builder& build, const Value* x, bool truth) {
  return build.expand(build.scalar(DType::boolean, truth), x->shape());
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

}  // namespace

Value* exp2(const Builder& build, Value* x) {
  return build.add(Op::exp, {build.add(Op::mul, {x, number(build, x, std::numbers::ln2)})});
}

Value* tan(const Builder& build, Value* x) {
  return build.add(Op::div, {build.add(Op::sin, {x}), build.add(Op::cos, {x})});
}

Value* frac(const Builder& build, Value* x) {
  return build.add(Op::sub, {x, build.add(Op::trunc, {x})});
}

Value* erfc(const Builder& build, Value* x) {
  return build.add(Op::sub, {number(build, x, 1), build.add(Op::erf, {x})});
}

Value* erfinv(const Builder& build, Value* x) {
  const auto polynomial = [&](Value* z, std::initializer_list<double> greatest_power_first) {
    Value* sum = nullptr;
    for (const double factor : greatest_power_first) {
      Value* next = number(build, x, factor);
      sum = sum == nullptr ? next : build.add(Op::add, {build.add(Op::mul, {sum, z}), next});
    }
    return sum;
  };
  // Rational functions, one near 0 and one near the ends, and two of Newton's steps, as in torch.
  Value* z = build.add(Op::square, {x});
  Value* top = polynomial(z, {-0.140543331, 0.914624893, -1.645349621, 0.886226899});
  Value* bottom = polynomial(z, {0.012229801, -0.329097515, 1.442710462, -2.118377725, 1});
  Value* middle = build.add(Op::div, {build.add(Op::mul, {x, top}), bottom});
  Value* size = build.add(Op::abs, {x});
  z = build.add(Op::mul, {build.add(Op::sub, {number(build, x, 1), size}), number(build, x, 0.5)});
  z = build.add(Op::sqrt, {build.add(Op::neg, {build.add(Op::log, {z})})});
  top = polynomial(z, {1.641345311, 3.429567803, -1.624906493, -1.970840454});
  bottom = polynomial(z, {1.637067800, 3.543889200, 1});
  Value* sign = build.add(Op::sign, {x});
  Value* end = build.add(Op::mul, {sign, build.add(Op::div, {top, bottom})});
  Value* is_middle = build.add(Op::less_equal, {size, number(build, x, 0.7)});
  Value* y = build.add(Op::where, {is_middle, middle, end});
  for (int step = 0; step < 2; ++step) {
    Value* error = build.add(Op::sub, {build.add(Op::erf, {y}), x});
    Value* slope = build.add(Op::exp, {build.add(Op::neg, {build.add(Op::square, {y})})});
    slope = build.add(Op::mul, {slope, number(build, x, 2 * std::numbers::inv_sqrtpi)});
    y = build.add(Op::sub, {y, build.add(Op::div, {error, slope})});
  }
  Value* is_one = build.add(Op::equal, {size, number(build, x, 1)});
  Value* infinity = build.add(Op::mul, {sign, number(build, x, kInfinity)});
  return build.add(Op::where, {is_one, infinity, y});
}

Value* sinc(const Builder& build, Value* x) {
  Value* angle = build.add(Op::mul, {x, number(build, x, std::numbers::pi)});
  Value* quotient = build.add(Op::div, {build.add(Op::sin, {angle}), angle});
  Value* at_zero = build.add(Op::equal, {x, number(build, x, 0)});
  return build.add(Op::where, {at_zero, number(build, x, 1), quotient});
}

Value* logit(const Builder& build, Value* x, std::optional<double> eps) {
  if (eps) x = build.clamp(x, *eps, 1 - *eps);
  Value* odds = build.add(Op::div, {x, build.add(Op::sub, {number(build, x, 1), x})});
  return build.add(Op::log, {odds});
}

Value* round_to_digits(const Builder& build, Value* x, int64_t digits) {
  const double unit = std::pow(10.0, std::abs(static_cast<double>(digits)));
  const bool fractions = digits > 0;
  Value* scaled = build.add(fractions ? Op::mul : Op::div, {x, number(build, x, unit)});
  Value* rounded = build.add(Op::round, {scaled});
  return build.add(fractions ? Op::div : Op::mul, {rounded, number(build, x, unit)});
}

Value* is_nan(const Builder& build, Value* x) {
  // Only NaN differs from itself.
  return build.add(Op::not_equal, {x, x});
}

Value* is_infinite(const Builder& build, Value* x) {
  if (!is_float(x->dtype())) return everywhere(build, x, false);
  return build.add(Op::equal, {build.add(Op::abs, {x}), number(build, x, kInfinity)});
}

Value* is_finite(const Builder& build, Value* x) {
  if (!is_float(x->dtype())) return everywhere(build, x, true);
  // x - x is 0 for numbers and NaN for all else.
  return build.add(Op::equal, {build.add(Op::sub, {x, x}), number(build, x, 0)});
}

Value* is_special(const Builder& build, Value* x, double what) {
  if (!is_float(x->dtype())) return everywhere(build, x, false);
  return build.add(Op::equal, {x, number(build, x, what)});
}

Value* signbit(const Builder& build, Value* x) {
  Value* zero = number(build, x, 0);
  Value* negative = build.add(Op::less, {x, zero});
  if (!is_float(x->dtype())) return negative;
  // The sign of a zero is looked for where 1 / x is.
  Value* inverse = build.add(Op::reciprocal, {x});
  Value* negative_zero = build.add(
      Op::logical_and, {build.add(Op::equal, {x, zero}), build.add(Op::less, {inverse, zero})});
  return build.add(Op::logical_or, {negative, negative_zero});
}

Value* is_close(const Builder& build, Value* a, Value* b, double rtol, double atol) {
  if (!is_float(a->dtype())) build.fail("is supported on floats only");
  Value* equal = build.add(Op::equal, {a, b});
  Value* bound =
      build.add(Op::add, {build.add(Op::mul, {build.add(Op::abs, {b}), number(build, b, rtol)}),
                          number(build, b, atol)});
  Value* distance = build.add(Op::abs, {build.add(Op::sub, {a, b})});
  Value* finite = build.add(Op::less, {distance, number(build, b, kInfinity)});
  Value* near = build.add(Op::logical_and, {build.add(Op::less_equal, {distance, bound}), finite});
  return build.add(Op::logical_or, {equal, near});
}

Value* without_special_numbers(const Builder& build, Value* x, const SpecialNumbers& instead) {
  if (!is_float(x->dtype())) return x;
  const double most = largest(x->dtype());
  auto replaced = [&](Value* where, double by) {
    x = build.add(Op::where, {where, number(build, x, by), x});
  };
  replaced(is_nan(build, x), instead.nan);
  replaced(is_special(build, x, kInfinity), instead.infinity.value_or(most));
  replaced(is_special(build, x, -kInfinity), instead.negative_infinity.value_or(-most));
  return x;
}

Value* extremum_of_numbers(const Builder& build, Op op, Value* a, Value* b) {
  Value* y = build.add(op, {a, b});
  if (!is_float(a->dtype())) return y;
  y = build.add(Op::where, {is_nan(build, a), b, y});
  return build.add(Op::where, {is_nan(build, b), a, y});
}

Value* hypot(const Builder& build, Value* a, Value* b) {
  return build.add(Op::sqrt,
                   {build.add(Op::add, {build.add(Op::square, {a}), build.add(Op::square, {b})})});
}

Value* logaddexp(const Builder& build, Value* a, Value* b, double unit) {
  // max + log(1 + exp(-|a - b|)), in these units.
  Value* distance = build.add(Op::abs, {build.add(Op::sub, {a, b})});
  Value* decay = build.add(Op::exp, {build.add(Op::mul, {distance, number(build, a, -unit)})});
  Value* rest = build.add(Op::mul, {build.add(Op::log1p, {decay}), number(build, a, 1 / unit)});
  return build.add(Op::add, {build.add(Op::maximum, {a, b}), rest});
}

Value* xlogy(const Builder& build, Value* x, Value* y) {
  Value* product = build.add(Op::mul, {x, build.add(Op::log, {y})});
  Value* zero = build.add(Op::logical_and, {build.add(Op::equal, {x, number(build, x, 0)}),
                                            build.add(Op::equal, {y, y})});
  return build.add(Op::where, {zero, number(build, x, 0), product});
}

Value* ldexp(const Builder& build, Value* x, Value* exponent) {
  return build.add(Op::mul, {x, build.add(Op::pow, {number(build, x, 2), exponent})});
}

Value* copysign(const Builder& build, Value* a, Value* b) {
  Value* magnitude = build.add(Op::abs, {a});
  Value* negative = build.add(Op::less, {b, number(build, b, 0)});
  return build.add(Op::where, {negative, build.add(Op::neg, {magnitude}), magnitude});
}

Value* heaviside(const Builder& build, Value* x, Value* at_zero) {
  Value* zero = number(build, x, 0);
  Value* step = build.convert(build.add(Op::greater, {x, zero}), x->dtype());
  return build.add(Op::where, {build.add(Op::equal, {x, zero}), at_zero, step});
}

Value* bitwise_not(const Builder& build, Value* x) {
  if (x->dtype() == DType::boolean) return build.add(Op::logical_not, {x});
  // ~x = x ^ -1.
  const bool is_unsigned = x->dtype() == DType::u8 || x->dtype() == DType::u16;
  const double ones =
      is_unsigned ? std::pow(2.0, 8.0 * static_cast<double>(byte_size(x->dtype()))) - 1 : -1;
  return build.add(Op::bitwise_xor, {x, number(build, x, ones)});
}

}  // namespace layline::ops

// Functions of one or two tensors that are written out in others.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

Value* exp2(const Builder& build, Value* x);
Value* tan(const Builder& build, Value* x);
/// The fraction of x; it has the sign of x.
Value* frac(const Builder& build, Value* x);
/// 1 - erf(x).
Value* erfc(const Builder& build, Value* x);
/// The number whose erf is x.
Value* erfinv(const Builder& build, Value* x);
/// sin(pi x) / (pi x), and 1 at 0.
Value* sinc(const Builder& build, Value* x);
/// log(x / (1 - x)), with x kept away from 0 and 1 by eps.
Value* logit(const Builder& build, Value* x, std::optional<double> eps);
/// x rounded to so many digits behind the point, or before it if negative.
Value* round_to_digits(const Builder& build, Value* x, int64_t digits);

// Booleans.
Value* is_nan(const Builder& build, Value* x);
/// Whether x is an infinity of either sign.
Value* is_infinite(const Builder& build, Value* x);
Value* is_finite(const Builder& build, Value* x);
/// Whether x is `what`, which no integer is.
Value* is_special(const Builder& build, Value* x, double what);
/// Whether the sign is negative, that of a zero included.
Value* signbit(const Builder& build, Value* x);
/// Whether |a - b| <= atol + rtol * |b|, or the two are equal, as infinities are. For floats.
Value* is_close(const Builder& build, Value* a, Value* b, double rtol, double atol);

/// Numbers to put in place of NaN and the infinities; the largest numbers if not given.
struct SpecialNumbers {
  double nan = 0;
  std::optional<double> infinity, negative_infinity;
};
Value* without_special_numbers(const Builder& build, Value* x, const SpecialNumbers& instead);

// Two tensors.

/// The maximum or minimum, as `op` says; if one operand is NaN, the other.
Value* extremum_of_numbers(const Builder& build, Op op, Value* a, Value* b);
/// sqrt(a^2 + b^2).
Value* hypot(const Builder& build, Value* a, Value* b);
/// log(e^(unit * a) + e^(unit * b)) / unit.
Value* logaddexp(const Builder& build, Value* a, Value* b, double unit);
/// x log(y), and 0 where x is 0 and y a number.
Value* xlogy(const Builder& build, Value* x, Value* y);
/// x * 2^exponent.
Value* ldexp(const Builder& build, Value* x, Value* exponent);
/// |a| with the sign of b; a negative zero counts as positive.
Value* copysign(const Builder& build, Value* a, Value* b);
/// 0 where x is negative, 1 where it is positive, and `at_zero`.
Value* heaviside(const Builder& build, Value* x, Value* at_zero);

/// ~x, and the logical op for booleans.
Value* bitwise_not(const Builder& build, Value* x);

}  // namespace layline::ops

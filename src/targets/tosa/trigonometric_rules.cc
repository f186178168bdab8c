// Circular and hyperbolic functions and their inverses, with the functions that TOSA has. Near 0,
// where differences of exponentials and logarithms near 1 lose digits, power series take over.
#include <cmath>
#include <numbers>
#include <span>

#include "targets/tosa/elementwise_rules.h"
#include "targets/tosa/formula.h"

namespace layline::tosa {
namespace {

constexpr double kSmall = 0.1;

/// c[0] + c[1] x + c[2] x^2 ..., by Horner's rule.
Value* polynomial(const Formula& f, Value* x, std::span<const double> coefficients) {
  Value* sum = f.number(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = f.plus(f.mul({sum, x}), coefficients[i]);
  return sum;
}

/// x (c[0] + c[1] x^2 + c[2] x^4 ...)
Value* odd_series(const Formula& f, Value* x, std::span<const double> coefficients) {
  return f.mul({x, polynomial(f, f.mul({x, x}), coefficients)});
}

/// The angle whose tangent is x, from 0 to 1: Abramowitz & Stegun 4.4.49, within 2e-8.
Value* angle_of(const Formula& f, Value* x) {
  constexpr double kCoefficients[] = {1,
                                      -0.3333314528,
                                      0.1999355085,
                                      -0.1420889944,
                                      0.1065626393,
                                      -0.0752896400,
                                      0.0429096138,
                                      -0.0161657367,
                                      0.0028662257};
  return odd_series(f, x, kCoefficients);
}

Value* with_sign_of(const Formula& f, Value* size, Value* is_negative) {
  return f.choose({is_negative, f.apply(Op::neg, size), size});
}

/// Whether a float is negative, -0 included. The reciprocal of -0 is negative; that of -inf is not,
/// so both numbers are tested.
Value* is_negative(const Formula& f, Value* x) {
  return f.is(Op::logical_or,
              {f.is(Op::less, x, 0.0), f.is(Op::less, f.apply(Op::reciprocal, x), 0.0)});
}

/// e^|x| / 2 where that is finite though e^|x| is not, and e^-|x| / 2.
struct HalvedExponentials {
  Value* growing;
  Value* falling;
};

HalvedExponentials halved_exponentials(const Formula& f, Value* size) {
  Value* root = f.apply(Op::exp, f.times(size, 0.5));
  return {f.mul({f.times(root, 0.5), root}),
          f.times(f.apply(Op::exp, f.apply(Op::neg, size)), 0.5)};
}

/// A number beyond which x^2 + 1 is x^2, and x^2 may overflow.
double large(const Node& node) { return node.result()->dtype() == DType::f16 ? 0x1p7 : 0x1p30; }

}  // namespace

/// Beyond 1 it is pi/2 - atan(1/x).
Value* atan(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* size = f.apply(Op::abs, x);
  Value* is_large = f.is(Op::greater, size, 1.0);
  Value* angle = angle_of(f, f.choose({is_large, f.apply(Op::reciprocal, size), size}));
  angle = f.choose({is_large, f.sub({f.number(std::numbers::pi / 2), angle}), angle});
  return with_sign_of(f, angle, f.is(Op::less, x, 0.0));
}

/// The angle of the smaller over the larger, reflected at the diagonal and at the axes. If both are
/// infinite, the angle is that of the diagonal.
Value* atan2(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* y = node.operand(0);
  Value* x = node.operand(1);
  Value* height = f.apply(Op::abs, y);
  Value* width = f.apply(Op::abs, x);
  Value* longer = build.add(Op::maximum, {height, width});
  Value* shorter = build.add(Op::minimum, {height, width});
  Value* slope = f.mul({shorter, f.apply(Op::reciprocal, longer)});
  slope = f.choose({f.is(Op::equal, {shorter, longer}), f.number(1), slope});
  slope = f.choose({f.is(Op::equal, shorter, 0.0), shorter, slope});
  Value* angle = angle_of(f, slope);
  angle = f.choose(
      {f.is(Op::greater, {height, width}), f.sub({f.number(std::numbers::pi / 2), angle}), angle});
  angle = f.choose({is_negative(f, x), f.sub({f.number(std::numbers::pi), angle}), angle});
  return with_sign_of(f, angle, is_negative(f, y));
}

/// atan(x / sqrt(1 - x^2)), whose operand is infinite at 1.
Value* asin(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* rest = f.mul({f.sub({f.number(1), x}), f.plus(x, 1)});
  return f.apply(Op::atan, f.mul({x, f.apply(Op::rsqrt, rest)}));
}

/// 2 atan(sqrt((1 - x) / (1 + x)))
Value* acos(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* ratio = f.mul({f.sub({f.number(1), x}), f.apply(Op::reciprocal, f.plus(x, 1))});
  return f.times(f.apply(Op::atan, f.apply(Op::sqrt, ratio)), 2);
}

Value* sinh(const Builder& build, const Node& node) {
  constexpr double kCoefficients[] = {1, 1.0 / 6, 1.0 / 120, 1.0 / 5040};
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* size = f.apply(Op::abs, x);
  const auto [growing, falling] = halved_exponentials(f, size);
  Value* far = f.sub({growing, falling});
  far = with_sign_of(f, far, f.is(Op::less, x, 0.0));
  return f.choose({f.is(Op::less, size, kSmall), odd_series(f, x, kCoefficients), far});
}

Value* cosh(const Builder& build, const Node& node) {
  const Formula f(build, node);
  const auto [growing, falling] = halved_exponentials(f, f.apply(Op::abs, node.operand(0)));
  return f.add({growing, falling});
}

/// log(x + sqrt(x^2 + 1)), and log(2x) far out.
Value* asinh(const Builder& build, const Node& node) {
  constexpr double kCoefficients[] = {1, -1.0 / 6, 3.0 / 40, -15.0 / 336, 105.0 / 3456};
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* size = f.apply(Op::abs, x);
  Value* root = f.apply(Op::sqrt, f.plus(f.mul({size, size}), 1));
  Value* near = f.apply(Op::log, f.add({size, root}));
  Value* far = f.plus(f.apply(Op::log, size), std::numbers::ln2);
  Value* area = f.choose({f.is(Op::greater, size, large(node)), far, near});
  return f.choose({f.is(Op::less, size, kSmall), odd_series(f, x, kCoefficients),
                   with_sign_of(f, area, f.is(Op::less, x, 0.0))});
}

/// log(x + sqrt(x - 1) sqrt(x + 1)), and log(2x) far out. One of the two roots is NaN if x is less
/// than 1.
Value* acosh(const Builder& build, const Node& node) {
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* root = f.mul({f.apply(Op::sqrt, f.plus(x, -1)), f.apply(Op::sqrt, f.plus(x, 1))});
  Value* near = f.apply(Op::log, f.add({x, root}));
  Value* far = f.plus(f.apply(Op::log, x), std::numbers::ln2);
  return f.choose({f.is(Op::greater, x, large(node)), far, near});
}

/// log((1 + x) / (1 - x)) / 2
Value* atanh(const Builder& build, const Node& node) {
  constexpr double kCoefficients[] = {1, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9};
  const Formula f(build, node);
  Value* x = node.operand(0);
  Value* ratio = f.mul({f.plus(x, 1), f.apply(Op::reciprocal, f.sub({f.number(1), x}))});
  return f.choose({f.is(Op::less, f.apply(Op::abs, x), kSmall), odd_series(f, x, kCoefficients),
                   f.times(f.apply(Op::log, ratio), 0.5)});
}

}  // namespace layline::tosa

// The elements of elementwise ops with one operand.
#include <cmath>
#include <numbers>

#include "ir/ops/walk.h"

namespace layline::rules {
namespace {

/// f(x) for each element; f takes a double or an int64, as the operand is.
template <typename F>
Tensor map(Tensors operands, const TensorType& result, F f) {
  const Tensor& x = operands[0];
  Tensor out(result);
  with_number_type(x.dtype(), [&]<typename T>(T) {
    const std::vector<T> elements = values<T>(x);
    for (int64_t i = 0; i < out.count(); ++i) store(out, i, f(elements[static_cast<size_t>(i)]));
  });
  return out;
}

/// f(x) for each element, in ops that take floats only, or that leave integers as they are.
template <typename F>
Tensor map_floats(Tensors operands, const TensorType& result, F f) {
  if (!is_float(result.dtype)) return operands[0];
  return map(operands, result, [&](double x) { return f(x); });
}

double magnitude(double x) { return std::fabs(x); }
int64_t magnitude(int64_t x) { return x < 0 ? minus(0, x) : x; }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

/// Hendrycks and Gimpel, "Gaussian Error Linear Units", section 2.
double gelu_tanh(double x) {
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
  return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}

}  // namespace

Tensor evaluate_abs(Tensors operands, const Attributes&, const TensorType& result) {
  return map(operands, result, [](auto x) { return magnitude(x); });
}

Tensor evaluate_neg(Tensors operands, const Attributes&, const TensorType& result) {
  // Not 0 - x: the negative of 0.0 is -0.0.
  return map(operands, result, []<typename T>(T x) { return times(T(-1), x); });
}

Tensor evaluate_exp(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::exp(x); });
}

Tensor evaluate_expm1(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::expm1(x); });
}

Tensor evaluate_log(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::log(x); });
}

Tensor evaluate_log1p(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::log1p(x); });
}

Tensor evaluate_sqrt(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::sqrt(x); });
}

Tensor evaluate_rsqrt(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return 1 / std::sqrt(x); });
}

Tensor evaluate_reciprocal(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return 1 / x; });
}

Tensor evaluate_sin(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::sin(x); });
}

Tensor evaluate_cos(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::cos(x); });
}

Tensor evaluate_atan(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::atan(x); });
}

Tensor evaluate_asin(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::asin(x); });
}

Tensor evaluate_acos(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::acos(x); });
}

Tensor evaluate_sinh(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::sinh(x); });
}

Tensor evaluate_cosh(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::cosh(x); });
}

Tensor evaluate_asinh(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::asinh(x); });
}

Tensor evaluate_acosh(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::acosh(x); });
}

Tensor evaluate_atanh(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::atanh(x); });
}

Tensor evaluate_tanh(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::tanh(x); });
}

Tensor evaluate_sigmoid(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, sigmoid);
}

Tensor evaluate_erf(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::erf(x); });
}

Tensor evaluate_floor(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::floor(x); });
}

Tensor evaluate_ceil(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::ceil(x); });
}

/// Rounds halves to the even neighbour.
Tensor evaluate_round(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::nearbyint(x); });
}

Tensor evaluate_trunc(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return std::trunc(x); });
}

Tensor evaluate_square(Tensors operands, const Attributes&, const TensorType& result) {
  return map(operands, result, [](auto x) { return times(x, x); });
}

Tensor evaluate_sign(Tensors operands, const Attributes&, const TensorType& result) {
  return map(operands, result, []<typename T>(T x) { return T((x > 0) - (x < 0)); });
}

Tensor evaluate_logical_not(Tensors operands, const Attributes&, const TensorType& result) {
  return map(operands, result, [](auto x) { return int64_t(x == 0); });
}

Tensor evaluate_hardswish(Tensors operands, const Attributes&, const TensorType& result) {
  return map_floats(operands, result, [](double x) { return x * clamp(x + 3, {0, 6}) / 6; });
}

Tensor evaluate_gelu(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return map_floats(operands, result, std::get<GeluAttrs>(attributes).tanh ? gelu_tanh : gelu_erf);
}

Tensor evaluate_elu(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const double alpha = std::get<AlphaAttrs>(attributes).alpha;
  return map_floats(operands, result, [&](double x) { return x > 0 ? x : alpha * std::expm1(x); });
}

Tensor evaluate_leaky_relu(Tensors operands, const Attributes& attributes,
                           const TensorType& result) {
  const double slope = std::get<AlphaAttrs>(attributes).alpha;
  return map_floats(operands, result, [&](double x) { return x > 0 ? x : slope * x; });
}

Tensor evaluate_clamp(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const Bounds& bounds = std::get<ClampAttrs>(attributes).bounds;
  return map(operands, result, [&](auto x) { return clamp(x, bounds); });
}

Tensor evaluate_convert(Tensors operands, const Attributes&, const TensorType& result) {
  return map(operands, result, [](auto x) { return x; });
}

}  // namespace layline::rules

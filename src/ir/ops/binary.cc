// The elements of elementwise ops with several operands, which broadcast as in numpy.
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ir/ops/walk.h"

namespace layline::rules {
namespace {

/// f(a, b) for each element of the result; f takes doubles or int64s, as the operands are.
template <typename F>
Tensor map2(Tensors operands, const TensorType& result, F f) {
  Tensor out(result);
  const std::array strides = {broadcast_strides(operands[0].dims(), out.dims()),
                              broadcast_strides(operands[1].dims(), out.dims())};
  with_number_type(operands[0].dtype(), [&]<typename T>(T) {
    const std::vector<T> a = values<T>(operands[0]);
    const std::vector<T> b = values<T>(operands[1]);
    std::vector<decltype(f(T(), T()))> results(static_cast<size_t>(out.count()));
    walk(out.dims(), strides, [&](int64_t i, const auto& from) {
      results[static_cast<size_t>(i)] =
          f(a[static_cast<size_t>(from[0])], b[static_cast<size_t>(from[1])]);
    });
    store(out, results);
  });
  return out;
}

/// map2 followed by the op's fused clamp.
template <typename F>
Tensor bounded_map2(Tensors operands, const Attributes& attributes, const TensorType& result, F f) {
  const Bounds& bounds = std::get<BinaryAttrs>(attributes).bounds;
  return map2(operands, result, [&](auto a, auto b) { return clamp(f(a, b), bounds); });
}

double power(double base, double exponent) { return std::pow(base, exponent); }

/// The power, by squaring. With a negative exponent only powers of 1 and -1 are not 0.
int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = times(result, base);
    base = times(base, base);
  }
  return result;
}

// Division rounds towards minus infinity, so that the remainder has the divisor's sign.

double floor_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double floor_quotient(double a, double b) {
  // Not floor(a / b): the quotient may round up to an integer that b does not reach.
  return b == 0 ? a / b : std::nearbyint((a - floor_remainder(a, b)) / b);
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) throw UserError("integer division by zero");
  if (b == -1) return minus(0, a);  // the one quotient that may not fit
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t floor_remainder(int64_t a, int64_t b) { return minus(a, times(floor_quotient(a, b), b)); }

/// A shift by the width or more leaves 0, or the sign. Bits that the type does not have are lost
/// when the result is stored.
int64_t shifted_left(int64_t a, int64_t count) {
  if (count < 0 || count >= 64) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(a) << count);
}

int64_t shifted_right(int64_t a, int64_t count) {
  return a >> (count < 0 || count >= 64 ? 63 : count);
}

double trunc_remainder(double a, double b) { return std::fmod(a, b); }

int64_t trunc_remainder(int64_t a, int64_t b) {
  if (b == 0) throw UserError("integer division by zero");
  return b == -1 ? 0 : a % b;  // the quotient of -1 may not fit
}

}  // namespace

Tensor evaluate_add(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return bounded_map2(operands, attributes, result, [](auto a, auto b) { return plus(a, b); });
}

Tensor evaluate_sub(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return bounded_map2(operands, attributes, result, [](auto a, auto b) { return minus(a, b); });
}

Tensor evaluate_mul(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return bounded_map2(operands, attributes, result, [](auto a, auto b) { return times(a, b); });
}

Tensor evaluate_div(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return bounded_map2(operands, attributes, result, [](double a, double b) { return a / b; });
}

Tensor evaluate_minimum(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return smaller(a, b); });
}

Tensor evaluate_maximum(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return larger(a, b); });
}

Tensor evaluate_pow(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return power(a, b); });
}

Tensor evaluate_floor_div(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return floor_quotient(a, b); });
}

Tensor evaluate_remainder(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return floor_remainder(a, b); });
}

Tensor evaluate_fmod(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return trunc_remainder(a, b); });
}

Tensor evaluate_equal(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a == b); });
}

Tensor evaluate_not_equal(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a != b); });
}

Tensor evaluate_less(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a < b); });
}

Tensor evaluate_less_equal(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a <= b); });
}

Tensor evaluate_greater(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a > b); });
}

Tensor evaluate_greater_equal(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a >= b); });
}

Tensor evaluate_logical_and(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a != 0 && b != 0); });
}

Tensor evaluate_logical_or(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a != 0 || b != 0); });
}

Tensor evaluate_logical_xor(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t((a != 0) != (b != 0)); });
}

Tensor evaluate_bitwise_and(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a) & int64_t(b); });
}

Tensor evaluate_bitwise_or(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a) | int64_t(b); });
}

Tensor evaluate_bitwise_xor(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto a, auto b) { return int64_t(a) ^ int64_t(b); });
}

Tensor evaluate_left_shift(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result,
              [](auto a, auto b) { return shifted_left(int64_t(a), int64_t(b)); });
}

Tensor evaluate_right_shift(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result,
              [](auto a, auto b) { return shifted_right(int64_t(a), int64_t(b)); });
}

Tensor evaluate_atan2(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto y, auto x) { return std::atan2(double(y), double(x)); });
}

Tensor evaluate_prelu(Tensors operands, const Attributes&, const TensorType& result) {
  return map2(operands, result, [](auto x, auto slope) { return x > 0 ? x : times(slope, x); });
}

Tensor evaluate_where(Tensors operands, const Attributes&, const TensorType& result) {
  Tensor out(result);
  const std::array strides = {broadcast_strides(operands[0].dims(), out.dims()),
                              broadcast_strides(operands[1].dims(), out.dims()),
                              broadcast_strides(operands[2].dims(), out.dims())};
  const std::byte* condition = operands[0].bytes().data();
  with_element_type(result.dtype, [&]<typename E>(E element) {
    walk(out.dims(), strides, [&](int64_t i, const auto& from) {
      const size_t chosen = condition[from[0]] != std::byte{0} ? 1 : 2;
      std::memcpy(&element,
                  operands[chosen].bytes().data() + static_cast<size_t>(from[chosen]) * sizeof(E),
                  sizeof(E));
      std::memcpy(out.bytes().data() + static_cast<size_t>(i) * sizeof(E), &element, sizeof(E));
    });
  });
  return out;
}

}  // namespace layline::rules

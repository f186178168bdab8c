#include "ir/ops/walk.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace layline::rules {

Ints row_major_strides(const Ints& dims) {
  Ints strides(dims.size());
  int64_t stride = 1;
  for (size_t a = dims.size(); a-- > 0;) {
    strides[a] = stride;
    stride = times(stride, dims[a]);
  }
  return strides;
}

Ints broadcast_strides(const Ints& operand, const Ints& result) {
  LAYLINE_ASSERT(operand.size() <= result.size(), "an operand has more axes than the result");
  const Ints own = row_major_strides(operand);
  const size_t offset = result.size() - operand.size();
  Ints strides(result.size(), 0);
  for (size_t a = 0; a < operand.size(); ++a)
    if (operand[a] != 1) strides[offset + a] = own[a];
  return strides;
}

Lanes::Lanes(const Ints& dims, int64_t axis) {
  for (int64_t a = 0; a < static_cast<int64_t>(dims.size()); ++a)
    (a < axis ? outer : a == axis ? length : inner) *= dims[static_cast<size_t>(a)];
}

template <>
std::vector<double> values(const Tensor& x) {
  std::vector<double> numbers(static_cast<size_t>(x.count()));
  if (x.dtype() == DType::f32)  // nearly all numbers
    for (size_t i = 0; i < numbers.size(); ++i) {
      float number;
      std::memcpy(&number, x.bytes().data() + i * sizeof number, sizeof number);
      numbers[i] = number;
    }
  else
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = x.get(static_cast<int64_t>(i));
  return numbers;
}

template <>
std::vector<int64_t> values(const Tensor& x) {
  std::vector<int64_t> numbers(static_cast<size_t>(x.count()));
  for (int64_t i = 0; i < x.count(); ++i) numbers[static_cast<size_t>(i)] = x.get_int(i);
  return numbers;
}

void store(Tensor& x, const std::vector<double>& values) {
  if (x.dtype() == DType::f32)
    for (size_t i = 0; i < values.size(); ++i) {
      const auto number = static_cast<float>(values[i]);
      std::memcpy(x.bytes().data() + i * sizeof number, &number, sizeof number);
    }
  else
    for (size_t i = 0; i < values.size(); ++i) x.set(static_cast<int64_t>(i), values[i]);
}

void store(Tensor& x, const std::vector<int64_t>& values) {
  if (x.dtype() == DType::boolean)  // what comparisons give
    for (size_t i = 0; i < values.size(); ++i) x.bytes()[i] = std::byte(values[i] != 0);
  else
    for (size_t i = 0; i < values.size(); ++i) x.set_int(static_cast<int64_t>(i), values[i]);
}

double clamp(double x, const Bounds& bounds) { return smaller(larger(x, bounds.min), bounds.max); }

int64_t clamp(int64_t x, const Bounds& bounds) {
  // Bounds beyond the integers are written as the last integers before them.
  return std::min(std::max(x, saturated(std::ceil(bounds.min))), saturated(std::floor(bounds.max)));
}

int64_t plus(int64_t a, int64_t b) {
  int64_t result;
  static_cast<void>(__builtin_add_overflow(a, b, &result));
  return result;
}

int64_t minus(int64_t a, int64_t b) {
  int64_t result;
  static_cast<void>(__builtin_sub_overflow(a, b, &result));
  return result;
}

int64_t times(int64_t a, int64_t b) {
  int64_t result;
  static_cast<void>(__builtin_mul_overflow(a, b, &result));
  return result;
}

}  // namespace layline::rules

// Tensors from lists of numbers, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ir/tensor.h"

namespace layline {

inline Tensor make_tensor(DType dtype, Shape shape, const std::vector<double>& numbers) {
  Tensor tensor(TensorType{dtype, std::move(shape)});
  EXPECT_EQ(static_cast<size_t>(tensor.count()), numbers.size());
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, numbers[static_cast<size_t>(i)]);
  return tensor;
}

inline Tensor f32(Shape shape, const std::vector<double>& numbers) {
  return make_tensor(DType::f32, std::move(shape), numbers);
}

inline Tensor i64(Shape shape, const std::vector<double>& numbers) {
  return make_tensor(DType::i64, std::move(shape), numbers);
}

inline Tensor boolean(Shape shape, const std::vector<double>& numbers) {
  return make_tensor(DType::boolean, std::move(shape), numbers);
}

/// 0, 1, 2 ...
inline Tensor iota(Shape shape, DType dtype = DType::f32) {
  Tensor tensor(TensorType{dtype, std::move(shape)});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_int(i, i);
  return tensor;
}

inline void expect_near(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_EQ(to_string(actual.type()), to_string(expected.type()));
  for (int64_t i = 0; i < actual.count(); ++i) {
    const double a = actual.get(i), e = expected.get(i);
    EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)) || std::abs(a - e) <= tolerance)
        << "element " << i << ": " << a << ", expected " << e;
  }
}

}  // namespace layline

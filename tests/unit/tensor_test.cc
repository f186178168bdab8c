#include "ir/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "make_tensor.h"

namespace layline {
namespace {

TEST(Half, EveryValueRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    else
      ASSERT_EQ(float_to_half(value), half);
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(half_to_float(0x0400), std::ldexp(1.0f, -14));
  EXPECT_EQ(float_to_half(1e10f), 0x7c00);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
}

/// Between neighbours, nearest wins and the middle goes to the even one: for all positive halves.
TEST(Half, RoundsToNearestEven) {
  for (uint16_t half = 0; half < 0x7bff; ++half) {
    const float low = half_to_float(half);
    const float high = half_to_float(static_cast<uint16_t>(half + 1));
    const float middle = (low + high) / 2;
    const int even = half % 2 == 0 ? half : half + 1;
    ASSERT_EQ(float_to_half(middle), even);
    ASSERT_EQ(float_to_half(std::nextafter(middle, low)), half);
    ASSERT_EQ(float_to_half(std::nextafter(middle, high)), half + 1);
  }
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
}

TEST(Bfloat, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t bfloat = static_cast<uint16_t>(bits);
    const float value = bfloat_to_float(bfloat);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(value))));
      continue;
    }
    ASSERT_EQ(float_to_bfloat(value), bfloat);
    if (std::isinf(value)) continue;
    const uint32_t wide = bits << 16;
    const int even = bfloat % 2 == 0 ? bfloat : bfloat + 1;
    ASSERT_EQ(float_to_bfloat(std::bit_cast<float>(wide | 0x8000)), even);
    ASSERT_EQ(float_to_bfloat(std::bit_cast<float>(wide | 0x7fff)), bfloat);
    ASSERT_EQ(float_to_bfloat(std::bit_cast<float>(wide | 0x8001)), bfloat + 1);
  }
}

TEST(Tensor, StoresEveryElementType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    Tensor tensor(TensorType{dtype, {2}});
    EXPECT_EQ(tensor.bytes().size(), 2 * byte_size(dtype));
    tensor.set(1, 1);
    EXPECT_EQ(tensor.get(0), 0) << name(dtype);
    EXPECT_EQ(tensor.get(1), 1) << name(dtype);
    tensor.set_int(0, 1);
    EXPECT_EQ(tensor.get_int(0), 1) << name(dtype);
  }
}

TEST(Tensor, Casts) {
  Tensor bytes(TensorType{DType::u8, {1}});
  bytes.set(0, 3.9);
  EXPECT_EQ(bytes.get_int(0), 3);
  bytes.set_int(0, 257);
  EXPECT_EQ(bytes.get_int(0), 1);
  Tensor truth(TensorType{DType::boolean, {1}});
  truth.set(0, 0.25);
  EXPECT_EQ(truth.get_int(0), 1);
  truth.set_int(0, 256);
  EXPECT_EQ(truth.get_int(0), 1);
  Tensor wide(TensorType{DType::i64, {1}});
  wide.set(0, 1e300);
  EXPECT_EQ(wide.get_int(0), std::numeric_limits<int64_t>::max());
  // An int64 goes to f32 in one rounding; by way of double it would end at 2^53.
  Tensor single(TensorType{DType::f32, {1}});
  const int64_t number = (int64_t{1} << 53) + (int64_t{1} << 29) + 1;
  single.set_int(0, number);
  EXPECT_EQ(single.get(0), static_cast<double>(static_cast<float>(number)));
  EXPECT_GT(single.get(0), 0x1p53);
}

TEST(Tensor, BytesMustFitTheType) {
  EXPECT_THROW(Tensor(TensorType{DType::f32, {2}}, std::vector<std::byte>(7)), InternalError);
}

TEST(Tensor, Scalars) {
  const Tensor scalar = f32({}, {4});
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.count(), 1);
}

}  // namespace
}  // namespace layline

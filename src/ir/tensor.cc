#include "ir/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "base/error.h"

namespace layline {
namespace {

template <typename T>
T load(const std::vector<std::byte>& bytes, int64_t i) {
  T element;
  std::memcpy(&element, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return element;
}

template <typename T>
void save(std::vector<std::byte>& bytes, int64_t i, T element) {
  std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
}

/// The element as a Number: float for f16 and bf16, otherwise what is stored.
template <typename Number>
Number read_as(DType dtype, const std::vector<std::byte>& bytes, int64_t i) {
  switch (dtype) {
    case DType::f32:
      return static_cast<Number>(load<float>(bytes, i));
    case DType::f16:
      return static_cast<Number>(half_to_float(load<uint16_t>(bytes, i)));
    case DType::bf16:
      return static_cast<Number>(bfloat_to_float(load<uint16_t>(bytes, i)));
    case DType::f64:
      return static_cast<Number>(load<double>(bytes, i));
    case DType::i8:
      return static_cast<Number>(load<int8_t>(bytes, i));
    case DType::i16:
      return static_cast<Number>(load<int16_t>(bytes, i));
    case DType::i32:
      return static_cast<Number>(load<int32_t>(bytes, i));
    case DType::i64:
      return static_cast<Number>(load<int64_t>(bytes, i));
    case DType::u8:
      return static_cast<Number>(load<uint8_t>(bytes, i));
    case DType::u16:
      return static_cast<Number>(load<uint16_t>(bytes, i));
    case DType::boolean:
      return static_cast<Number>(load<uint8_t>(bytes, i) != 0);
  }
  throw InternalError("no such element type");
}

void write_float(DType dtype, std::vector<std::byte>& bytes, int64_t i, float value) {
  if (dtype == DType::f32)
    save(bytes, i, value);
  else
    save(bytes, i, dtype == DType::f16 ? float_to_half(value) : float_to_bfloat(value));
}

}  // namespace

Tensor::Tensor(TensorType type)
    : type_(std::move(type)), dims_(static_dims(type_.shape)), count_(1) {
  const size_t size = byte_count(type_);
  count_ = static_cast<int64_t>(size / byte_size(type_.dtype));
  try {
    bytes_.resize(size);
  } catch (const std::bad_alloc&) {
    throw UserError("not enough memory for a tensor {}", to_string(type_));
  } catch (const std::length_error&) {
    throw UserError("not enough memory for a tensor {}", to_string(type_));
  }
}

Tensor::Tensor(TensorType type, std::vector<std::byte> bytes)
    : type_(std::move(type)),
      dims_(static_dims(type_.shape)),
      count_(static_cast<int64_t>(byte_count(type_) / byte_size(type_.dtype))),
      bytes_(std::move(bytes)) {
  LAYLINE_ASSERT(bytes_.size() == byte_count(type_), "{} bytes for a tensor {}", bytes_.size(),
                 to_string(type_));
}

double Tensor::get(int64_t i) const { return read_as<double>(type_.dtype, bytes_, i); }

int64_t Tensor::get_int(int64_t i) const {
  if (is_float(type_.dtype)) return saturated(get(i));
  return read_as<int64_t>(type_.dtype, bytes_, i);
}

void Tensor::set(int64_t i, double value) {
  if (type_.dtype == DType::f64)
    save(bytes_, i, value);
  else if (is_float(type_.dtype))
    write_float(type_.dtype, bytes_, i, static_cast<float>(value));
  else if (type_.dtype == DType::boolean)
    set_int(i, value != 0);
  else
    set_int(i, saturated(value));
}

void Tensor::set_int(int64_t i, int64_t value) {
  switch (type_.dtype) {
    case DType::f64:
      return save(bytes_, i, static_cast<double>(value));
    case DType::f32:
    case DType::f16:
    case DType::bf16:
      return write_float(type_.dtype, bytes_, i, static_cast<float>(value));
    case DType::i8:
      return save(bytes_, i, static_cast<int8_t>(value));
    case DType::i16:
      return save(bytes_, i, static_cast<int16_t>(value));
    case DType::i32:
      return save(bytes_, i, static_cast<int32_t>(value));
    case DType::i64:
      return save(bytes_, i, value);
    case DType::u8:
      return save(bytes_, i, static_cast<uint8_t>(value));
    case DType::u16:
      return save(bytes_, i, static_cast<uint16_t>(value));
    case DType::boolean:
      return save(bytes_, i, static_cast<uint8_t>(value != 0));
  }
}

int64_t saturated(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kLimit = 0x1p63;  // the first double beyond int64
  if (value >= kLimit) return std::numeric_limits<int64_t>::max();
  if (value < -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0)  // zero and subnormals count in units of 2^-24
    return std::bit_cast<float>(sign |
                                std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
  const uint32_t wide = exponent == 31 ? 255 : exponent - 15 + 127;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half;
  if (std::isnan(value))
    half = 0x7e00;
  else if (magnitude >= std::bit_cast<uint32_t>(65520.0f))  // halfway beyond the largest
    half = 0x7c00;
  else if (magnitude < std::bit_cast<uint32_t>(0x1p-14f))  // subnormal: units of 2^-24
    half = static_cast<uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f));
  else  // 13 bits go, to the nearest even; a carry moves into the exponent as it should
    half = (magnitude - ((127u - 15u) << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  return static_cast<uint16_t>(sign | half);
}

}  // namespace layline

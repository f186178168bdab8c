#include "ir/npy_types.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace layline {
namespace {

struct NpyRow {
  DType dtype;
  NpyType npy;
};

constexpr std::array kNpyTypes = {
    NpyRow{DType::f32, NpyType::kFloat32},  NpyRow{DType::f16, NpyType::kFloat16},
    NpyRow{DType::bf16, NpyType::kRaw16},   NpyRow{DType::f64, NpyType::kFloat64},
    NpyRow{DType::i8, NpyType::kInt8},      NpyRow{DType::i16, NpyType::kInt16},
    NpyRow{DType::i32, NpyType::kInt32},    NpyRow{DType::i64, NpyType::kInt64},
    NpyRow{DType::u8, NpyType::kUint8},     NpyRow{DType::u16, NpyType::kUint16},
    NpyRow{DType::boolean, NpyType::kBool},
};
static_assert(kNpyTypes.size() == kDTypeCount);

}  // namespace

NpyType npy_type(DType dtype) { return std::ranges::find(kNpyTypes, dtype, &NpyRow::dtype)->npy; }

DType dtype_of(NpyType type) {
  const auto* row = std::ranges::find(kNpyTypes, type, &NpyRow::npy);
  LAYLINE_ASSERT(row != kNpyTypes.end(), "no dtype for {}", npy_descr(type));
  return row->dtype;
}

Tensor tensor_of(NpyArray array) {
  return {TensorType{dtype_of(array.type), Shape(array.shape.begin(), array.shape.end())},
          std::move(array.bytes)};
}

}  // namespace layline

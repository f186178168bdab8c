// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace layline {

enum class DType : uint8_t { f32, f16, bf16, f64, i8, i16, i32, i64, u8, u16, boolean };

constexpr int kDTypeCount = static_cast<int>(DType::boolean) + 1;

size_t byte_size(DType dtype);
std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

bool is_float(DType dtype);
/// Whether it is an integer of any width; bool is not one.
bool is_integer(DType dtype);

}  // namespace layline

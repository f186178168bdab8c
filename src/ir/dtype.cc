#include "ir/dtype.h"

#include <array>

namespace layline {
namespace {

struct Row {
  std::string_view name;
  size_t bytes;
};

// One row for each dtype, in the order of the enum.
constexpr std::array<Row, kDTypeCount> kRows = {{{"f32", 4},
                                                 {"f16", 2},
                                                 {"bf16", 2},
                                                 {"f64", 8},
                                                 {"i8", 1},
                                                 {"i16", 2},
                                                 {"i32", 4},
                                                 {"i64", 8},
                                                 {"u8", 1},
                                                 {"u16", 2},
                                                 {"bool", 1}}};

}  // namespace

size_t byte_size(DType dtype) { return kRows[static_cast<size_t>(dtype)].bytes; }

std::string_view name(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType dtype) { return dtype <= DType::f64; }

bool is_integer(DType dtype) { return !is_float(dtype) && dtype != DType::boolean; }

}  // namespace layline

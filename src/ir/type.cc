#include "ir/type.h"

#include "base/error.h"

namespace layline {

std::string to_string(const TensorType& type) {
  return (type.quantisation ? "quantised " : "") + std::string(name(type.dtype)) +
         to_string(type.shape);
}

TensorType real_type(const TensorType& type) {
  return type.quantisation ? TensorType{DType::f32, type.shape} : type;
}

TensorType plain_type(TensorType type) {
  type.quantisation = {};
  return type;
}

size_t byte_count(const TensorType& type) {
  // Dim's product is overflow-checked, so an absurd shape is an error and not a small buffer.
  const Dim bytes = element_count(type.shape) * Dim(static_cast<int64_t>(byte_size(type.dtype)));
  return static_cast<size_t>(bytes.value());
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[offset + i];
    if (dim.is_one())
      dim = shorter[i];
    else if (!shorter[i].is_one() && shorter[i] != dim)
      return std::nullopt;
  }
  return result;
}

}  // namespace layline

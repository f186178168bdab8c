// The type of a value: element type, shape, and for quantised numbers what they stand for. There is
// no layout attribute anywhere: the bytes of a value are row-major over its shape, and
// channels-last data is a value of shape [N,H,W,C].
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algebra/dim.h"
#include "ir/dtype.h"
#include "ir/quantisation.h"

namespace layline {

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  QuantisationRef quantisation = {};  // none: the elements are plain numbers

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool operator==(const TensorType&) const = default;
};

/// f32[1,3,224,224]; "quantised i8[1,3]"
std::string to_string(const TensorType& type);

/// The type of the numbers themselves: for quantised ones f32, otherwise the same.
TensorType real_type(const TensorType& type);
/// The type without its quantisation: that of the integers themselves.
TensorType plain_type(TensorType type);

/// Size in bytes; the shape must be static.
size_t byte_count(const TensorType& type);

/// The shape that numpy's rule gives for the two, or nullopt where they do not broadcast.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace layline

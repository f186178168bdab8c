// What the elements of a resized axis are made of: the coordinates, the rounding and the filters
// that Resize has.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontend/onnx/call.h"
#include "ir/tensor.h"

namespace layline::onnx {

/// How the place in the source that an element of the result reads follows from its own.
enum class Coordinates : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  crop,  // of a part of the source
};

/// Which of two elements is the nearest to a place between them.
enum class Rounding : uint8_t { prefer_floor, prefer_ceil, floor, ceil };

enum class Interpolation : uint8_t { nearest, linear, cubic };

struct Sampling {
  Interpolation interpolation = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  Rounding rounding = Rounding::prefer_floor;
  double cubic = -0.75;  // the parameter of cubic convolution
  bool exclude_outside =
      false;               // elements beyond the ends weigh nothing; otherwise the ends repeat
  bool antialias = false;  // filters widen, so that no element of the source is passed over
};

/// Reads the attributes of Resize.
Sampling read_sampling(const Call& call);

/// One axis of static lengths.
struct ResizedAxis {
  int64_t in, out;
  float scale;
  float start = 0, end = 1;  // the part that is cropped
};

/// The place in the source of each element. A crop may lie outside: then there is none.
std::vector<std::optional<float>> places(const Sampling& sampling, const ResizedAxis& axis);

/// The element of the source that is the nearest to a place.
int64_t nearest(const Sampling& sampling, const ResizedAxis& axis, float place);

/// The weights [out, in] of linear or cubic interpolation, 0 for places that there are not.
Tensor weights(const Sampling& sampling, const ResizedAxis& axis, DType dtype);

}  // namespace layline::onnx

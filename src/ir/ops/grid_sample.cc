// Reading an image at the places of a grid.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ir/ops/checks.h"

namespace layline::rules {
namespace {

/// The coordinate, reflected back and forth between `low` and `high`.
double reflected(double x, double low, double high) {
  if (low == high) return 0;
  const double span = high - low;
  const double way = std::fmod(std::abs(x - low), 2 * span);
  return way <= span ? low + way : high - (way - span);
}

/// The place in pixels that a coordinate from -1 to 1 means along an axis of `size`.
double place(double coordinate, int64_t size, const GridSampleAttrs& attrs) {
  const auto n = static_cast<double>(size);
  double x = attrs.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  if (attrs.outside == OutsideMode::reflection)
    x = attrs.align_corners ? reflected(x, 0, n - 1) : reflected(x, -0.5, n - 0.5);
  if (attrs.outside != OutsideMode::zeros) x = std::clamp(x, 0.0, n - 1);
  return x;
}

}  // namespace

TensorType infer_grid_sample(Types operands, const Attributes&, SymbolTable&) {
  const TensorType& x = operands[0];
  const TensorType& grid = operands[1];
  expect_float(x);
  expect_same_dtype(operands);
  if (x.rank() != 4 || grid.rank() != 4 || grid.shape[3] != Dim(2) || grid.shape[0] != x.shape[0])
    throw UserError("expected an image [n,h,w,c] and a grid [n,rows,columns,2], found {} and {}",
                    to_string(x), to_string(grid));
  if (x.shape[1].is_zero() || x.shape[2].is_zero())
    throw UserError("expected an image with pixels, found {}", to_string(x));
  return result_type(x.dtype, {x.shape[0], grid.shape[1], grid.shape[2], x.shape[3]});
}

Tensor evaluate_grid_sample(Tensors operands, const Attributes& attributes,
                            const TensorType& result) {
  const auto& attrs = std::get<GridSampleAttrs>(attributes);
  const Tensor& x = operands[0];
  const Tensor& grid = operands[1];
  Tensor out(result);
  const int64_t height = x.dim(1), width = x.dim(2), channels = x.dim(3);
  const int64_t places = out.dim(1) * out.dim(2);
  for (int64_t i = 0; i < x.dim(0) * places; ++i) {
    const double column = place(grid.get(2 * i), width, attrs);
    const double row = place(grid.get(2 * i + 1), height, attrs);
    for (int64_t c = 0; c < channels; ++c) {
      const auto pixel = [&](double r, double k) {
        if (!(r >= 0 && r < static_cast<double>(height) && k >= 0 &&
              k < static_cast<double>(width)))
          return 0.0;
        const auto at = (i / places * height + static_cast<int64_t>(r)) * width;
        return x.get((at + static_cast<int64_t>(k)) * channels + c);
      };
      double value = 0;
      if (attrs.mode == ResizeMode::nearest) {
        value = pixel(std::nearbyint(row), std::nearbyint(column));
      } else {
        const double top = std::floor(row), left = std::floor(column);
        const double down = row - top, right = column - left;
        value = (1 - down) * ((1 - right) * pixel(top, left) + right * pixel(top, left + 1)) +
                down * ((1 - right) * pixel(top + 1, left) + right * pixel(top + 1, left + 1));
      }
      out.set(i * channels + c, value);
    }
  }
  return out;
}

}  // namespace layline::rules

#include "frontend/ops/resize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/ops/resample.h"
#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

/// A sequence is an image of one row.
Value* image(const Builder& build, Value* x) {
  if (x->shape().size() != 3 && x->shape().size() != 4)
    build.fail("takes 3 or 4 axes, but has {}", x->shape().size());
  return x->shape().size() == 3 ? with_axis(build, x, 2) : x;
}

ResizedTo image(ResizedTo to) {
  if (to.sizes.size() == 1) to.sizes.insert(to.sizes.begin(), Dim(1));
  if (to.scales.size() == 1) to.scales.insert(to.scales.begin(), std::nullopt);
  return to;
}

ResizeAttrs attributes(const Value* x, ResizeMode mode, const ResizedTo& to) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.align_corners = to.align_corners;
  attrs.size = to.sizes;
  for (size_t i = 0; i < 2; ++i) {
    const Dim from = x->shape()[i + 2], size = to.sizes[i];
    const bool given = to.scales[i] && *to.scales[i] > 0 && !attrs.align_corners;
    if (!given && (!from.is_static() || !size.is_static())) {
      attrs.step.push_back(ResizeAttrs::kRatio);
      continue;
    }
    const auto in = static_cast<double>(from.coefficient());
    const auto out = static_cast<double>(size.coefficient());
    if (attrs.align_corners)
      attrs.step.push_back(out > 1 ? (in - 1) / (out - 1) : 0);
    else
      attrs.step.push_back(given ? 1 / *to.scales[i] : in / out);
  }
  return attrs;
}

/// The weights of the four neighbours of a place `t` behind the second: cubic convolution, Keys
/// 1981, with torch's a = -0.75.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

/// One row for each element of the result, one column for each of the source; beyond its ends the
/// source repeats its last element.
Value* cubic_matrix(const Builder& build, DType dtype, int64_t in, int64_t out, double step,
                    bool align) {
  check_resampled(build, in, out);
  Tensor matrix({dtype, {out, in}});
  for (int64_t i = 0; i < out; ++i) {
    const auto place = static_cast<double>(i);
    const double source = align ? place * step : (place + 0.5) * step - 0.5;
    const auto first = static_cast<int64_t>(std::floor(source)) - 1;
    const auto weights = cubic_weights(source - std::floor(source));
    std::vector<double> row(static_cast<size_t>(in), 0);
    for (int64_t k = 0; k < 4; ++k)
      row[static_cast<size_t>(std::clamp<int64_t>(first + k, 0, in - 1))] +=
          weights[static_cast<size_t>(k)];
    for (int64_t j = 0; j < in; ++j) matrix.set(i * in + j, row[static_cast<size_t>(j)]);
  }
  return build.constant(matrix);
}

}  // namespace

Value* resize(const Builder& build, Value* x, ResizeMode mode, const ResizedTo& to) {
  const bool sequence = x->shape().size() == 3;
  x = image(build, x);
  ResizeAttrs attrs = attributes(x, mode, image(to));
  Value* y = build.add(Op::resize, {build.to_channels_last(x)}, std::move(attrs));
  y = build.from_channels_last(y);
  return sequence ? without_axes(build, y, {2}) : y;
}

/// Each axis by itself is a linear map, which no kernel of the runtime has in one piece.
Value* resize_cubic(const Builder& build, Value* x, const ResizedTo& to) {
  static constexpr std::array<int, 4> kSwap = {0, 1, 3, 2};
  x = image(build, x);
  const ResizeAttrs attrs = attributes(x, ResizeMode::bilinear, image(to));
  for (size_t axis : {1, 0}) {
    const int64_t in = static_length(build, x, 3);
    if (!attrs.size[axis].is_static()) build.fail("to a dynamic size is not supported");
    Value* matrix = cubic_matrix(build, x->dtype(), in, attrs.size[axis].value(), attrs.step[axis],
                                 attrs.align_corners);
    x = build.permute(build.add(Op::linear, {x, matrix}, LinearAttrs{}), kSwap);
  }
  return x;
}

}  // namespace layline::ops

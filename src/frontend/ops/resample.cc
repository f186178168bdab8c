#include "frontend/ops/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"

namespace layline::ops {
namespace {

/// One spatial axis of a channels-first tensor.
struct Resized {
  int64_t axis;
  int64_t in, out;
  double step;  // between the places in the source that neighbours of the result read

  bool changes() const { return in != out || step != 1; }
};

std::vector<Resized> resized_axes(const Builder& build, const Value* x, const ResizedTo& to) {
  const size_t spatial = to.sizes.size();
  if (x->shape().size() != spatial + 2)
    build.fail("resizes {} axes to {}", x->shape().size(), spatial + 2);
  std::vector<Resized> axes;
  for (size_t i = 0; i < spatial; ++i) {
    const Dim &from = x->shape()[i + 2], &size = to.sizes[i];
    if (!from.is_static() || !size.is_static())
      build.fail("resizing a dynamic axis is not supported");
    const int64_t in = from.value(), out = size.value();
    check_resampled(build, in, out);
    const double scale = to.scales[i].value_or(0);
    double step = scale > 0 ? 1 / scale : static_cast<double>(in) / static_cast<double>(out);
    if (to.align_corners)
      step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    axes.push_back({static_cast<int64_t>(i) + 2, in, out, step});
  }
  return axes;
}

/// Element i of the result is element floor((i + offset) * step) of the source, in single precision
/// as torch computes it. Whole multiples are repeated, which needs no indices.
Value* nearest_along(const Builder& build, Value* x, const Resized& axis, double offset) {
  Ints sources;
  for (int64_t i = 0; i < axis.out; ++i) {
    const float place =
        (static_cast<float>(i) + static_cast<float>(offset)) * static_cast<float>(axis.step);
    sources.push_back(std::clamp<int64_t>(static_cast<int64_t>(std::floor(place)), 0, axis.in - 1));
  }
  const auto a = static_cast<size_t>(axis.axis);
  bool repeats = axis.out % axis.in == 0;
  for (int64_t i = 0; repeats && i < axis.out; ++i)
    repeats = sources[static_cast<size_t>(i)] == i / (axis.out / axis.in);
  Shape result = x->shape();
  result[a] = axis.out;
  if (repeats) {
    Shape split = x->shape(), repeated = x->shape();
    split.insert(split.begin() + axis.axis + 1, Dim(1));
    repeated.insert(repeated.begin() + axis.axis + 1, Dim(axis.out / axis.in));
    return build.view(build.expand(build.view(x, split), repeated), result);
  }
  Tensor indices({DType::i64, {axis.out}});
  for (int64_t i = 0; i < axis.out; ++i) indices.set_int(i, sources[static_cast<size_t>(i)]);
  return build.add(Op::gather, {x, build.constant(indices)}, AxisAttrs{axis.axis});
}

/// Weights that are linear between the two neighbours of a place.
Tensor linear_weights(DType dtype, const Resized& axis, bool align_corners) {
  Tensor weights({dtype, {axis.out, axis.in}});
  for (int64_t i = 0; i < axis.out; ++i) {
    const auto place = static_cast<double>(i);
    const double source =
        std::max(0.0, align_corners ? place * axis.step : (place + 0.5) * axis.step - 0.5);
    const int64_t low = std::min(static_cast<int64_t>(source), axis.in - 1);
    const int64_t high = std::min(low + 1, axis.in - 1);
    const double part = std::min(source - static_cast<double>(low), 1.0);
    weights.set(i * axis.in + low, weights.get(i * axis.in + low) + 1 - part);
    weights.set(i * axis.in + high, weights.get(i * axis.in + high) + part);
  }
  return weights;
}

double triangle_filter(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Cubic convolution, Keys 1981, with the a = -0.5 that torch takes here, as Pillow does.
double cubic_filter(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Weights of a filter that widens with the step, so that no element of the source is passed over.
Tensor filter_weights(DType dtype, const Resized& axis, Filter shape) {
  const auto filter = shape == Filter::cubic ? cubic_filter : triangle_filter;
  const double radius = shape == Filter::cubic ? 2 : 1;
  Tensor weights({dtype, {axis.out, axis.in}});
  const double widen = std::max(axis.step, 1.0), support = radius * widen;
  for (int64_t i = 0; i < axis.out; ++i) {
    const double centre = axis.step * (static_cast<double>(i) + 0.5);
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
    const int64_t end = std::min(axis.in, static_cast<int64_t>(centre + support + 0.5));
    double total = 0;
    for (int64_t j = first; j < end; ++j)
      total += filter((static_cast<double>(j) - centre + 0.5) / widen);
    for (int64_t j = first; j < end; ++j)
      weights.set(i * axis.in + j, filter((static_cast<double>(j) - centre + 0.5) / widen) / total);
  }
  return weights;
}

}  // namespace

Value* weighted_along(const Builder& build, Value* x, int64_t axis, const Tensor& weights) {
  std::vector<int> order(x->shape().size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order.back());
  Value* y =
      build.add(Op::linear, {build.permute(x, order), build.constant(weights)}, LinearAttrs{});
  return build.permute(y, order);
}

void check_resampled(const Builder& build, int64_t in, int64_t out) {
  constexpr int64_t kMostElements = 1 << 26;
  const auto elements = checked_mul(in, out);
  if (!elements || *elements > kMostElements || in == 0)
    build.fail("resizes {} elements to {}, which is not supported", in, out);
}

Value* resample_nearest(const Builder& build, Value* x, const ResizedTo& to, double offset) {
  for (const Resized& axis : resized_axes(build, x, to))
    if (axis.changes()) x = nearest_along(build, x, axis, offset);
  return x;
}

Value* resample_linear(const Builder& build, Value* x, const ResizedTo& to) {
  for (const Resized& axis : resized_axes(build, x, to))
    if (axis.changes())
      x = weighted_along(build, x, axis.axis, linear_weights(x->dtype(), axis, to.align_corners));
  return x;
}

Value* resample_filtered(const Builder& build, Value* x, const ResizedTo& to, Filter filter) {
  const std::vector<Resized> axes = resized_axes(build, x, to);
  for (size_t i = axes.size(); i-- > 0;)
    if (axes[i].changes())
      x = weighted_along(build, x, axes[i].axis, filter_weights(x->dtype(), axes[i], filter));
  return x;
}

}  // namespace layline::ops

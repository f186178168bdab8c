// Resizing as a map of each axis by itself, for modes and axes that no kernel has: the nearest
// element, or a weighted sum of neighbours.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "frontend/pt2/ops/rules.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

constexpr int64_t kMostElements = 1 << 26;

/// One spatial axis of a channels-first tensor.
struct Resized {
  int64_t axis;
  int64_t in, out;
  double step;  // between the places in the source that neighbours of the result read
};

/// The scale that the user gave for spatial axis i, from which torch computes the step then.
double given_scale(const Call& call, size_t i, size_t spatial) {
  if (auto factors = call.numbers("scale_factors")) {
    if (factors->size() != spatial)
      call.fail("has {} scales for {} axes", factors->size(), spatial);
    return (*factors)[i];
  }
  static constexpr std::string_view kNames[] = {"scales_d", "scales_h", "scales_w"};
  const std::string_view name = spatial == 1 ? "scales" : kNames[i + 3 - spatial];
  return call.number(name, 0);
}

std::vector<Resized> resized_axes(Call& call, const Value* x, bool align_corners) {
  const Shape result = call.recorded().shape;
  if (result.size() != x->shape().size())
    call.fail("resizes {} axes to {}", x->shape().size(), result.size());
  std::vector<Resized> axes;
  const size_t spatial = result.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const Dim &from = x->shape()[i + 2], &to = result[i + 2];
    if (!from.is_static() || !to.is_static()) call.fail("resizing a dynamic axis is not supported");
    const int64_t in = from.value(), out = to.value();
    const auto elements = checked_mul(in, out);
    if (!elements || *elements > kMostElements || in == 0)
      call.fail("resizes {} elements to {}, which is not supported", in, out);
    const double scale = given_scale(call, i, spatial);
    double step = scale > 0 ? 1 / scale : static_cast<double>(in) / static_cast<double>(out);
    if (align_corners)
      step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    axes.push_back({static_cast<int64_t>(i) + 2, in, out, step});
  }
  return axes;
}

Value* owned(const Call& call, const Tensor& tensor) { return call.constant(Constant::of(tensor)); }

/// Element i of the result is element floor((i + offset) * step) of the source, in single precision
/// as torch computes it. Whole multiples are repeated, which needs no indices.
Value* nearest(const Call& call, Value* x, const Resized& axis, double offset) {
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
    return call.view(call.expand(call.view(x, split), repeated), result);
  }
  Tensor indices({DType::i64, {axis.out}});
  for (int64_t i = 0; i < axis.out; ++i) indices.set_int(i, sources[static_cast<size_t>(i)]);
  return call.add(Op::gather, {x, owned(call, indices)}, AxisAttrs{axis.axis});
}

template <int spatial>
void resize_nearest(Call& call, std::string_view self, double offset) {
  Value* x = call.tensor(self);
  if (x->shape().size() != spatial + 2) call.fail("takes no {}", to_string(x->type()));
  for (const Resized& axis : resized_axes(call, x, false))
    if (axis.in != axis.out || axis.step != 1) x = nearest(call, x, axis, offset);
  call.result(x);
}

/// [out, in] weights applied along an axis.
Value* weighted(const Call& call, Value* x, const Resized& axis, const Tensor& weights) {
  const int last = static_cast<int>(x->shape().size()) - 1;
  std::vector<int> order(x->shape().size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis.axis)], order[static_cast<size_t>(last)]);
  Value* y = call.add(Op::linear, {call.permute(x, order), owned(call, weights)}, LinearAttrs{});
  return call.permute(y, order);
}

/// Linear between the two neighbours of a place.
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

void trilinear(Call& call, std::string_view self) {
  Value* x = call.tensor(self);
  if (x->shape().size() != 5) call.fail("takes no {}", to_string(x->type()));
  const bool corners = call.flag("align_corners", false);
  for (const Resized& axis : resized_axes(call, x, corners))
    if (axis.in != axis.out || axis.step != 1)
      x = weighted(call, x, axis, linear_weights(x->dtype(), axis, corners));
  call.result(x);
}

double triangle_filter(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Cubic convolution, Keys 1981, with the a = -0.5 that torch takes here, as Pillow does.
double cubic_filter(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// A filter that widens with the step, so that no element of the source is passed over.
Tensor filter_weights(DType dtype, const Resized& axis, double (*filter)(double), double radius) {
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

void antialiased(Call& call, std::string_view self, double (*filter)(double), double radius) {
  Value* x = call.tensor(self);
  if (x->shape().size() != 4) call.fail("takes no {}", to_string(x->type()));
  const std::vector<Resized> axes = resized_axes(call, x, call.flag("align_corners", false));
  for (size_t i = axes.size(); i-- > 0;)
    if (axes[i].in != axes[i].out || axes[i].step != 1)
      x = weighted(call, x, axes[i], filter_weights(x->dtype(), axes[i], filter, radius));
  call.result(x);
}

constexpr OpRule kRules[] = {
    {"aten._upsample_nearest_exact1d.vec",
     [](Call& call) { resize_nearest<1>(call, "input", 0.5); }},
    {"aten._upsample_nearest_exact1d.default",
     [](Call& call) { resize_nearest<1>(call, "self", 0.5); }},
    {"aten._upsample_nearest_exact2d.vec",
     [](Call& call) { resize_nearest<2>(call, "input", 0.5); }},
    {"aten._upsample_nearest_exact2d.default",
     [](Call& call) { resize_nearest<2>(call, "self", 0.5); }},
    {"aten._upsample_nearest_exact3d.vec",
     [](Call& call) { resize_nearest<3>(call, "input", 0.5); }},
    {"aten._upsample_nearest_exact3d.default",
     [](Call& call) { resize_nearest<3>(call, "self", 0.5); }},
    {"aten.upsample_nearest3d.vec", [](Call& call) { resize_nearest<3>(call, "input", 0); }},
    {"aten.upsample_nearest3d.default", [](Call& call) { resize_nearest<3>(call, "self", 0); }},
    {"aten.upsample_trilinear3d.vec", [](Call& call) { trilinear(call, "input"); }},
    {"aten.upsample_trilinear3d.default", [](Call& call) { trilinear(call, "self"); }},
    {"aten._upsample_bilinear2d_aa.vec",
     [](Call& call) { antialiased(call, "input", triangle_filter, 1); }},
    {"aten._upsample_bilinear2d_aa.default",
     [](Call& call) { antialiased(call, "self", triangle_filter, 1); }},
    {"aten._upsample_bicubic2d_aa.vec",
     [](Call& call) { antialiased(call, "input", cubic_filter, 2); }},
    {"aten._upsample_bicubic2d_aa.default",
     [](Call& call) { antialiased(call, "self", cubic_filter, 2); }},
};

}  // namespace

std::span<const OpRule> resample_rules() { return kRules; }

}  // namespace layline::pt2

// Resizing, and images read at the places of a grid.
#include "frontend/ops/resize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/onnx/ops/axis_samples.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/grid.h"
#include "frontend/ops/index.h"
#include "frontend/ops/resample.h"

namespace layline::onnx {
namespace {

/// What one axis becomes.
struct Target {
  int64_t axis;
  Dim from, to;
  std::optional<float> scale;  // unknown while sizes are
  bool exact = true;           // the size is that of the source times the scale, not rounded
  float start = 0, end = 1;    // the part that is cropped

  bool is_static() const { return from.is_static() && to.is_static() && scale; }
  bool changes() const { return to != from || scale != 1.0F || start != 0 || end != 1; }
  ResizedAxis resized() const { return {from.value(), to.value(), *scale, start, end}; }
};

/// The size times a scale, rounded down.
Dim scaled(const Call& call, const Dim& from, float scale) {
  constexpr float kMost = 1 << 20;
  if (!(scale > 0 && scale <= kMost)) call.fail("resizes by {}", scale);
  if (from.is_static()) return Dim(static_cast<int64_t>(scale * static_cast<float>(from.value())));
  SymbolTable& symbols = call.graph().symbol_table();
  for (int64_t divisor = 1; divisor <= 1 << 10; divisor *= 2) {
    const float factor = scale * static_cast<float>(divisor);
    if (factor == std::trunc(factor))
      return symbols.dim(symbols.quotient(
          symbols.expand(from) * Sum::number(static_cast<int64_t>(factor)), divisor));
  }
  call.fail("resizes a dynamic size by {}, which is not supported; fix it with --dim", scale);
}

void scale_by(const Call& call, Target& target, float scale) {
  target.scale = scale;
  float length = scale;
  if (target.start != 0 || target.end != 1) length *= target.end - target.start;
  target.to = scaled(call, target.from, length);
  target.exact = scale == std::trunc(scale);
  if (target.from.is_static())
    target.exact =
        static_cast<float>(target.to.value()) == scale * static_cast<float>(target.from.value());
}

void size_to(Target& target, const Dim& size) {
  target.to = size;
  const auto ratio = divide(size, target.from);
  if (ratio && ratio->is_static())
    target.scale = static_cast<float>(ratio->value());
  else if (target.from.is_static() && size.is_static())
    target.scale = static_cast<float>(size.value()) / static_cast<float>(target.from.value());
}

/// One scale for all axes, with which no size, or every size, is at least as large as asked.
void keep_aspect_ratio(const Call& call, std::vector<Target>& targets, bool larger) {
  std::optional<float> scale;
  for (const Target& target : targets) {
    if (!target.is_static()) call.fail("keeps the ratio of dynamic sizes; fix them with --dim");
    if (!scale || (larger ? *target.scale > *scale : *target.scale < *scale)) scale = target.scale;
  }
  for (Target& target : targets) {
    const float size = *scale * static_cast<float>(target.from.value());
    target.scale = scale;
    target.to = static_cast<int64_t>(std::floor(size + 0.5F));
    target.exact = static_cast<float>(target.to.value()) == size;
  }
}

std::vector<float> floats(const Call& call, size_t input, std::string_view what) {
  const Tensor& tensor = call.known(input, what);
  std::vector<float> values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(static_cast<float>(tensor.get(i)));
  return values;
}

void expect_entries(const Call& call, std::string_view what, size_t found, size_t axes) {
  if (found != axes) call.fail("{} has {} entries for {} axes", what, found, axes);
}

std::vector<Target> targets_of(const Call& call, const Value* x, const Sampling& sampling) {
  const int64_t rank = x->type().rank();
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.ints("axes", axes);
  std::vector<Target> targets;
  for (const int64_t given : axes) {
    const int64_t axis = call.axis(given, rank);
    const Dim length = x->shape()[static_cast<size_t>(axis)];
    targets.push_back({axis, length, length, 1.0F});
  }
  const size_t count = targets.size();
  if (sampling.coordinates == Coordinates::crop) {
    const std::vector<float> part = floats(call, 1, "`roi`");
    expect_entries(call, "`roi`", part.size(), 2 * count);
    for (size_t i = 0; i < count; ++i) {
      targets[i].start = part[i];
      targets[i].end = part[i + count];
    }
  }
  if (call.opset() >= 11 && call.has(3)) {
    const std::vector<Sum> sizes = call.sums(3, "`sizes`");
    expect_entries(call, "`sizes`", sizes.size(), count);
    for (size_t i = 0; i < count; ++i)
      size_to(targets[i], call.graph().symbol_table().dim(sizes[i]));
    const std::string_view policy = call.string("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") keep_aspect_ratio(call, targets, policy == "not_smaller");
    return targets;
  }
  const std::vector<float> scales = floats(call, call.opset() >= 11 ? 2 : 1, "`scales`");
  expect_entries(call, "`scales`", scales.size(), count);
  for (size_t i = 0; i < count; ++i) scale_by(call, targets[i], scales[i]);
  return targets;
}

/// Whether the nearest element is floor(i * step), as in the kernels.
bool rounds_down(const Sampling& sampling, const Target& target) {
  if (sampling.coordinates == Coordinates::asymmetric && sampling.rounding == Rounding::floor)
    return true;
  if (!target.is_static()) {
    // The centre of each of so many equal parts is nearest to the element that they are parts of.
    return target.scale && *target.scale == std::trunc(*target.scale) &&
           (sampling.coordinates == Coordinates::half_pixel ||
            sampling.coordinates == Coordinates::pytorch_half_pixel) &&
           (sampling.rounding == Rounding::prefer_floor ||
            sampling.rounding == Rounding::prefer_ceil);
  }
  const ResizedAxis axis = target.resized();
  const auto found = places(sampling, axis);
  for (int64_t i = 0; i < axis.out; ++i) {
    const std::optional<float>& place = found[static_cast<size_t>(i)];
    const float step =
        target.exact ? static_cast<float>(axis.in) / static_cast<float>(axis.out) : 1 / axis.scale;
    const auto floor = static_cast<int64_t>(static_cast<float>(i) * step);
    if (!place || nearest(sampling, axis, *place) != std::min(floor, axis.in - 1)) return false;
  }
  return true;
}

/// Whether kernels have these places for linear interpolation. Those that keep the corners take
/// the whole size for it.
bool interpolates_as_kernels(const Sampling& sampling, const Target& target) {
  if (sampling.exclude_outside || (sampling.antialias && !(target.scale && *target.scale >= 1)))
    return false;
  switch (sampling.coordinates) {
    case Coordinates::half_pixel:
      return true;
    case Coordinates::pytorch_half_pixel:
      return !target.to.is_one();
    case Coordinates::half_pixel_symmetric:
    case Coordinates::align_corners:
      return target.exact;
    default:
      return false;
  }
}

bool has_kernel(const Value* x, const Sampling& sampling, const std::vector<Target>& changed) {
  const size_t rank = x->shape().size();
  if ((rank != 3 && rank != 4) || !is_float(x->dtype())) return false;
  return std::ranges::all_of(changed, [&](const Target& target) {
    if (target.axis < 2) return false;
    switch (sampling.interpolation) {
      case Interpolation::nearest:
        return rounds_down(sampling, target);
      case Interpolation::linear:
        return interpolates_as_kernels(sampling, target);
      case Interpolation::cubic:
        break;
    }
    return false;
  });
}

Value* by_kernel(const Call& call, Value* x, const Sampling& sampling,
                 const std::vector<Target>& changed) {
  ops::ResizedTo to;
  to.sizes.assign(x->shape().begin() + 2, x->shape().end());
  to.scales.resize(to.sizes.size());
  to.align_corners = sampling.coordinates == Coordinates::align_corners &&
                     sampling.interpolation == Interpolation::linear;
  for (const Target& target : changed) {
    const auto i = static_cast<size_t>(target.axis - 2);
    to.sizes[i] = target.to;
    if (!target.exact) to.scales[i] = static_cast<double>(*target.scale);
  }
  const ResizeMode mode =
      sampling.interpolation == Interpolation::nearest ? ResizeMode::nearest : ResizeMode::bilinear;
  return ops::resize(call, x, mode, to);
}

/// One axis by itself: the nearest elements, or weighted sums.
Value* resampled(const Call& call, Value* x, const Sampling& sampling, const Target& target) {
  if (!target.is_static())
    call.fail("resizes {} to {} in a way for which sizes must be known; fix them with --dim",
              to_string(target.from), to_string(target.to));
  const ResizedAxis axis = target.resized();
  ops::check_resampled(call, axis.in, axis.out);
  const auto found = places(sampling, axis);
  if (sampling.interpolation == Interpolation::nearest) {
    Tensor indices({DType::i64, {axis.out}});
    for (int64_t i = 0; i < axis.out; ++i)
      indices.set_int(i, nearest(sampling, axis, found[static_cast<size_t>(i)].value_or(0)));
    x = ops::gather(call, x, call.constant(indices), target.axis);
  } else {
    x = ops::weighted_along(call, x, target.axis, weights(sampling, axis, x->dtype()));
  }
  if (std::ranges::all_of(found, [](const auto& place) { return place.has_value(); })) return x;
  Shape along(x->shape().size(), Dim(1));
  along[static_cast<size_t>(target.axis)] = axis.out;
  Tensor is_outside({DType::boolean, along});
  for (int64_t i = 0; i < axis.out; ++i)
    is_outside.set_int(i, found[static_cast<size_t>(i)] ? 0 : 1);
  Value* outside = call.constant(is_outside);
  Value* value = call.scalar(x->dtype(), call.number("extrapolation_value", 0));
  return call.add(Op::where, {outside, value, x});
}

Value* resized(const Call& call, Value* x, const Sampling& sampling, std::vector<Target> targets) {
  std::erase_if(targets, [](const Target& target) { return !target.changes(); });
  if (targets.empty()) return x;
  constexpr int64_t kLongest = 1 << 26;
  for (const Target& target : targets)
    if (target.to.is_static() && target.to.value() > kLongest)
      call.fail("resizes to {} elements, which is not supported", target.to.value());
  const DType dtype = x->dtype();
  if (sampling.interpolation != Interpolation::nearest && !is_float(dtype))
    x = call.convert(x, DType::f32);
  if (has_kernel(x, sampling, targets))
    x = by_kernel(call, x, sampling, targets);
  else
    for (const Target& target : targets) x = resampled(call, x, sampling, target);
  return call.convert(x, dtype);
}

void resize(Call& call) {
  Value* x = call.input(0);
  const Sampling sampling = read_sampling(call);
  call.result(resized(call, x, sampling, targets_of(call, x, sampling)));
}

/// Resize with places i / scale. Before opset 9 the scales are attributes.
void upsample(Call& call) {
  if (call.opset() >= 9) return resize(call);
  Value* x = call.input(0);
  std::vector<double> scales = call.numbers("scales");
  if (call.opset() < 7)
    scales = {1, 1, call.number("height_scale", 1), call.number("width_scale", 1)};
  expect_entries(call, "`scales`", scales.size(), x->shape().size());
  std::vector<Target> targets;
  for (size_t i = 0; i < scales.size(); ++i) {
    const Dim length = x->shape()[i];
    targets.push_back({static_cast<int64_t>(i), length, length, 1.0F});
    scale_by(call, targets.back(), static_cast<float>(scales[i]));
  }
  call.result(resized(call, x, read_sampling(call), std::move(targets)));
}

void grid_sample(Call& call) {
  Value* x = call.input(0);
  Value* grid = call.input(1);
  const std::string_view outside = call.string("padding_mode", "zeros");
  ops::GridSampling sampling;
  sampling.align_corners = call.flag("align_corners", false);
  if (outside == "border")
    sampling.outside = OutsideMode::border;
  else if (outside == "reflection")
    sampling.outside = OutsideMode::reflection;
  else if (outside != "zeros")
    call.fail("the padding `{}` is not supported", outside);
  const std::string_view mode = call.string("mode", "linear");
  if (mode == "nearest")
    sampling.mode = ops::GridMode::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    sampling.mode = ops::GridMode::cubic;
  else if (mode != "linear" && mode != "bilinear")
    call.fail("the mode `{}` is not supported", mode);
  call.result(ops::grid_sample(call, x, grid, sampling));
}

void affine_grid(Call& call) {
  Ints size = call.integers(1, "`size`");
  if (size.size() != 4 && size.size() != 5) call.fail("of {} axes is not supported", size.size());
  size.erase(size.begin(), size.begin() + 2);
  call.result(ops::affine_grid(call, call.input(0), size, call.flag("align_corners", false)));
}

constexpr OpRule kRules[] = {
    {"Resize", resize},
    {"Upsample", upsample},
    {"GridSample", grid_sample},
    {"AffineGrid", affine_grid},
};

}  // namespace

std::span<const OpRule> resize_rules() { return kRules; }

}  // namespace layline::onnx

#include "frontend/ops/norm.h"

#include <numeric>

#include "frontend/ops/reduction.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

void expect_channels(const Builder& build, const Value* x) {
  if (x->shape().size() < 2)
    build.fail("the input should have 2 axes or more, but is {}", to_string(x->type()));
}

Ints axes_from(int64_t first, int64_t rank) {
  Ints axes(static_cast<size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Value* normalize(const Builder& build, Value* x, Ints axes, double eps, bool center = true) {
  return build.add(Op::normalize, {x}, NormalizeAttrs{std::move(axes), eps, center});
}

/// A parameter that broadcasts to x once it has `shape`.
Value* parameter(const Builder& build, const Value* x, Value* value, const Shape& shape) {
  return view(build, build.convert(value, x->dtype()), shape);
}

Value* applied(const Builder& build, Value* y, const Affine& affine, const Shape& shape) {
  if (affine.weight != nullptr)
    y = build.add(Op::mul, {y, parameter(build, y, affine.weight, shape)});
  if (affine.bias != nullptr) y = build.add(Op::add, {y, parameter(build, y, affine.bias, shape)});
  return y;
}

/// The shape of parameters for each channel, axis 1; they are broadcast over the axes behind it.
Shape per_channel(const Value* x) {
  Shape shape(x->shape().size() - 1, Dim(1));
  shape[0] = x->shape()[1];
  return shape;
}

Value* norm_of_last(const Builder& build, Value* x, size_t axes, const Affine& affine, double eps,
                    bool center) {
  if (axes > x->shape().size()) build.fail("normalizes {} axes of {}", axes, to_string(x->type()));
  const int64_t rank = x->type().rank(), first = rank - static_cast<int64_t>(axes);
  const Shape shape(x->shape().begin() + first, x->shape().end());
  return applied(build, normalize(build, x, axes_from(first, rank), eps, center), affine, shape);
}

}  // namespace

/// y = x * scale + shift with scale = weight / sqrt(var + eps), shift = bias - mean * scale.
Value* batch_norm(const Builder& build, Value* x, const Statistics& statistics,
                  const Affine& affine, double eps) {
  expect_channels(build, x);
  const DType dtype = statistics.variance->dtype();
  Value* scale =
      build.add(Op::rsqrt, {build.add(Op::add, {statistics.variance, build.scalar(dtype, eps)})});
  if (affine.weight != nullptr)
    scale = build.add(Op::mul, {build.convert(affine.weight, dtype), scale});
  Value* shift = build.add(Op::neg, {build.add(Op::mul, {statistics.mean, scale})});
  if (affine.bias != nullptr)
    shift = build.add(Op::add, {build.convert(affine.bias, dtype), shift});
  return applied(build, x, {scale, shift}, per_channel(x));
}

Value* batch_norm(const Builder& build, Value* x, const Affine& affine, double eps) {
  expect_channels(build, x);
  Ints axes = axes_from(1, x->type().rank());
  axes[0] = 0;
  return applied(build, normalize(build, x, std::move(axes), eps), affine, per_channel(x));
}

Value* instance_norm(const Builder& build, Value* x, const Affine& affine, double eps) {
  expect_channels(build, x);
  Value* y = normalize(build, x, axes_from(2, x->type().rank()), eps);
  return applied(build, y, affine, per_channel(x));
}

Value* group_norm(const Builder& build, Value* x, int64_t groups, const Affine& affine,
                  double eps) {
  expect_channels(build, x);
  const auto each = groups > 0 ? divide(x->shape()[1], groups) : std::nullopt;
  if (!each)
    build.fail("{} channels do not divide into {} groups", to_string(x->shape()[1]), groups);
  // [N, C, ...] as [N, groups, C / groups, ...].
  Shape grouped = x->shape();
  grouped[1] = *each;
  grouped.insert(grouped.begin() + 1, Dim(groups));
  Value* y = normalize(build, build.view(x, grouped), axes_from(2, x->type().rank() + 1), eps);
  return applied(build, build.view(y, x->shape()), affine, per_channel(x));
}

Value* layer_norm(const Builder& build, Value* x, size_t axes, const Affine& affine, double eps) {
  return norm_of_last(build, x, axes, affine, eps, true);
}

Value* rms_norm(const Builder& build, Value* x, size_t axes, const Affine& affine, double eps) {
  return norm_of_last(build, x, axes, affine, eps, false);
}

Scaling scaling(const Builder& build, Value* x, const Ints& axes, double eps) {
  const Moments found = moments(build, Spread::variance, x, {axes, true}, 0);
  Value* variance = build.add(Op::add, {found.spread, build.scalar(x->dtype(), eps)});
  return {found.mean, build.add(Op::rsqrt, {variance})};
}

Value* weight_norm(const Builder& build, Value* direction, Value* length,
                   std::optional<int64_t> axis) {
  Ints axes = all_axes(direction);
  if (axis) axes.erase(axes.begin() + *axis);
  Value* power = build.add(Op::reduce_sum, {build.add(Op::square, {direction})}, AxesAttrs{axes});
  Value* factor = build.add(Op::div, {length, build.add(Op::sqrt, {power})});
  return build.add(Op::mul, {direction, factor});
}

}  // namespace layline::ops

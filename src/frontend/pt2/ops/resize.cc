// Upsampling of channels-first images.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.h"
#include "frontend/pt2/ops/rules.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

/// A sequence is an image of one row.
Shape with_rows(Call& call, Shape shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + 2, Dim(1));
  if (shape.size() != 4) call.fail("takes 3 or 4 axes, but has {}", shape.size());
  return shape;
}

/// The scale the user gave for each axis, where the op keeps it: torch then computes source
/// coordinates from it and not from the sizes.
std::vector<std::optional<double>> given_scales(Call& call) {
  std::vector<std::optional<double>> scales(2);
  if (auto factors = call.numbers("scale_factors")) {
    scales.assign(factors->begin(), factors->end());
    if (scales.size() == 1) scales.insert(scales.begin(), std::nullopt);
  }
  if (call.has("scales_h")) scales[0] = call.number("scales_h", 1);
  for (std::string_view last : {"scales_w", "scales"})
    if (call.has(last)) scales[1] = call.number(last, 1);
  return scales;
}

ResizeAttrs attributes(Call& call, const Shape& source, ResizeMode mode) {
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.align_corners = call.flag("align_corners", false);
  const auto scales = given_scales(call);
  if (scales.size() != 2) call.fail("has {} scales for 2 axes", scales.size());
  const Shape result = with_rows(call, call.recorded().shape);
  for (size_t i = 0; i < 2; ++i) {
    const Dim from = source[i + 2], to = result[i + 2];
    attrs.size.push_back(to);
    const bool given = scales[i] && *scales[i] > 0 && !attrs.align_corners;
    if (!given && (!from.is_static() || !to.is_static())) {
      attrs.step.push_back(ResizeAttrs::kRatio);
      continue;
    }
    const auto in = static_cast<double>(from.coefficient());
    const auto out = static_cast<double>(to.coefficient());
    if (attrs.align_corners)
      attrs.step.push_back(out > 1 ? (in - 1) / (out - 1) : 0);
    else
      attrs.step.push_back(given ? 1 / *scales[i] : in / out);
  }
  return attrs;
}

Value* image(Call& call, std::string_view self) {
  Value* x = call.tensor(self);
  return call.view(x, with_rows(call, x->shape()));
}

void resize(Call& call, ResizeMode mode, std::string_view self) {
  Value* x = image(call, self);
  ResizeAttrs attrs = attributes(call, x->shape(), mode);
  Value* y = call.add(Op::resize, {call.to_channels_last(x)}, std::move(attrs));
  call.result(call.view(call.from_channels_last(y), call.recorded().shape));
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
Value* cubic_matrix(Call& call, DType dtype, int64_t in, int64_t out, double step, bool align) {
  constexpr int64_t kMostElements = 1 << 26;
  const auto elements = checked_mul(in, out);
  if (!elements || *elements > kMostElements || in == 0)
    call.fail("resizes {} elements to {}, which is not supported", in, out);
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
  return call.constant(Constant::of(matrix));
}

/// Each axis by itself is a linear map, which no kernel of the runtime has in one piece.
void resize_cubic(Call& call, std::string_view self) {
  static constexpr std::array<int, 4> kSwap = {0, 1, 3, 2};
  Value* x = image(call, self);
  const ResizeAttrs attrs = attributes(call, x->shape(), ResizeMode::bilinear);
  for (size_t axis : {1, 0}) {
    const int64_t in = call.static_length(x, 3);
    if (!attrs.size[axis].is_static()) call.fail("to a dynamic size is not supported");
    Value* matrix = cubic_matrix(call, x->dtype(), in, attrs.size[axis].value(), attrs.step[axis],
                                 attrs.align_corners);
    x = call.permute(call.add(Op::linear, {x, matrix}, LinearAttrs{}), kSwap);
  }
  call.result(x);
}

constexpr OpRule kRules[] = {
    {"aten.upsample_nearest2d.vec", [](Call& call) { resize(call, ResizeMode::nearest, "input"); }},
    {"aten.upsample_nearest2d.default",
     [](Call& call) { resize(call, ResizeMode::nearest, "self"); }},
    {"aten.upsample_bilinear2d.vec",
     [](Call& call) { resize(call, ResizeMode::bilinear, "input"); }},
    {"aten.upsample_nearest1d.vec", [](Call& call) { resize(call, ResizeMode::nearest, "input"); }},
    {"aten.upsample_nearest1d.default",
     [](Call& call) { resize(call, ResizeMode::nearest, "self"); }},
    {"aten.upsample_linear1d.vec", [](Call& call) { resize(call, ResizeMode::bilinear, "input"); }},
    {"aten.upsample_linear1d.default",
     [](Call& call) { resize(call, ResizeMode::bilinear, "self"); }},
    {"aten.upsample_bicubic2d.vec", [](Call& call) { resize_cubic(call, "input"); }},
    {"aten.upsample_bicubic2d.default", [](Call& call) { resize_cubic(call, "self"); }},
    {"aten.upsample_bilinear2d.default",
     [](Call& call) { resize(call, ResizeMode::bilinear, "self"); }},
};

}  // namespace

std::span<const OpRule> resize_rules() { return kRules; }

}  // namespace layline::pt2

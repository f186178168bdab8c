// Resizing.
#include "frontend/ops/resize.h"

#include <array>

#include "frontend/ops/resample.h"
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

/// The scale that the user gave for each spatial axis, if the op keeps it.
std::vector<std::optional<double>> given_scales(const Call& call, size_t spatial) {
  static constexpr std::array<std::string_view, 3> kNames = {"scales_d", "scales_h", "scales_w"};
  std::vector<std::optional<double>> scales(spatial);
  if (auto factors = call.numbers("scale_factors")) {
    if (factors->size() != spatial)
      call.fail("has {} scales for {} axes", factors->size(), spatial);
    scales.assign(factors->begin(), factors->end());
  }
  for (size_t i = 0; i < spatial && spatial <= kNames.size(); ++i) {
    const std::string_view name = spatial == 1 ? "scales" : kNames[i + kNames.size() - spatial];
    if (call.has(name)) scales[i] = call.number(name, 1);
  }
  return scales;
}

ops::ResizedTo resized_to(const Call& call, const Value* x) {
  const Shape result = call.recorded().shape;
  if (result.size() != x->shape().size())
    call.fail("resizes {} axes to {}", x->shape().size(), result.size());
  if (result.size() < 3) call.fail("takes 3 or 4 axes, but has {}", result.size());
  return {Shape(result.begin() + 2, result.end()), given_scales(call, result.size() - 2),
          call.flag("align_corners", false)};
}

/// The tensor given as `self`, checked to have so many spatial axes.
Value* tensor_with_spatial_axes(const Call& call, std::string_view self, size_t spatial) {
  Value* x = call.tensor(self);
  if (x->shape().size() != spatial + 2) call.fail("takes no {}", to_string(x->type()));
  return x;
}

void resize(Call& call, ResizeMode mode, std::string_view self) {
  Value* x = call.tensor(self);
  call.result(ops::resize(call, x, mode, resized_to(call, x)));
}

void resize_cubic(Call& call, std::string_view self) {
  Value* x = call.tensor(self);
  call.result(ops::resize_cubic(call, x, resized_to(call, x)));
}

template <size_t spatial>
void resize_nearest(Call& call, std::string_view self, double offset) {
  Value* x = tensor_with_spatial_axes(call, self, spatial);
  call.result(ops::resample_nearest(call, x, resized_to(call, x), offset));
}

void trilinear(Call& call, std::string_view self) {
  Value* x = tensor_with_spatial_axes(call, self, 3);
  call.result(ops::resample_linear(call, x, resized_to(call, x)));
}

void antialiased(Call& call, std::string_view self, ops::Filter filter) {
  Value* x = tensor_with_spatial_axes(call, self, 2);
  call.result(ops::resample_filtered(call, x, resized_to(call, x), filter));
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
     [](Call& call) { antialiased(call, "input", ops::Filter::triangle); }},
    {"aten._upsample_bilinear2d_aa.default",
     [](Call& call) { antialiased(call, "self", ops::Filter::triangle); }},
    {"aten._upsample_bicubic2d_aa.vec",
     [](Call& call) { antialiased(call, "input", ops::Filter::cubic); }},
    {"aten._upsample_bicubic2d_aa.default",
     [](Call& call) { antialiased(call, "self", ops::Filter::cubic); }},
};

}  // namespace

std::span<const OpRule> resize_rules() { return kRules; }

}  // namespace layline::pt2

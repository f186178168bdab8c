// Upsampling of channels-first images.
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

/// The scale the user gave for each axis, where the op keeps it: torch then computes source
/// coordinates from it and not from the sizes.
std::vector<std::optional<double>> given_scales(Call& call) {
  if (auto factors = call.numbers("scale_factors"))
    return {factors->begin(), factors->end()};
  std::vector<std::optional<double>> scales(2);
  if (call.has("scales_h")) scales[0] = call.number("scales_h", 1);
  if (call.has("scales_w")) scales[1] = call.number("scales_w", 1);
  return scales;
}

void resize(Call& call, ResizeMode mode, std::string_view self) {
  Value* x = call.tensor(self);
  if (x->shape().size() != 4) call.fail("takes 4 axes, but the input is {}", to_string(x->type()));
  ResizeAttrs attrs;
  attrs.mode = mode;
  attrs.align_corners = call.flag("align_corners", false);
  const auto scales = given_scales(call);
  if (scales.size() != 2) call.fail("has {} scales for 2 axes", scales.size());
  for (size_t i = 0; i < 2; ++i) {
    const Dim from = x->shape()[i + 2], to = call.recorded().shape[i + 2];
    if (!from.is_static() || !to.is_static()) call.fail("resizing a dynamic axis is not supported");
    const auto in = static_cast<double>(from.value()), out = static_cast<double>(to.value());
    attrs.size.push_back(to.value());
    if (attrs.align_corners)
      attrs.step.push_back(out > 1 ? (in - 1) / (out - 1) : 0);
    else
      attrs.step.push_back(scales[i] && *scales[i] > 0 ? 1 / *scales[i] : in / out);
  }
  call.result(call.from_channels_last(call.add(Op::resize, {call.to_channels_last(x)}, std::move(attrs))));
}

constexpr OpRule kRules[] = {
    {"aten.upsample_nearest2d.vec",
     [](Call& call) { resize(call, ResizeMode::nearest, "input"); }},
    {"aten.upsample_nearest2d.default",
     [](Call& call) { resize(call, ResizeMode::nearest, "self"); }},
    {"aten.upsample_bilinear2d.vec",
     [](Call& call) { resize(call, ResizeMode::bilinear, "input"); }},
    {"aten.upsample_bilinear2d.default",
     [](Call& call) { resize(call, ResizeMode::bilinear, "self"); }},
};

}  // namespace

std::span<const OpRule> resize_rules() { return kRules; }

}  // namespace layline::pt2

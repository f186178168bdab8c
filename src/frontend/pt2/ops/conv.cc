// Convolutions.
#include "frontend/ops/conv.h"

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

struct Operands {
  Value *x, *weight, *bias;
  size_t spatial;
};

Operands operands(const Call& call) {
  Value* x = call.tensor("input");
  Value* weight = call.tensor("weight");
  return {x, weight, call.optional_tensor("bias"), ops::spatial_axes(call, weight)};
}

/// What forward and transposed convolutions have in common.
template <typename Attrs>
Attrs window(const Call& call, size_t spatial) {
  Attrs attrs;
  attrs.stride = call.ints_per_axis("stride", spatial, {1});
  attrs.dilation = call.ints_per_axis("dilation", spatial, {1});
  attrs.groups = call.integer("groups", 1);
  return attrs;
}

Ints padding(const Call& call, size_t spatial) {
  return call.ints_per_axis("padding", spatial, {0});
}

void conv(Call& call) {
  const auto [x, weight, bias, spatial] = operands(call);
  auto attrs = window<ConvAttrs>(call, spatial);
  attrs.low = attrs.high = padding(call, spatial);
  call.result(ops::conv(call, x, weight, bias, std::move(attrs)));
}

void conv_named_padding(Call& call) {
  const auto [x, weight, bias, spatial] = operands(call);
  auto attrs = window<ConvAttrs>(call, spatial);
  attrs.low = attrs.high = Ints(spatial, 0);
  const std::string_view name = call.string("padding", "valid");
  if (name != "same" && name != "valid") call.fail("unknown padding `{}`", name);
  if (name == "same") ops::pad_to_same_length(call, weight, attrs);
  call.result(ops::conv(call, x, weight, bias, std::move(attrs)));
}

void conv_transpose(Call& call) {
  const auto [x, weight, bias, spatial] = operands(call);
  auto attrs = window<ConvTransposeAttrs>(call, spatial);
  attrs.low = attrs.high = padding(call, spatial);
  attrs.extra = call.ints_per_axis("output_padding", spatial, {0});
  call.result(ops::conv_transpose(call, x, weight, bias, std::move(attrs)));
}

void convolution(Call& call) { call.flag("transposed", false) ? conv_transpose(call) : conv(call); }

constexpr OpRule kRules[] = {
    {"aten.conv1d.default", conv},
    {"aten.conv2d.default", conv},
    {"aten.conv3d.default", conv},
    {"aten.conv1d.padding", conv_named_padding},
    {"aten.conv2d.padding", conv_named_padding},
    {"aten.conv3d.padding", conv_named_padding},
    {"aten.conv_transpose1d.default", conv_transpose},
    {"aten.conv_transpose2d.input", conv_transpose},
    {"aten.conv_transpose3d.input", conv_transpose},
    {"aten.convolution.default", convolution},
};

}  // namespace

std::span<const OpRule> conv_rules() { return kRules; }

}  // namespace layline::pt2

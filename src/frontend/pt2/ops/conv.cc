// Convolutions. torch's are channels-first with weights [O, I/g, k...] (transposed: [I, O/g,
// k...]); core convolutions are channels-last with weights [O, k..., I/g].
#include <numeric>

#include "base/checked.h"
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

struct Operands {
  Value* input;  // [N, C, spatial...]
  Value* weight;
  bool batched;
  size_t spatial;
};

Operands operands(Call& call) {
  Value* input = call.tensor("input");
  Value* weight = call.tensor("weight");
  if (weight->shape().size() < 3)
    call.fail("the weight should have 3 to 5 axes, but is {}", to_string(weight->type()));
  const size_t spatial = weight->shape().size() - 2;
  const bool batched = input->shape().size() == spatial + 2;
  if (!batched) {
    if (input->shape().size() != spatial + 1)
      call.fail("the input {} does not fit the weight {}", to_string(input->type()),
                to_string(weight->type()));
    Shape with_batch = input->shape();
    with_batch.insert(with_batch.begin(), Dim(1));
    input = call.view(input, with_batch);
  }
  return {input, weight, batched, spatial};
}

void finish(Call& call, const Operands& given, Value* y) {
  y = call.from_channels_last(y);
  if (!given.batched) y = call.view(y, Shape(y->shape().begin() + 1, y->shape().end()));
  call.result(y);
}

std::vector<Value*> with_bias(Call& call, Value* x, Value* weight) {
  std::vector<Value*> all = {call.to_channels_last(x), weight};
  if (Value* bias = call.optional_tensor("bias")) all.push_back(bias);
  return all;
}

void add_conv(Call& call, const Operands& given, ConvAttrs attrs) {
  finish(call, given,
         call.add(Op::conv, with_bias(call, given.input, call.to_channels_last(given.weight)),
                  std::move(attrs)));
}

ConvAttrs attributes(Call& call, size_t spatial) {
  ConvAttrs attrs;
  attrs.stride = call.ints_per_axis("stride", spatial, {1});
  attrs.dilation = call.ints_per_axis("dilation", spatial, {1});
  attrs.groups = call.integer("groups", 1);
  return attrs;
}

void conv(Call& call) {
  const Operands given = operands(call);
  ConvAttrs attrs = attributes(call, given.spatial);
  attrs.low = attrs.high = call.ints_per_axis("padding", given.spatial, {0});
  add_conv(call, given, std::move(attrs));
}

void conv_named_padding(Call& call) {
  const Operands given = operands(call);
  ConvAttrs attrs = attributes(call, given.spatial);
  attrs.low = attrs.high = Ints(given.spatial, 0);
  const std::string_view padding = call.string("padding", "valid");
  if (padding != "same" && padding != "valid") call.fail("unknown padding `{}`", padding);
  for (size_t i = 0; padding == "same" && i < given.spatial; ++i) {
    // An odd total puts the extra element behind, as torch does.
    const Dim length = given.weight->shape()[i + 2];
    if (!length.is_static() || length.is_zero())
      call.fail("the weight is {}", to_string(given.weight->type()));
    const auto total = checked_mul(attrs.dilation[i], length.value() - 1);
    if (!total) call.fail("the dilation {} is too large", attrs.dilation[i]);
    attrs.low[i] = *total / 2;
    attrs.high[i] = *total - attrs.low[i];
  }
  add_conv(call, given, std::move(attrs));
}

/// [I, O/g, k...] to [O, k..., I/g].
Value* transposed_weight(Call& call, Value* weight, int64_t groups) {
  const Shape& shape = weight->shape();
  const auto inputs = groups > 0 ? divide(shape[0], groups) : std::nullopt;
  if (!inputs)
    call.fail("{} input channels do not divide into {} groups", to_string(shape[0]), groups);
  Shape grouped = {groups, *inputs};
  grouped.insert(grouped.end(), shape.begin() + 1, shape.end());
  std::vector<int> order = {0, 2};
  for (size_t i = 3; i < grouped.size(); ++i) order.push_back(static_cast<int>(i));
  order.push_back(1);
  Shape result = {Dim(groups) * shape[1]};
  result.insert(result.end(), shape.begin() + 2, shape.end());
  result.push_back(*inputs);
  return call.view(call.permute(call.view(weight, grouped), order), result);
}

void conv_transpose(Call& call) {
  const Operands given = operands(call);
  ConvTransposeAttrs attrs;
  attrs.stride = call.ints_per_axis("stride", given.spatial, {1});
  attrs.dilation = call.ints_per_axis("dilation", given.spatial, {1});
  attrs.low = attrs.high = call.ints_per_axis("padding", given.spatial, {0});
  attrs.extra = call.ints_per_axis("output_padding", given.spatial, {0});
  attrs.groups = call.integer("groups", 1);
  Value* weight = transposed_weight(call, given.weight, attrs.groups);
  finish(call, given,
         call.add(Op::conv_transpose, with_bias(call, given.input, weight), std::move(attrs)));
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

#include "frontend/ops/conv.h"

#include "base/checked.h"
#include "frontend/ops/channels_first.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

/// The input as [N, C, spatial...].
Batched batched(const Builder& build, Value* x, const Value* weight) {
  const size_t spatial = spatial_axes(build, weight);
  if (x->shape().size() != spatial + 2 && x->shape().size() != spatial + 1)
    build.fail("the input {} does not fit the weight {}", to_string(x->type()),
               to_string(weight->type()));
  return with_batch(build, x, spatial);
}

std::vector<Value*> operands(const Builder& build, Value* x, Value* weight, Value* bias) {
  std::vector<Value*> all = {build.to_channels_last(x), weight};
  if (bias != nullptr) all.push_back(bias);
  return all;
}

/// The weight moved from [I, O/g, k...] to [O, k..., I/g].
Value* transposed_weight(const Builder& build, Value* weight, int64_t groups) {
  const Shape& shape = weight->shape();
  const auto inputs = groups > 0 ? divide(shape[0], groups) : std::nullopt;
  if (!inputs)
    build.fail("{} input channels do not divide into {} groups", to_string(shape[0]), groups);
  Shape grouped = {groups, *inputs};
  grouped.insert(grouped.end(), shape.begin() + 1, shape.end());
  std::vector<int> order = {0, 2};
  for (size_t i = 3; i < grouped.size(); ++i) order.push_back(static_cast<int>(i));
  order.push_back(1);
  Shape result = {Dim(groups) * shape[1]};
  result.insert(result.end(), shape.begin() + 2, shape.end());
  result.push_back(*inputs);
  return build.view(build.permute(build.view(weight, grouped), order), result);
}

}  // namespace

size_t spatial_axes(const Builder& build, const Value* weight) {
  if (weight->shape().size() < 3)
    build.fail("the weight should have 3 to 5 axes, but is {}", to_string(weight->type()));
  return weight->shape().size() - 2;
}

Value* conv(const Builder& build, Value* x, Value* weight, Value* bias, ConvAttrs attrs) {
  const Batched given = batched(build, x, weight);
  Value* kernels = build.to_channels_last(weight);
  Value* y = build.add(Op::conv, operands(build, given.x, kernels, bias), std::move(attrs));
  return without_batch(build, given, build.from_channels_last(y));
}

Value* conv_transpose(const Builder& build, Value* x, Value* weight, Value* bias,
                      ConvTransposeAttrs attrs) {
  const Batched given = batched(build, x, weight);
  Value* kernels = transposed_weight(build, weight, attrs.groups);
  Value* y =
      build.add(Op::conv_transpose, operands(build, given.x, kernels, bias), std::move(attrs));
  return without_batch(build, given, build.from_channels_last(y));
}

void pad_to_same_length(const Builder& build, const Value* weight, ConvAttrs& attrs) {
  for (size_t i = 0; i < attrs.low.size(); ++i) {
    const Dim length = weight->shape()[i + 2];
    if (!length.is_static() || length.is_zero())
      build.fail("the weight is {}", to_string(weight->type()));
    const auto total = checked_mul(attrs.dilation[i], length.value() - 1);
    if (!total) build.fail("the dilation {} is too large", attrs.dilation[i]);
    attrs.low[i] = *total / 2;
    attrs.high[i] = *total - attrs.low[i];
  }
}

}  // namespace layline::ops

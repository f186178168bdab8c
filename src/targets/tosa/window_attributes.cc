#include "targets/tosa/window_attributes.h"

#include <array>

namespace layline::tosa {

std::vector<int32_t> pads(const Ints& low, const Ints& high) {
  std::vector<int32_t> result;
  for (size_t i = 0; i < low.size(); ++i) {
    result.push_back(static_cast<int32_t>(low[i]));
    result.push_back(static_cast<int32_t>(high[i]));
  }
  return result;
}

fb::Conv2dAttributeT pointwise_attribute(fb::DType accumulator) {
  fb::Conv2dAttributeT attribute;
  attribute.pad = {0, 0, 0, 0};
  attribute.stride = {1, 1};
  attribute.dilation = {1, 1};
  attribute.acc_type = accumulator;
  return attribute;
}

/// out_pad extends the full result, where low and high crop it.
fb::TransposeConv2dAttributeT transposed_attribute(const Node& node, fb::DType accumulator) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  Ints before, after;
  for (size_t i = 0; i < 2; ++i) {
    before.push_back(-attrs.low[i]);
    after.push_back(attrs.extra[i] - attrs.high[i]);
  }
  fb::TransposeConv2dAttributeT attribute;
  attribute.out_pad = pads(before, after);
  attribute.stride = ints(attrs.stride);
  attribute.acc_type = accumulator;
  return attribute;
}

fb::MaxPool2dAttributeT max_pool_attribute(const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  fb::MaxPool2dAttributeT attribute;
  attribute.kernel = ints(attrs.kernel);
  attribute.stride = ints(attrs.stride);
  attribute.pad = pads(attrs.low, attrs.high);
  attribute.nan_mode = fb::NanPropagationMode::PROPAGATE;
  return attribute;
}

fb::AvgPool2dAttributeT avg_pool_attribute(const Node& node, fb::DType accumulator) {
  const auto& attrs = node.attrs<PoolAttrs>();
  fb::AvgPool2dAttributeT attribute;
  attribute.kernel = ints(attrs.kernel);
  attribute.stride = ints(attrs.stride);
  attribute.pad = pads(attrs.low, attrs.high);
  attribute.acc_type = accumulator;
  return attribute;
}

Constant depthwise_filter(const Constant& filter, const Dim& channels) {
  static constexpr std::array<int, 4> kChannelsLast = {1, 2, 0, 3};
  const Constant moved = filter.relaid(Relayout::permute(filter.shape(), kChannelsLast));
  const Shape shape = {moved.shape()[0], moved.shape()[1], channels,
                       *divide(moved.shape()[2], channels)};
  return moved.relaid(Relayout::view(moved.shape(), shape));
}

}  // namespace layline::tosa

// Attributes of TOSA's convolutions and pools, from those of the core ops: the same for floats and
// integers, but for the type in which they accumulate.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "targets/tosa/program.h"

namespace layline::tosa {

inline std::vector<int32_t> ints(const Ints& values) { return {values.begin(), values.end()}; }

/// The pads of all axes, [before, after] for each.
std::vector<int32_t> pads(const Ints& low, const Ints& high);

template <typename Attribute>
Attribute conv_attribute(const Node& node, fb::DType accumulator) {
  const auto& attrs = node.attrs<ConvAttrs>();
  Attribute attribute;
  attribute.pad = pads(attrs.low, attrs.high);
  attribute.stride = ints(attrs.stride);
  attribute.dilation = ints(attrs.dilation);
  attribute.acc_type = accumulator;
  return attribute;
}
/// The attribute of a 1x1 convolution, which a linear op is.
fb::Conv2dAttributeT pointwise_attribute(fb::DType accumulator);
fb::TransposeConv2dAttributeT transposed_attribute(const Node& node, fb::DType accumulator);
fb::MaxPool2dAttributeT max_pool_attribute(const Node& node);
fb::AvgPool2dAttributeT avg_pool_attribute(const Node& node, fb::DType accumulator);

/// The filter moved from [C M, h, w, 1] to [h, w, C, M].
Constant depthwise_filter(const Constant& filter, const Dim& channels);

}  // namespace layline::tosa

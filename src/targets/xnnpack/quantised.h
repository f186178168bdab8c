// Quantised tensors in XNNPACK's terms: which nodes have a kernel on integers, and how values,
// filters and biases are described to it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "targets/xnnpack/payload.h"

namespace layline::xnnpack {

/// Why XNNPACK has no kernel for this quantised or dynamic node; empty if it has one. The kernel's
/// own conditions come on top.
std::string refuse_quantised(const Node& node);

/// The datatype and quantisation of a value that is no filter and no bias.
PayloadValue describe(const TensorType& type);

/// The range that the fused clamp and the result's integers allow; nullopt if it is everything.
std::optional<Range> result_range(const Bounds& bounds, const TensorType& result);

/// A filter as XNNPACK packs it.
struct Filter {
  Constant data;
  Datatype datatype;
  Constant scales;    // f32, for each output channel, or bf16 [channels, groups]
  int64_t group = 0;  // inputs that share a scale; 0: all of them
};
/// Scales as they are stored.
Constant table_of(std::span<const float> scales);
/// The filter from a quantised weight [outputs, ...].
Filter filter_of(const Value* weight);

/// The bias as integers, in the scale of the sums.
Constant integer_bias(const Value* bias, const std::vector<float>& scales);
/// The scales of the sums: that of x times those of the weight's outputs.
std::vector<float> sum_scales(const Value* x, const Value* weight);

}  // namespace layline::xnnpack

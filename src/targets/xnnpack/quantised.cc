#include "targets/xnnpack/quantised.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/packed_integers.h"
#include "ir/quantised_tensor.h"
#include "ir/widened.h"
#include "targets/xnnpack/delegate_builder.h"
#include "targets/xnnpack/kernels.h"

namespace layline::xnnpack {
namespace {

// Kernels count groups of inputs in blocks of 32.
constexpr int64_t kGroupMultiple = 32;

// (XNNPACK, src/operators/convolution-nhwc.c and its like: scale of the sums / output scale < 2^8.)
constexpr float kLargestRatio = 0x1p+8f;

/// Whether the zero point is among the integers; XNNPACK takes no tensor for which it is not.
bool has_own_zero_point(const Quantisation& quantisation) {
  const auto [least, greatest] = integer_range(quantisation.dtype);
  return quantisation.zero_point() >= least && quantisation.zero_point() <= greatest;
}

bool is_activation(const Value* value, bool unsigned_too) {
  const QuantisationRef& quantisation = value->type().quantisation;
  return quantisation && quantisation->per_tensor() &&
         (quantisation->dtype == DType::i8 || (unsigned_too && quantisation->dtype == DType::u8)) &&
         has_own_zero_point(*quantisation);
}

bool are_activations(const Node& node, bool unsigned_too) {
  auto fits = [&](const Value* value) {
    return is_activation(value, unsigned_too) && value->dtype() == node.result()->dtype();
  };
  return fits(node.result()) && std::ranges::all_of(node.operands(), fits);
}

bool are_alike(const Node& node) {
  return std::ranges::all_of(node.operands(), [&](const Value* operand) {
    return operand->type().quantisation == node.result()->type().quantisation;
  });
}

bool has_four_bits(const Quantisation& quantisation) {
  return quantisation.min >= -8 && quantisation.max <= 7;
}

int64_t group_size(const Value* weight) {
  const auto& dims = weight->type().quantisation->dims;
  if (dims.empty() || dims.back() == 1) return 0;
  return weight->shape().back().value() / dims.back();
}

/// Whether the bias fits 32 bits in the scale of the sums, as it must.
bool bias_fits(const Node& node, const std::vector<float>& scales) {
  if (node.operand_count() < 3) return true;
  const Tensor bias = real_tensor(tensor_of(node.operand(2)));
  for (int64_t i = 0; i < bias.count(); ++i)
    if (!(std::abs(bias.get(i) / static_cast<double>(scales[static_cast<size_t>(i)])) < 0x1p31))
      return false;
  return true;
}

std::string refuse_contraction(const Node& node) {
  const Value* weight = node.operand(1);
  const QuantisationRef& quantisation = weight->type().quantisation;
  if (!stored_constant(weight) || !quantisation || quantisation->dtype != DType::i8 ||
      !quantisation->zero_points.empty())
    return "XNNPACK's quantised weights are constant, of 8 or 4 bits, and around 0";
  if (node.operand_count() > 2 && !stored_constant(node.operand(2)))
    return "the bias is not constant";
  const auto& dims = quantisation->dims;
  for (size_t axis = 1; axis < dims.size(); ++axis)
    if (dims[axis] != 1 && (!node.is(Op::linear) || axis + 1 < dims.size()))
      return "XNNPACK's weights have one scale for each output";
  const bool real_x = !node.operand(0)->type().quantisation;
  const bool real_result = !node.result()->type().quantisation;
  if (real_x != real_result) return "XNNPACK's kernels read and write integers, or neither";
  const int64_t group = group_size(weight);
  if (group != 0 && (!is_dynamic(node.attributes()) || !has_four_bits(*quantisation) ||
                     group % kGroupMultiple != 0))
    return "XNNPACK has groups of 32 four-bit weights or a multiple, for dynamic activations";
  if (!real_x) {
    if (!is_activation(node.operand(0), false) || !is_activation(node.result(), false))
      return "XNNPACK's quantised products are of i8";
    const std::vector<float> scales = sum_scales(node.operand(0), weight);
    const float to = node.result()->type().quantisation->scale();
    if (!std::isnormal(std::ranges::min(scales)) || std::ranges::max(scales) / to >= kLargestRatio)
      return "the scales differ too much";
    return bias_fits(node, scales) ? "" : "the bias exceeds 32 bits in the scale of the sums";
  }
  if (!is_dynamic(node.attributes()) && !node.is(Op::linear))
    return "XNNPACK convolves real numbers with real weights";
  // Measured in ExecuTorch 1.5.1: with a bias the results are wrong.
  if (!is_dynamic(node.attributes()) && node.operand_count() > 2)
    return "XNNPACK adds no bias to products of real rows with integer weights";
  return {};
}

/// Refuses sums whose scales differ too much: they are computed in fixed point. (XNNPACK,
/// src/microparams-init.c: 2^-10 <= input scale / output scale < 2^8.)
std::string refuse_sum(const Node& node) {
  if (!are_activations(node, true)) return "XNNPACK adds operands that are all quantised alike";
  const float to = node.result()->type().quantisation->scale();
  float largest = 0;
  for (const Value* operand : node.operands())
    largest = std::max(largest, operand->type().quantisation->scale() / to);
  return largest >= 0x1p-10f && largest < kLargestRatio ? "" : "the scales differ too much";
}

/// Refuses products whose scales differ too much. (XNNPACK: 2^-16 <= product of the input scales /
/// output scale < 2^8.)
std::string refuse_product(const Node& node) {
  if (!are_activations(node, true)) return "XNNPACK multiplies operands that are quantised alike";
  float ratio = 1 / node.result()->type().quantisation->scale();
  for (const Value* operand : node.operands()) ratio *= operand->type().quantisation->scale();
  return ratio >= 0x1p-16f && ratio < kLargestRatio ? "" : "the scales differ too much";
}

/// Whether a contraction packs what the node dequantises.
bool is_stored_weight(const Node& dequantize) {
  return stored_constant(dequantize.operand(0)) != nullptr &&
         std::ranges::any_of(dequantize.result()->uses(), [](const Use& use) {
           return use.operand >= 1 && (use.user->is(Op::conv) || use.user->is(Op::conv_transpose) ||
                                       use.user->is(Op::linear));
         });
}

}  // namespace

std::string refuse_quantised(const Node& node) {
  switch (node.op()) {
    case Op::conv:
    case Op::conv_transpose:
    case Op::linear:
      return refuse_contraction(node);
    case Op::add:
    case Op::sub:
      return refuse_sum(node);
    case Op::mul:
      return refuse_product(node);
    case Op::quantize:
      return is_activation(node.result(), true) ? "" : "XNNPACK quantises with one scale";
    case Op::dequantize:
      if (is_stored_weight(node)) return "weights of real kernels are dequantised ahead of time";
      return is_activation(node.operand(0), true) ? "" : "XNNPACK dequantises with one scale";
    case Op::reduce_mean:
      return are_activations(node, true) ? "" : "XNNPACK averages i8 to i8, or u8 to u8";
    case Op::relayout:
    case Op::slice:
    case Op::concat:
    case Op::pad:
    case Op::clamp:
    case Op::max_pool:
      return are_activations(node, true) && are_alike(node)
                 ? ""
                 : "XNNPACK moves tensors of 8 bits with one scale";
    default:
      return fmt::format("XNNPACK has no quantised {}", name(node.op()));
  }
}

PayloadValue describe(const TensorType& type) {
  PayloadValue value{Datatype::kFp32, {}, {}, {}};
  for (const int64_t size : static_dims(type.shape))
    value.dims.push_back(static_cast<uint32_t>(size));
  if (!type.quantisation) {
    value.datatype = datatype(type.dtype);
    return value;
  }
  value.datatype = type.dtype == DType::i8 ? Datatype::kQInt8 : Datatype::kQUInt8;
  value.quantisation = PerTensor{type.quantisation->scale(), type.quantisation->zero_point()};
  return value;
}

std::optional<Range> result_range(const Bounds& bounds, const TensorType& result) {
  Range range{static_cast<float>(bounds.min), static_cast<float>(bounds.max)};
  if (const QuantisationRef& quantisation = result.quantisation) {
    const auto [least, greatest] = integer_range(quantisation->dtype);
    if (quantisation->min > least)
      range.min = std::max(range.min, quantisation->real(quantisation->min));
    if (quantisation->max < greatest)
      range.max = std::min(range.max, quantisation->real(quantisation->max));
  }
  if (range.min == Range{}.min && range.max == Range{}.max) return std::nullopt;
  return range;
}

namespace {

/// A scale for each output, or for each group of each output: rows of weights may share them.
std::vector<float> scales_of_outputs(const Quantisation& quantisation, size_t outputs) {
  const size_t rows =
      quantisation.dims.empty() ? 1 : static_cast<size_t>(quantisation.dims.front());
  const size_t groups = quantisation.scales.size() / rows;
  std::vector<float> scales;
  for (size_t output = 0; output < outputs; ++output)
    for (size_t group = 0; group < groups; ++group)
      scales.push_back(quantisation.scales[output * rows / outputs * groups + group]);
  return scales;
}

size_t outputs_of(const Value* weight) { return static_cast<size_t>(weight->shape()[0].value()); }

/// The scales of groups, in bf16. Where each output has its own, they stay in the type.
Constant group_scales(const Value* weight) {
  const QuantisationRef& quantisation = weight->type().quantisation;
  const auto outputs = static_cast<int64_t>(outputs_of(weight));
  const Shape shape = {outputs, quantisation->dims.back()};
  if (quantisation->dims.front() != outputs)
    return narrowed(table_of(scales_of_outputs(*quantisation, outputs_of(weight))));
  const auto owner = std::make_shared<const QuantisationRef>(quantisation);
  return narrowed(
      Constant::view(DType::f32, shape, std::as_bytes(std::span((*owner)->scales)), owner));
}

}  // namespace

Constant table_of(std::span<const float> scales) {
  const auto bytes = std::as_bytes(scales);
  return Constant::owned(DType::f32, {static_cast<int64_t>(scales.size())},
                         {bytes.begin(), bytes.end()});
}

Filter filter_of(const Value* weight) {
  const Quantisation& quantisation = *weight->type().quantisation;
  const Constant& data = *stored_constant(weight);
  const int64_t group = group_size(weight);
  if (group != 0) return {packed(data, 4), Datatype::kQBInt4, group_scales(weight), group};
  const Constant scales = table_of(scales_of_outputs(quantisation, outputs_of(weight)));
  return weight->shape().size() == 2 && has_four_bits(quantisation)
             ? Filter{packed(data, 4), Datatype::kQCInt4, scales}
             : Filter{data, Datatype::kQCInt8, scales};
}

std::vector<float> sum_scales(const Value* x, const Value* weight) {
  std::vector<float> scales = scales_of_outputs(*weight->type().quantisation, outputs_of(weight));
  for (float& scale : scales) scale *= x->type().quantisation->scale();
  return scales;
}

Constant integer_bias(const Value* bias, const std::vector<float>& scales) {
  const Tensor real = real_tensor(tensor_of(bias));
  Tensor integers({DType::i32, real.type().shape});
  for (int64_t i = 0; i < real.count(); ++i)
    integers.set_int(i, static_cast<int64_t>(std::nearbyint(
                            real.get(i) / static_cast<double>(scales[static_cast<size_t>(i)]))));
  return Constant::of(integers);
}

}  // namespace layline::xnnpack

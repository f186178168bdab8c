// Convolutions, linear ops and matrix products on integers. Products of 8 bits are summed in 32,
// products of 16 in 48 (EXT-INT16), which are then brought to 32: RESCALE multiplies no more than
// 32 bits by a number of 32, and a permute of 48 bits would move more than any other.
#include <algorithm>
#include <cmath>
#include <span>

#include "ir/evaluate.h"
#include "ir/quantised_tensor.h"
#include "targets/tosa/integer_kernels.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/rescale.h"
#include "targets/tosa/window_attributes.h"

namespace layline::tosa {
namespace {

bool is_wide(const Node& node) { return node.operand(0)->dtype() == DType::i16; }

fb::DType accumulator(const Node& node) {
  return is_wide(node) ? fb::DType::INT48 : fb::DType::INT32;
}

Constant weight_constant(const Node& node) { return *stored_constant(node.operand(1)); }

/// The scale of each output channel's sums.
std::vector<double> sum_scales(const Node& node) {
  std::vector<double> scales;
  for (float s : quantisation(node.operand(1)).scales)
    scales.push_back(scale(node.operand(0)) * static_cast<double>(s));
  return scales;
}

/// The bias in the scale of the sums.
std::vector<double> bias_in_sums(const Node& node) {
  std::vector<double> values;
  if (node.operand_count() < 3) return values;
  const std::vector<double> scales = sum_scales(node);
  const layline::Tensor bias = real_tensor(tensor_of(node.operand(2)));
  for (int64_t i = 0; i < bias.count(); ++i)
    values.push_back(bias.get(i) / scales[scales.size() > 1 ? static_cast<size_t>(i) : 0]);
  return values;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (double value : values) most = std::max(most, std::abs(value));
  return most;
}

/// A bound that no sum of products with these weights exceeds.
double largest_sum(const Node& node) {
  constexpr double kLargest = 0x1p15;
  if (node.is(Op::matmul))
    return static_cast<double>(node.operand(0)->shape().back().value()) * kLargest * kLargest;
  const Constant weight = weight_constant(node);
  const std::vector<std::byte> bytes = weight.bytes();
  const size_t rows = static_cast<size_t>(weight.shape()[0].value()), row = bytes.size() / rows;
  int64_t most = 0;
  for (size_t r = 0; r < rows; ++r) {
    int64_t sum = 0;
    for (std::byte byte : std::span(bytes).subspan(r * row, row))
      sum += std::abs(static_cast<int64_t>(static_cast<int8_t>(byte)));
    most = std::max(most, sum);
  }
  return static_cast<double>(most) * kLargest;
}

/// By how many bits sums of 48 bits are shifted down, so that with the bias they fit in 32.
int surplus_bits(const Node& node) {
  const double most = largest_sum(node) + largest(bias_in_sums(node)) + 1;
  return std::max(0, std::ilogb(most) + 2 - 32);
}

std::vector<double> result_scales(const Node& node) {
  std::vector<double> scales = node.is(Op::matmul)
                                   ? std::vector{scale(node.operand(0)) * scale(node.operand(1))}
                                   : sum_scales(node);
  const double factor = is_wide(node) ? std::ldexp(1, surplus_bits(node)) : 1;
  for (double& s : scales) s *= factor / scale(node.result());
  return scales;
}

std::string refuse_contraction(const Node& node) {
  const Value* weight = node.operand(1);
  const QuantisationRef& own = weight->type().quantisation;
  if (is_dynamic(node.attributes())) return "TOSA has no scales that are chosen at run time";
  if (!own || !stored_constant(weight) || own->dtype != DType::i8 || !own->zero_points.empty())
    return "quantised weights are constant, of 8 bits, and around 0";
  for (size_t axis = 1; axis < own->dims.size(); ++axis)
    if (own->dims[axis] != 1) return "quantised weights have one scale for each output";
  if (!is_activation(node.operand(0)) || !is_activation(node.result()))
    return "quantised products are of i8, or of i16 around 0";
  if (node.operand_count() > 2 && !stored_constant(node.operand(2)))
    return "the bias is not constant";
  if (!is_wide(node) && !(largest(bias_in_sums(node)) < 0x1p30))
    return "the bias exceeds 32 bits in the scale of the sums";
  return has_multipliers(result_scales(node)) ? "" : std::string(kScales);
}

Constant rounded_bias(const std::vector<double>& bias) {
  std::vector<int64_t> values;
  for (double value : bias) values.push_back(std::llrint(value));
  return list(DType::i32, values);
}

/// Sums of 48 bits brought to 32, and the bias added there.
std::string narrowed_with_bias(BlockBuilder& block, const Node& node, const std::string& sums,
                               const Shape& shape) {
  const int bits = surplus_bits(node);
  const std::string narrow = narrowed_sums(block, node, sums, bits, shape);
  std::vector<double> bias = bias_in_sums(node);
  if (bias.empty()) return narrow;
  for (double& value : bias) value = std::ldexp(value, -bits);
  const Constant data = rounded_bias(bias);
  Shape row(shape.size(), Dim(1));
  row.back() = data.shape()[0];
  return block.step(
      node, fb::AddAttributeT{},
      {narrow, block.constant(node, "bias", data.relaid(Relayout::view(data.shape(), row)))},
      DType::i32, shape);
}

/// The sums of a contraction with constant weights, and from them the result.
template <typename Attribute>
void contract(BlockBuilder& block, const Node& node, Attribute attribute, const Shape& x_shape,
              const Constant& weight, const Shape& shape) {
  const Integers x = integers_of(node.operand(0));
  const std::vector<double> bias = is_wide(node) ? std::vector<double>{} : bias_in_sums(node);
  std::string added = is_wide(node) ? block.zero48() : block.scalar(DType::i32, 0);
  if (!bias.empty()) added = block.constant(node, "bias", rounded_bias(bias));
  std::string sums =
      block.step(node, std::move(attribute),
                 {block.in(node, 0, x_shape), block.constant(node, "weight", weight), added,
                  block.scalar(x.dtype, x.zero_point), block.scalar(DType::i8, 0)},
                 accumulator(node), shape);
  if (is_wide(node)) sums = narrowed_with_bias(block, node, sums, shape);
  rescale_to_result(block, node, sums, kSums, result_scales(node), shape);
}

}  // namespace

std::string refuse_integer_conv(const Node& node) {
  std::string why = refuse_conv_windows(node);
  return why.empty() ? refuse_contraction(node) : why;
}

std::string refuse_integer_conv_transpose(const Node& node) {
  std::string why = refuse_transposed_windows(node);
  return why.empty() ? refuse_contraction(node) : why;
}

std::string refuse_integer_linear(const Node& node) { return refuse_contraction(node); }

std::string refuse_integer_matmul(const Node& node) {
  if (!is_activation(node.operand(0)) || !is_activation(node.operand(1)) ||
      node.operand(0)->dtype() != node.operand(1)->dtype() || !is_activation(node.result()))
    return "quantised products are of i8, or of i16 around 0";
  if (std::string why = refuse_matrices(node); !why.empty()) return why;
  return has_multipliers(result_scales(node)) ? "" : std::string(kScales);
}

void emit_integer_conv(BlockBuilder& block, const Node& node) {
  const Shape& x = node.operand(0)->shape();
  const Shape& y = node.result()->shape();
  const fb::DType sums = accumulator(node);
  if (node.attrs<ConvAttrs>().groups > 1)
    contract(block, node, conv_attribute<fb::DepthwiseConv2dAttributeT>(node, sums), x,
             depthwise_filter(weight_constant(node), x.back()), y);
  else if (x.size() == 5)
    contract(block, node, conv_attribute<fb::Conv3dAttributeT>(node, sums), x,
             weight_constant(node), y);
  else
    contract(block, node, conv_attribute<fb::Conv2dAttributeT>(node, sums), x,
             weight_constant(node), y);
}

void emit_integer_conv_transpose(BlockBuilder& block, const Node& node) {
  contract(block, node, transposed_attribute(node, accumulator(node)), node.operand(0)->shape(),
           weight_constant(node), node.result()->shape());
}

void emit_integer_linear(BlockBuilder& block, const Node& node) {
  const Shape& x = node.operand(0)->shape();
  const Dim rows = product(std::span(x).first(x.size() - 1));
  const Constant weight = weight_constant(node);
  const Dim outputs = weight.shape()[0];
  const Shape filter = {outputs, 1, 1, weight.shape()[1]};
  contract(block, node, pointwise_attribute(accumulator(node)), {1, rows, 1, x.back()},
           weight.relaid(Relayout::view(weight.shape(), filter)), {1, rows, 1, outputs});
}

void emit_integer_matmul(BlockBuilder& block, const Node& node) {
  const Shape& shape = node.result()->shape();
  const Integers a = integers_of(node.operand(0)), b = integers_of(node.operand(1));
  std::string sums =
      block.step(node, fb::MatMulAttributeT{},
                 {block.in(node, 0), block.in(node, 1), block.scalar(a.dtype, a.zero_point),
                  block.scalar(b.dtype, b.zero_point)},
                 accumulator(node), shape);
  if (is_wide(node)) sums = narrowed_sums(block, node, sums, surplus_bits(node), shape);
  rescale_to_result(block, node, sums, kSums, result_scales(node), shape);
}

}  // namespace layline::tosa

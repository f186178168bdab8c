// Contractions, pools and resampling. Weights and activations are channels-last in the IR already:
// no axis is remapped here, but for the filters of depthwise convolutions, which are constants.
#include "targets/tosa/kernels.h"
#include "targets/tosa/resize_scale.h"
#include "targets/tosa/window_attributes.h"

namespace layline::tosa {
namespace {

constexpr fb::DType kAccumulator = fb::DType::FP32;

std::string bias(BlockBuilder& block, const Node& node) {
  return node.operand_count() > 2 ? block.in(node, 2) : block.scalar(node.result()->dtype(), 0);
}

std::vector<std::string> with_zero_points(BlockBuilder& block, const Node& node,
                                          std::vector<std::string> operands) {
  operands.push_back(block.scalar(node.operand(0)->dtype(), 0));
  operands.push_back(block.scalar(node.operand(1)->dtype(), 0));
  return operands;
}

}  // namespace

/// Emits a 1x1 convolution over the rows.
void emit_linear(BlockBuilder& block, const Node& node) {
  const Shape& x = node.operand(0)->shape();
  const Shape& weight = node.operand(1)->shape();
  const Dim rows = product(std::span(x).first(x.size() - 1));
  fb::Conv2dAttributeT attribute;
  attribute.pad = {0, 0, 0, 0};
  attribute.stride = {1, 1};
  attribute.dilation = {1, 1};
  attribute.acc_type = kAccumulator;
  block.result(
      node, std::move(attribute),
      with_zero_points(block, node,
                       {block.in(node, 0, {1, rows, 1, x.back()}),
                        block.in(node, 1, {weight[0], 1, 1, weight[1]}), bias(block, node)}),
      {1, rows, 1, weight[0]});
}

void emit_matmul(BlockBuilder& block, const Node& node) {
  block.result(node, fb::MatMulAttributeT{},
               with_zero_points(block, node, {block.in(node, 0), block.in(node, 1)}));
}

void emit_conv(BlockBuilder& block, const Node& node) {
  const bool depthwise = node.attrs<ConvAttrs>().groups > 1;
  std::vector<std::string> operands = with_zero_points(
      block, node,
      {block.in(node, 0),
       depthwise ? block.constant(node, "weight",
                                  depthwise_filter(*constant_of(node.operand(1)),
                                                   node.operand(0)->shape().back()))
                 : block.in(node, 1),
       bias(block, node)});
  if (depthwise)
    block.result(node, conv_attribute<fb::DepthwiseConv2dAttributeT>(node, kAccumulator),
                 std::move(operands));
  else if (node.operand(0)->shape().size() == 5)
    block.result(node, conv_attribute<fb::Conv3dAttributeT>(node, kAccumulator),
                 std::move(operands));
  else
    block.result(node, conv_attribute<fb::Conv2dAttributeT>(node, kAccumulator),
                 std::move(operands));
}

void emit_conv_transpose(BlockBuilder& block, const Node& node) {
  block.result(
      node, transposed_attribute(node, kAccumulator),
      with_zero_points(block, node, {block.in(node, 0), block.in(node, 1), bias(block, node)}));
}

void emit_max_pool(BlockBuilder& block, const Node& node) {
  block.result(node, max_pool_attribute(node), {block.in(node, 0)});
}

void emit_avg_pool(BlockBuilder& block, const Node& node) {
  const std::string zero = block.scalar(node.result()->dtype(), 0);
  block.result(node, avg_pool_attribute(node, kAccumulator), {block.in(node, 0), zero, zero});
}

fb::ResizeAttributeT resize_attribute(const Node& node) {
  fb::ResizeAttributeT attribute;
  attribute.mode = node.attrs<ResizeAttrs>().mode == ResizeMode::nearest ? fb::ResizeMode::NEAREST
                                                                         : fb::ResizeMode::BILINEAR;
  return attribute;
}

std::vector<std::string> resize_operands(BlockBuilder& block, const Node& node,
                                         const std::string& image) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  const Shape& in = node.operand(0)->shape();
  const ResizeScale y = *resize_scale(attrs, 0, in[1].value()),
                    x = *resize_scale(attrs, 1, in[2].value());
  return {image, block.shape({y.numerator, y.denominator, x.numerator, x.denominator}),
          block.shape({y.offset, x.offset}), block.shape({y.border, x.border})};
}

void emit_resize(BlockBuilder& block, const Node& node) {
  block.result(node, resize_attribute(node), resize_operands(block, node, block.in(node, 0)));
}

/// ARGMAX drops the axis.
void emit_argmax(BlockBuilder& block, const Node& node) {
  fb::ArgMaxAttributeT attribute;
  attribute.axis = static_cast<int32_t>(node.attrs<AxisAttrs>().axis);
  attribute.nan_mode = fb::NanPropagationMode::PROPAGATE;
  Shape shape = node.result()->shape();
  shape.erase(shape.begin() + attribute.axis);
  block.result(node, std::move(attribute), {block.in(node, 0)}, shape);
}

}  // namespace layline::tosa

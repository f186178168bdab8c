// Elementwise ops that are more than one operator, or one with operands of its own.
#include <cstring>

#include "targets/tosa/kernels.h"

namespace layline::tosa {
namespace {

std::vector<uint8_t> bytes_of(DType dtype, double value) {
  const std::vector<std::byte> bytes = Constant::scalar(dtype, value).bytes();
  std::vector<uint8_t> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace

/// NEGATE has zero points, which floats and 32-bit integers do not use.
void emit_negation(BlockBuilder& block, const Node& node) {
  const std::string zero = block.scalar(node.result()->dtype(), 0);
  block.result(node, fb::NegateAttributeT{}, {block.in(node, 0), zero, zero});
}

void emit_clamp(BlockBuilder& block, const Node& node) {
  const Bounds& bounds = node.attrs<ClampAttrs>().bounds;
  fb::ClampAttributeT attribute;
  attribute.min_val = bytes_of(node.result()->dtype(), bounds.min);
  attribute.max_val = bytes_of(node.result()->dtype(), bounds.max);
  attribute.nan_mode = fb::NanPropagationMode::PROPAGATE;
  block.result(node, std::move(attribute), {block.in(node, 0)});
}

/// CAST rounds floats to the nearest integer, where torch drops the fraction.
void emit_convert(BlockBuilder& block, const Node& node) {
  const DType from = node.operand(0)->dtype(), to = node.result()->dtype();
  if (element_type(from) == element_type(to)) return block.forward(node);
  std::string x = block.in(node, 0);
  if (is_float(from) && is_integer(to)) {
    const Shape& shape = node.result()->shape();
    const std::string zero = block.scalar(from, 0, shape.size());
    const std::string up = block.step(node, fb::CeilAttributeT{}, {x}, from, shape);
    const std::string down = block.step(node, fb::FloorAttributeT{}, {x}, from, shape);
    const std::string negative =
        block.step(node, fb::GreaterAttributeT{}, {zero, x}, DType::boolean, shape);
    x = block.step(node, fb::SelectAttributeT{}, {negative, up, down}, from, shape);
  }
  block.result(node, fb::CastAttributeT{}, {x});
}

void emit_not_equal(BlockBuilder& block, const Node& node) {
  const std::string equal =
      block.step(node, fb::EqualAttributeT{}, {block.in(node, 0), block.in(node, 1)},
                 DType::boolean, node.result()->shape());
  block.result(node, fb::LogicalNotAttributeT{}, {equal});
}

/// INTDIV drops the fraction. The floor is one less if there is one and the signs differ.
void emit_integer_floor_div(BlockBuilder& block, const Node& node) {
  const DType dtype = node.result()->dtype();
  const Shape& shape = node.result()->shape();
  const std::string a = block.in(node, 0), b = block.in(node, 1);
  const std::string zero = block.scalar(dtype, 0, shape.size());
  const auto number = [&](auto attribute, std::vector<std::string> inputs) {
    return block.step(node, std::move(attribute), std::move(inputs), dtype, shape);
  };
  const auto truth = [&](auto attribute, std::vector<std::string> inputs, const Shape& of) {
    return block.step(node, std::move(attribute), std::move(inputs), DType::boolean, of);
  };
  const std::string quotient = number(fb::IntDivAttributeT{}, {a, b});
  const std::string product =
      number(fb::MulAttributeT{}, {quotient, b, block.scalar(DType::i8, 0)});
  const std::string rest = number(fb::SubAttributeT{}, {a, product});
  const std::string rest_negative = truth(fb::GreaterAttributeT{}, {zero, rest}, shape);
  const std::string b_negative =
      truth(fb::GreaterAttributeT{}, {zero, b}, node.operand(1)->shape());
  const std::string differ = truth(fb::LogicalXorAttributeT{}, {rest_negative, b_negative}, shape);
  const std::string exact = truth(fb::EqualAttributeT{}, {rest, zero}, shape);
  const std::string has_rest = truth(fb::LogicalNotAttributeT{}, {exact}, shape);
  const std::string lower = truth(fb::LogicalAndAttributeT{}, {differ, has_rest}, shape);
  block.result(node, fb::SubAttributeT{}, {quotient, number(fb::CastAttributeT{}, {lower})});
}

}  // namespace layline::tosa

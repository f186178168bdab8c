// Sums, products and reductions on integers: exact in 32 bits, and rounded once at the end.
#include <algorithm>
#include <cmath>

#include "targets/tosa/integer_kernels.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

std::string refuse_unless(bool fits, std::string_view otherwise) {
  return fits ? std::string() : std::string(otherwise);
}

bool is_wide(const Value* value) { return value->dtype() == DType::i16; }

/// The scale in which sums and differences are taken. It is so many bits below the larger of the
/// operands' scales that a sum of two still fits in 32. For 8 bits it is TFLite's: Vela then makes
/// one operation of an addition and the three RESCALEs around it on U55 and U65.
double common_scale(const Node& node) {
  const bool wide = is_wide(node.operand(0)) || is_wide(node.operand(1));
  return std::ldexp(std::max(scale(node.operand(0)), scale(node.operand(1))), wide ? -14 : -19);
}

/// The operand in 32 bits, times a number.
std::string wide(BlockBuilder& block, const Node& node, int operand, double by = 1) {
  const Value* x = node.operand(operand);
  const std::string tensor = block.in(node, operand);
  return rescaled(block, node, tensor, integers_of(x), kSums, by, x->shape());
}

template <typename Attribute>
void emit_sum(BlockBuilder& block, const Node& node) {
  const double common = common_scale(node);
  const std::string a = wide(block, node, 0, scale(node.operand(0)) / common);
  const std::string b = wide(block, node, 1, scale(node.operand(1)) / common);
  const std::string sum = block.step(node, Attribute{}, {a, b}, DType::i32, node.result()->shape());
  rescale_to_result(block, node, sum, kSums, {common / scale(node.result())},
                    node.result()->shape());
}

double product_scale(const Node& node) {
  return scale(node.operand(0)) * scale(node.operand(1)) / scale(node.result());
}

double reduced_count(const Node& node) {
  double count = 1;
  for (int64_t axis : node.attrs<AxesAttrs>().axes)
    count *= static_cast<double>(node.operand(0)->shape()[static_cast<size_t>(axis)].value());
  return count;
}

/// The factor on each addend of a sum: below 1 if sums of so many numbers would exceed 32 bits.
double addend_factor(const Node& node) {
  const double most = is_wide(node.operand(0)) ? 0x1p15 : 0x1p8;
  return std::ldexp(1, std::min(0, 30 - std::ilogb(most * reduced_count(node))));
}

/// The factor from sums to the scale of the result. Means are also divided by the count.
double reduction_scale(const Node& node) {
  return scale(node.operand(0)) / scale(node.result()) / addend_factor(node) /
         (node.is(Op::reduce_mean) ? reduced_count(node) : 1);
}

template <typename Attribute>
void emit_extremum(BlockBuilder& block, const Node& node) {
  const Ints& axes = node.attrs<AxesAttrs>().axes;
  std::string x = block.in(node, 0);
  Shape shape = node.operand(0)->shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    Attribute attribute;
    attribute.axis = static_cast<int32_t>(axes[i]);
    attribute.nan_mode = fb::NanPropagationMode::PROPAGATE;
    shape[static_cast<size_t>(axes[i])] = 1;
    if (i + 1 == axes.size())
      block.result(node, std::move(attribute), {x});
    else
      x = block.step(node, std::move(attribute), {x}, node.operand(0)->dtype(), shape);
  }
  if (axes.empty()) block.forward(node);
}

}  // namespace

std::string refuse_integer_sum(const Node& node) {
  if (!are_activations(node)) return std::string(kIntegers);
  if (std::string why = refuse_ranks(node); !why.empty()) return why;
  return refuse_unless(has_multipliers({scale(node.operand(0)) / common_scale(node),
                                        scale(node.operand(1)) / common_scale(node),
                                        common_scale(node) / scale(node.result())}),
                       kScales);
}

std::string refuse_integer_product(const Node& node) {
  if (!are_activations(node)) return std::string(kIntegers);
  if (std::string why = refuse_ranks(node); !why.empty()) return why;
  return refuse_unless(has_multipliers({product_scale(node)}), kScales);
}

std::string refuse_integer_reduction(const Node& node) {
  if (!are_activations(node)) return std::string(kIntegers);
  return refuse_unless(has_multipliers({addend_factor(node), reduction_scale(node)}), kScales);
}

std::string refuse_integer_extremum(const Node& node) {
  return refuse_unless(are_activations(node) && keeps_scale(node), kIntegers);
}

std::string refuse_integer_clamp(const Node& node) {
  return refuse_unless(are_activations(node) && keeps_scale(node), kIntegers);
}

void emit_integer_add(BlockBuilder& block, const Node& node) {
  emit_sum<fb::AddAttributeT>(block, node);
}

void emit_integer_sub(BlockBuilder& block, const Node& node) {
  emit_sum<fb::SubAttributeT>(block, node);
}

/// MUL takes 16 bits as they are, when 0 stands for 0.
void emit_integer_mul(BlockBuilder& block, const Node& node) {
  const bool plain = is_wide(node.operand(0)) && is_wide(node.operand(1));
  const std::string a = plain ? block.in(node, 0) : wide(block, node, 0);
  const std::string b = plain ? block.in(node, 1) : wide(block, node, 1);
  const std::string product =
      block.step(node, fb::MulAttributeT{}, {a, b, block.scalar(DType::i8, 0)}, DType::i32,
                 node.result()->shape());
  rescale_to_result(block, node, product, kSums, {product_scale(node)}, node.result()->shape());
}

void emit_integer_reduction(BlockBuilder& block, const Node& node) {
  std::string x = wide(block, node, 0, addend_factor(node));
  Shape shape = node.operand(0)->shape();
  for (int64_t axis : node.attrs<AxesAttrs>().axes) {
    fb::ReduceSumAttributeT attribute;
    attribute.axis = static_cast<int32_t>(axis);
    shape[static_cast<size_t>(axis)] = 1;
    x = block.step(node, std::move(attribute), {x}, DType::i32, shape);
  }
  rescale_to_result(block, node, x, kSums, {reduction_scale(node)}, shape);
}

void emit_integer_max(BlockBuilder& block, const Node& node) {
  emit_extremum<fb::ReduceMaxAttributeT>(block, node);
}

void emit_integer_min(BlockBuilder& block, const Node& node) {
  emit_extremum<fb::ReduceMinAttributeT>(block, node);
}

void emit_integer_clamp(BlockBuilder& block, const Node& node) {
  clamp_to_result(block, node, block.in(node, 0));
}

void emit_integer_pad(BlockBuilder& block, const Node& node) {
  const Quantisation& own = quantisation(node.result());
  emit_pad_with(
      block, node,
      static_cast<double>(own.quantised(static_cast<float>(node.attrs<PadAttrs>().value))));
}

}  // namespace layline::tosa

// Rounds real numbers to integers: functions of one quantised value as tables, and what is left as
// arithmetic on floats.
#include <algorithm>
#include <cmath>

#include "targets/tosa/integer_kernels.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/lookup.h"
#include "targets/tosa/quantised.h"
#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

constexpr std::string_view kOneScale = "numbers are quantised to i8 or i16, with one scale";

/// Quantises as torch does: the quotient is rounded to even, the zero point added, the sum clamped.
/// CAST rounds to even.
void emit_arithmetic(BlockBuilder& block, const Node& node) {
  const Quantisation& own = quantisation(node.result());
  const Shape& shape = node.result()->shape();
  const size_t rank = shape.size();
  const auto number = [&](auto attribute, std::vector<std::string> inputs, DType dtype) {
    return block.step(node, std::move(attribute), std::move(inputs), dtype, shape);
  };
  const double factor = static_cast<double>(1.0f / own.scale());
  std::string y = number(
      fb::MulAttributeT{},
      {block.in(node, 0), block.scalar(DType::f32, factor, rank), block.scalar(DType::i8, 0)},
      DType::f32);
  y = number(fb::CastAttributeT{}, {y}, DType::i32);
  y = number(fb::AddAttributeT{}, {y, block.scalar(DType::i32, own.zero_point(), rank)},
             DType::i32);
  const auto limit = [&](int64_t bound) {
    return block.scalar(DType::i32, static_cast<double>(bound), rank);
  };
  fb::MaximumAttributeT at_least;
  fb::MinimumAttributeT at_most;
  at_least.nan_mode = at_most.nan_mode = fb::NanPropagationMode::PROPAGATE;
  y = number(std::move(at_least), {y, limit(own.min)}, DType::i32);
  y = number(std::move(at_most), {y, limit(own.max)}, DType::i32);
  block.result(node, fb::CastAttributeT{}, {y});
}

/// Results of tables have so many bits after the point when they are added: there are 16 before it,
/// and tables reach beyond.
constexpr int kFractionBits = 13;

/// A step of Newton's method towards y = √(p/x), from what tables give for it: y - y/2·(x·y²/p -
/// 1). The error that is left is the square of theirs. An inverse root that is a unit off would
/// make everything normalised with it wrong by the same fraction, which may be many units.
std::string nearer_root(BlockBuilder& block, const Node& node, const std::string& x,
                        const std::string& y, double root_product) {
  const Shape& shape = node.result()->shape();
  const auto product = [&](const std::string& a, const std::string& b, int bits) {
    return block.step(node, fb::MulAttributeT{}, {a, b, block.scalar(DType::i8, bits)}, DType::i32,
                      shape);
  };
  constexpr int kSquareBits = 28;   // dropped from the square, which has up to 58
  constexpr int kProductBits = 28;  // kept of the product, which is about equal for all operands
  const double exact = std::ldexp(root_product, 2 * kFractionBits - kSquareBits);
  const int bits = std::max(0, std::ilogb(exact) - kProductBits);
  const double wanted = std::ldexp(exact, -bits);
  const std::string off = block.step(node, fb::SubAttributeT{},
                                     {product(product(y, y, kSquareBits), x, bits),
                                      block.scalar(DType::i32, std::round(wanted), shape.size())},
                                     DType::i32, shape);
  const std::string part =
      rescaled(block, node, off, kSums, kSums, std::ldexp(1, kProductBits) / wanted, shape);
  return block.step(node, fb::SubAttributeT{}, {y, product(y, part, kProductBits + 1)}, DType::i32,
                    shape);
}

/// Whether the squares of all results have bits enough for a step to be nearer: from 128 units on.
/// MUL drops no more bits than 63.
bool can_near_root(double root_product) { return 0x1p29 <= root_product && root_product <= 0x1p60; }

void emit_lookup(BlockBuilder& block, const Node& node, const Lookup& lookup) {
  const Shape& shape = node.result()->shape();
  const std::string x = block.in(node, lookup.source, "x", shape);
  if (lookup.table) {
    block.result(node, fb::TableAttributeT{}, {x, block.constant(node, "table", *lookup.table)});
    return;
  }
  const Integers operand = integers_of(lookup.source);
  if (lookup.levels.empty()) {
    rescale_to_result(block, node, x, operand, {lookup.scale}, shape);
    return;
  }
  const auto looked_up = [&](const TableLevel& level) {
    const std::string near = level.shift == 0 ? x
                                              : rescaled(block, node, x, operand, operand,
                                                         std::ldexp(1, level.shift), shape);
    return block.step(node, fb::TableAttributeT{},
                      {near, block.constant(node, "table", level.table)}, DType::i32, shape);
  };
  const bool is_root = can_near_root(lookup.root_product);
  if (lookup.levels.size() == 1 && !is_root) {
    rescale_to_result(block, node, looked_up(lookup.levels[0]), kSums, {lookup.levels[0].scale},
                      shape);
    return;
  }
  const double fraction = std::ldexp(1, -kFractionBits);
  std::string sum;
  for (const TableLevel& level : lookup.levels) {
    const std::string y =
        rescaled(block, node, looked_up(level), kSums, kSums, level.scale / fraction, shape);
    sum = sum.empty() ? y : block.step(node, fb::AddAttributeT{}, {sum, y}, DType::i32, shape);
  }
  if (is_root) {
    const std::string wide = rescaled(block, node, x, operand, kSums, 1, shape);
    sum = nearer_root(block, node, wide, sum, lookup.root_product);
  }
  rescale_to_result(block, node, sum, kSums, {fraction}, shape);
}

}  // namespace

std::string refuse_quantize(const Node& node) {
  return is_activation(node.result()) ? "" : std::string(kOneScale);
}

std::string refuse_dequantize(const Node& node) {
  return is_activation(node.operand(0)) ? "" : std::string(kOneScale);
}

void emit_quantize(BlockBuilder& block, const Node& node) {
  if (quantised_input(node.operand(0))) return block.forward(node);
  if (const std::optional<Lookup> lookup = find_lookup(node))
    emit_lookup(block, node, *lookup);
  else if (resized_image(node))
    emit_integer_resize(block, node);
  else
    emit_arithmetic(block, node);
}

void emit_dequantize(BlockBuilder& block, const Node& node) {
  const Quantisation& own = quantisation(node.operand(0));
  const Shape& shape = node.result()->shape();
  std::string x = block.step(node, fb::CastAttributeT{}, {block.in(node, 0)}, DType::i32, shape);
  x = block.step(node, fb::SubAttributeT{},
                 {x, block.scalar(DType::i32, own.zero_point(), shape.size())}, DType::i32, shape);
  x = block.step(node, fb::CastAttributeT{}, {x}, DType::f32, shape);
  block.result(node, fb::MulAttributeT{},
               {x, block.scalar(DType::f32, static_cast<double>(own.scale()), shape.size()),
                block.scalar(DType::i8, 0)});
}

}  // namespace layline::tosa

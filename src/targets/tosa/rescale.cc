#include "targets/tosa/rescale.h"

#include <algorithm>
#include <cmath>

namespace layline::tosa {
namespace {

fb::RescaleAttributeT rescale_attribute(bool per_channel) {
  fb::RescaleAttributeT attribute;
  attribute.scale32 = true;
  attribute.rounding_mode = fb::RoundingMode::SINGLE_ROUND;
  attribute.per_channel = per_channel;
  return attribute;
}

std::vector<std::string> rescale_operands(BlockBuilder& block, const Node& node,
                                          const std::string& x, Integers from, Integers to,
                                          const std::vector<double>& scales) {
  std::vector<int32_t> multipliers;
  std::vector<int8_t> shifts;
  for (double scale : scales) {
    const Multiplier m = *multiplier_of(scale);
    multipliers.push_back(m.multiplier);
    shifts.push_back(m.shift);
  }
  return {x, block.constant(node, "multiplier", list(DType::i32, multipliers)),
          block.constant(node, "shift", list(DType::i8, shifts)),
          block.scalar(from.dtype, from.zero_point), block.scalar(to.dtype, to.zero_point)};
}

/// The integers that a quantised result can have: those in its own range and in the fused clamp.
/// The clamp is never left out because a zero point seems to imply it.
std::pair<int64_t, int64_t> integer_bounds(const Quantisation& own, const Bounds& bounds) {
  const auto bound = [&](double real, int64_t otherwise) {
    return std::isinf(real) ? otherwise : own.quantised(static_cast<float>(real));
  };
  return {std::max(own.min, bound(bounds.min, own.min)),
          std::min(own.max, bound(bounds.max, own.max))};
}

Bounds clamped_to(const Node& node) {
  const Bounds* bounds = bounds_of(node.attributes());
  return bounds ? *bounds : Bounds{};
}

std::vector<uint8_t> bytes_of(DType dtype, int64_t value) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < byte_size(dtype); ++i)
    bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i)));
  return bytes;
}

/// Whether nothing needs to be clamped. Quantisers leave out the least integer of 16 bits. A number
/// that rounds to it is then one off, at the end of the range, and no operator is spent on that.
bool covers(DType dtype, std::pair<int64_t, int64_t> bounds) {
  const auto [least, greatest] = integer_range(dtype);
  return bounds.second == greatest &&
         (bounds.first == least || (dtype == DType::i16 && bounds.first == least + 1));
}

fb::ClampAttributeT clamp_attribute(DType dtype, std::pair<int64_t, int64_t> bounds) {
  fb::ClampAttributeT attribute;
  attribute.min_val = bytes_of(dtype, bounds.first);
  attribute.max_val = bytes_of(dtype, bounds.second);
  attribute.nan_mode = fb::NanPropagationMode::PROPAGATE;
  return attribute;
}

}  // namespace

std::optional<Multiplier> multiplier_of(double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  constexpr int kBits = 31, kLeastShift = 2, kMostShift = 62;
  int exponent = 0;
  auto multiplier =
      static_cast<int64_t>(std::llrint(std::ldexp(std::frexp(scale, &exponent), kBits)));
  int shift = kBits - exponent;
  if (multiplier == int64_t{1} << kBits) {
    multiplier /= 2;
    --shift;
  }
  while (shift > kMostShift && multiplier > 0) {
    multiplier = (multiplier + 1) / 2;
    --shift;
  }
  if (shift < kLeastShift || shift > kMostShift || multiplier == 0) return std::nullopt;
  return Multiplier{static_cast<int32_t>(multiplier), static_cast<int8_t>(shift)};
}

bool has_multipliers(const std::vector<double>& scales) {
  return std::ranges::all_of(scales, [](double s) { return multiplier_of(s).has_value(); });
}

const Quantisation& quantisation(const Value* value) { return *value->type().quantisation; }

double scale(const Value* value) { return static_cast<double>(quantisation(value).scale()); }

bool is_activation(const Value* value) {
  const QuantisationRef& own = value->type().quantisation;
  if (!own || !own->per_tensor()) return false;
  return own->dtype == DType::i8 || (own->dtype == DType::i16 && own->zero_point() == 0);
}

bool are_activations(const Node& node) {
  return is_activation(node.result()) && std::ranges::all_of(node.operands(), is_activation);
}

bool keeps_scale(const Node& node) {
  return node.operand(0)->type().quantisation == node.result()->type().quantisation;
}

Integers integers_of(const Value* value) {
  return {value->dtype(), quantisation(value).zero_point()};
}

std::string rescaled(BlockBuilder& block, const Node& node, const std::string& x, Integers from,
                     Integers to, double scale, const Shape& shape) {
  return block.step(node, rescale_attribute(false),
                    rescale_operands(block, node, x, from, to, {scale}), to.dtype, shape);
}

/// RESCALE takes 48 bits with multipliers of 16 only: a power of two is exact in them.
std::string narrowed_sums(BlockBuilder& block, const Node& node, const std::string& sums, int bits,
                          const Shape& shape) {
  constexpr int kMultiplierBits = 14;
  fb::RescaleAttributeT attribute = rescale_attribute(false);
  attribute.scale32 = false;
  return block.step(node, std::move(attribute),
                    {sums, block.scalar(DType::i16, 1 << kMultiplierBits),
                     block.scalar(DType::i8, kMultiplierBits + bits), block.zero48(),
                     block.scalar(DType::i32, 0)},
                    DType::i32, shape);
}

void rescale_to_result(BlockBuilder& block, const Node& node, const std::string& x, Integers from,
                       const std::vector<double>& scales, const Shape& shape) {
  const Quantisation& own = quantisation(node.result());
  const auto bounds = integer_bounds(own, clamped_to(node));
  auto operands = rescale_operands(block, node, x, from, {own.dtype, own.zero_point()}, scales);
  auto attribute = rescale_attribute(scales.size() > 1);
  if (covers(own.dtype, bounds)) {
    block.result(node, std::move(attribute), std::move(operands), shape);
    return;
  }
  const std::string y =
      block.step(node, std::move(attribute), std::move(operands), own.dtype, shape);
  block.result(node, clamp_attribute(own.dtype, bounds), {y}, shape);
}

void clamp_to_result(BlockBuilder& block, const Node& node, const std::string& x) {
  const Quantisation& own = quantisation(node.result());
  block.result(node, clamp_attribute(own.dtype, integer_bounds(own, clamped_to(node))), {x});
}

}  // namespace layline::tosa

#include "targets/tosa/quantised.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/quantised_tensor.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/window_attributes.h"

namespace layline::tosa {
namespace {

constexpr fb::DType kAccumulator = fb::DType::INT32;
constexpr int64_t kTableSize = 256;
/// Bits that sums of two 8-bit numbers have below the larger of their scales.
constexpr int kHeadroom = 20;

const Quantisation& quantisation(const Value* value) { return *value->type().quantisation; }

bool is_activation(const Value* value) {
  const QuantisationRef& own = value->type().quantisation;
  return own && own->per_tensor() && own->dtype == DType::i8;
}

double scale(const Value* value) { return static_cast<double>(quantisation(value).scale()); }

template <typename T>
Constant list(DType dtype, const std::vector<T>& values) {
  layline::Tensor tensor({dtype, {Dim(static_cast<int64_t>(values.size()))}});
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set_int(static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
  return Constant::owned(dtype, tensor.type().shape,
                         {tensor.bytes().begin(), tensor.bytes().end()});
}

/// What a RESCALE is told: integers of a dtype, and which of them stands for 0.
struct Integers {
  DType dtype;
  int32_t zero_point;
};

Integers integers_of(const Value* value) {
  return {value->dtype(), quantisation(value).zero_point()};
}
constexpr Integers kSums = {DType::i32, 0};

fb::RescaleAttributeT rescale_attribute(bool per_channel) {
  fb::RescaleAttributeT attribute;
  attribute.scale32 = true;
  attribute.rounding_mode = fb::RoundingMode::SINGLE_ROUND;
  attribute.per_channel = per_channel;
  return attribute;
}

/// The operands of a RESCALE; one scale for all, or one for each index of the last axis.
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

std::string rescaled(BlockBuilder& block, const Node& node, const std::string& x, Integers from,
                     Integers to, double scale, const Shape& shape) {
  return block.step(node, rescale_attribute(false),
                    rescale_operands(block, node, x, from, to, {scale}), to.dtype, shape);
}

/// The integers that a quantised result can have: of its own range and of the fused clamp, which is
/// never left out because a zero point seems to imply it.
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

std::vector<uint8_t> byte_of(int64_t value) {
  return {static_cast<uint8_t>(static_cast<int8_t>(value))};
}

fb::ClampAttributeT clamp_attribute(std::pair<int64_t, int64_t> bounds) {
  fb::ClampAttributeT attribute;
  attribute.min_val = byte_of(bounds.first);
  attribute.max_val = byte_of(bounds.second);
  attribute.nan_mode = fb::NanPropagationMode::PROPAGATE;
  return attribute;
}

/// The node's result from integers of other scales, and its clamp if that does anything.
void rescale_to_result(BlockBuilder& block, const Node& node, const std::string& x, Integers from,
                       const std::vector<double>& scales, const Shape& shape) {
  const Quantisation& own = quantisation(node.result());
  const auto bounds = integer_bounds(own, clamped_to(node));
  auto operands = rescale_operands(block, node, x, from, {own.dtype, own.zero_point()}, scales);
  auto attribute = rescale_attribute(scales.size() > 1);
  const auto [least, greatest] = integer_range(own.dtype);
  if (bounds == std::pair(least, greatest)) {
    block.result(node, std::move(attribute), std::move(operands), shape);
    return;
  }
  const std::string y =
      block.step(node, std::move(attribute), std::move(operands), own.dtype, shape);
  block.result(node, clamp_attribute(bounds), {y}, shape);
}

// ---- Contractions ----

/// The scale of each output channel's sums.
std::vector<double> sum_scales(const Node& node) {
  const Quantisation& weight = quantisation(node.operand(1));
  std::vector<double> scales;
  for (float s : weight.scales) scales.push_back(scale(node.operand(0)) * static_cast<double>(s));
  return scales;
}

std::string integer_bias(BlockBuilder& block, const Node& node) {
  if (node.operand_count() < 3) return block.scalar(DType::i32, 0);
  const std::vector<double> scales = sum_scales(node);
  const layline::Tensor bias = real_tensor(tensor_of(node.operand(2)));
  std::vector<int64_t> values;
  for (int64_t i = 0; i < bias.count(); ++i)
    values.push_back(
        std::llrint(bias.get(i) / scales[scales.size() > 1 ? static_cast<size_t>(i) : 0]));
  return block.constant(node, "bias", list(DType::i32, values));
}

bool bias_fits(const Node& node) {
  if (node.operand_count() < 3) return true;
  const std::vector<double> scales = sum_scales(node);
  const layline::Tensor bias = real_tensor(tensor_of(node.operand(2)));
  for (int64_t i = 0; i < bias.count(); ++i)
    if (!(std::abs(bias.get(i) / scales[scales.size() > 1 ? static_cast<size_t>(i) : 0]) < 0x1p30))
      return false;
  return true;
}

bool has_multipliers(const std::vector<double>& scales) {
  return std::ranges::all_of(scales, [](double s) { return multiplier_of(s).has_value(); });
}

std::vector<double> result_scales(const Node& node) {
  std::vector<double> scales = sum_scales(node);
  for (double& s : scales) s /= scale(node.result());
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
    return "quantised products are of i8";
  if (node.operand_count() > 2 && !stored_constant(node.operand(2)))
    return "the bias is not constant";
  if (!bias_fits(node)) return "the bias exceeds 32 bits in the scale of the sums";
  return has_multipliers(result_scales(node)) ? "" : "the scales differ too much for RESCALE";
}

Constant weight_constant(const Node& node) { return *stored_constant(node.operand(1)); }

/// The sums of a contraction, in 32 bits, and from them the result.
template <typename Attribute>
void contract(BlockBuilder& block, const Node& node, Attribute attribute, const Shape& x_shape,
              const Constant& weight, const Shape& sums_shape) {
  const std::string sums =
      block.step(node, std::move(attribute),
                 {block.in(node, 0, x_shape), block.constant(node, "weight", weight),
                  integer_bias(block, node),
                  block.scalar(DType::i8, quantisation(node.operand(0)).zero_point()),
                  block.scalar(DType::i8, 0)},
                 DType::i32, sums_shape);
  rescale_to_result(block, node, sums, kSums, result_scales(node), sums_shape);
}

void emit_conv_on_integers(BlockBuilder& block, const Node& node) {
  const Shape& x = node.operand(0)->shape();
  const Shape& y = node.result()->shape();
  if (node.attrs<ConvAttrs>().groups > 1)
    contract(block, node, conv_attribute<fb::DepthwiseConv2dAttributeT>(node, kAccumulator), x,
             depthwise_filter(weight_constant(node), x.back()), y);
  else if (x.size() == 5)
    contract(block, node, conv_attribute<fb::Conv3dAttributeT>(node, kAccumulator), x,
             weight_constant(node), y);
  else
    contract(block, node, conv_attribute<fb::Conv2dAttributeT>(node, kAccumulator), x,
             weight_constant(node), y);
}

void emit_linear_on_integers(BlockBuilder& block, const Node& node) {
  const Shape& x = node.operand(0)->shape();
  const Dim rows = product(std::span(x).first(x.size() - 1));
  const Constant weight = weight_constant(node);
  const Dim outputs = weight.shape()[0];
  const Shape filter = {outputs, 1, 1, weight.shape()[1]};
  contract(block, node, pointwise_attribute(kAccumulator), {1, rows, 1, x.back()},
           weight.relaid(Relayout::view(weight.shape(), filter)), {1, rows, 1, outputs});
}

// ---- Elementwise, pools and reductions ----

bool are_activations(const Node& node) {
  return is_activation(node.result()) && std::ranges::all_of(node.operands(), is_activation);
}

/// Sums and differences are taken in a scale that both operands have exactly enough bits for.
double common_scale(const Node& node) {
  return std::ldexp(std::max(scale(node.operand(0)), scale(node.operand(1))), -kHeadroom);
}

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

void emit_product(BlockBuilder& block, const Node& node) {
  const std::string a = wide(block, node, 0), b = wide(block, node, 1);
  const std::string product =
      block.step(node, fb::MulAttributeT{}, {a, b, block.scalar(DType::i8, 0)}, DType::i32,
                 node.result()->shape());
  rescale_to_result(block, node, product, kSums, {product_scale(node)}, node.result()->shape());
}

/// Of sums, in the scale of the result; of means the count divides them.
double reduction_scale(const Node& node) {
  double count = 1;
  for (int64_t axis : node.attrs<AxesAttrs>().axes)
    count *= static_cast<double>(node.operand(0)->shape()[static_cast<size_t>(axis)].value());
  return scale(node.operand(0)) / scale(node.result()) / (node.is(Op::reduce_mean) ? count : 1);
}

void emit_reduction(BlockBuilder& block, const Node& node) {
  std::string x = wide(block, node, 0);
  Shape shape = node.operand(0)->shape();
  for (int64_t axis : node.attrs<AxesAttrs>().axes) {
    fb::ReduceSumAttributeT attribute;
    attribute.axis = static_cast<int32_t>(axis);
    shape[static_cast<size_t>(axis)] = 1;
    x = block.step(node, std::move(attribute), {x}, DType::i32, shape);
  }
  rescale_to_result(block, node, x, kSums, {reduction_scale(node)}, shape);
}

/// AVG_POOL2D averages in the scale of its operand, and rounds.
void emit_avg_pool_on_integers(BlockBuilder& block, const Node& node) {
  const std::string zero = block.scalar(DType::i8, quantisation(node.operand(0)).zero_point());
  const std::string average =
      block.step(node, avg_pool_attribute(node, kAccumulator), {block.in(node, 0), zero, zero},
                 DType::i8, node.result()->shape());
  rescale_to_result(block, node, average, integers_of(node.operand(0)),
                    {scale(node.operand(0)) / scale(node.result())}, node.result()->shape());
}

void emit_pad_on_integers(BlockBuilder& block, const Node& node) {
  const Quantisation& own = quantisation(node.result());
  emit_pad_with(
      block, node,
      static_cast<double>(own.quantised(static_cast<float>(node.attrs<PadAttrs>().value))));
}

// ---- Between real numbers and integers ----

/// As torch: the quotient rounded to even, the zero point added, clamped. CAST rounds to even.
void emit_quantize(BlockBuilder& block, const Node& node) {
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

void emit_rounded(BlockBuilder& block, const Node& node) {
  if (quantised_input(node.operand(0))) return block.forward(node);
  const std::optional<Lookup> lookup = find_lookup(node);
  if (!lookup) return emit_quantize(block, node);
  block.result(node, fb::TableAttributeT{},
               {block.in(node, lookup->source, "x", node.result()->shape()),
                block.constant(node, "table", lookup->table)});
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

QuantisationRef quantised_input(const Value* value) {
  if (value->def() != nullptr || value->output_uses() > 0 || value->uses().empty()) return {};
  const QuantisationRef& first = value->uses()[0].user->result()->type().quantisation;
  for (const Use& use : value->uses())
    if (!use.user->is(Op::quantize) || use.user->result()->type().quantisation != first) return {};
  return is_activation(value->uses()[0].user->result()) ? first : QuantisationRef{};
}

QuantisationRef quantised_output(const Value* value) {
  const Node* def = value->def();
  if (def == nullptr || !def->is(Op::dequantize) || !is_activation(def->operand(0))) return {};
  return def->operand(0)->type().quantisation;
}

std::optional<Lookup> find_lookup(const Node& quantize) {
  if (!is_activation(quantize.result())) return std::nullopt;
  const Value* source = nullptr;
  std::unordered_map<const Value*, layline::Tensor> known;
  constexpr int kMostNodes = 64;
  int nodes = 0;
  // What a value is for each integer of the source; nothing if it depends on anything else.
  const auto evaluate = [&](auto& self, const Value* value) -> const layline::Tensor* {
    if (auto found = known.find(value); found != known.end()) return &found->second;
    const Node* def = value->def();
    if (def == nullptr || ++nodes > kMostNodes) return nullptr;
    if (stored_constant(value) && !value->type().quantisation) {
      if (!element_count(value->shape()).is_one()) return nullptr;
      layline::Tensor number = tensor_of(value);
      return &known
                  .emplace(value, layline::Tensor({number.dtype(), {}},
                                                  {number.bytes().begin(), number.bytes().end()}))
                  .first->second;
    }
    if (def->is(Op::dequantize)) {
      if (!is_activation(def->operand(0)) || (source && source != def->operand(0))) return nullptr;
      source = def->operand(0);
      layline::Tensor integers({DType::i8, {kTableSize}, source->type().quantisation});
      for (int64_t i = 0; i < kTableSize; ++i) integers.set_int(i, i - kTableSize / 2);
      return &known.emplace(value, real_tensor(integers)).first->second;
    }
    if (def->is(Op::relayout) && def->attrs<RelayoutAttrs>().relayout.is_view())
      return self(self, def->operand(0));
    if (!is_elementwise(def->op()) || is_quantised(*def)) return nullptr;
    std::vector<layline::Tensor> operands;
    for (const Value* operand : def->operands()) {
      const layline::Tensor* tensor = self(self, operand);
      if (tensor == nullptr) return nullptr;
      operands.push_back(*tensor);
    }
    return &known.emplace(value, evaluate_op(def->op(), operands, def->attributes())).first->second;
  };
  const layline::Tensor* reals = evaluate(evaluate, quantize.operand(0));
  if (reals == nullptr || source == nullptr || reals->count() != kTableSize ||
      element_count(source->shape()) != element_count(quantize.result()->shape()))
    return std::nullopt;
  const layline::Tensor table = quantised_tensor(*reals, quantize.result()->type().quantisation);
  return Lookup{source, Constant::owned(DType::i8, {kTableSize},
                                        {table.bytes().begin(), table.bytes().end()})};
}

std::string refuse_quantised(const Node& node) {
  if (info(node.op()).op_class == OpClass::movement) {
    const Kernel* kernel = find_kernel(node.op());
    return kernel ? kernel->refuse(node) : "TOSA does not move integers so";
  }
  const auto demand = [](bool fits, std::string_view otherwise) {
    return fits ? std::string() : std::string(otherwise);
  };
  constexpr std::string_view kScales = "the scales differ too much for RESCALE";
  switch (node.op()) {
    case Op::conv:
      if (std::string why = refuse_conv_windows(node); !why.empty()) return why;
      return refuse_contraction(node);
    case Op::conv_transpose:
      if (std::string why = refuse_transposed_windows(node); !why.empty()) return why;
      return refuse_contraction(node);
    case Op::linear:
      return refuse_contraction(node);
    case Op::add:
    case Op::sub:
      if (std::string why = refuse_ranks(node); !why.empty()) return why;
      return demand(
          are_activations(node) && has_multipliers({scale(node.operand(0)) / common_scale(node),
                                                    scale(node.operand(1)) / common_scale(node),
                                                    common_scale(node) / scale(node.result())}),
          kScales);
    case Op::mul:
      if (std::string why = refuse_ranks(node); !why.empty()) return why;
      return demand(are_activations(node) && has_multipliers({product_scale(node)}), kScales);
    case Op::reduce_mean:
    case Op::reduce_sum:
      return demand(are_activations(node) && has_multipliers({reduction_scale(node)}), kScales);
    case Op::avg_pool:
    case Op::max_pool:
      if (std::string why = refuse_pool_windows(node); !why.empty()) return why;
      return demand(
          are_activations(node) && has_multipliers({scale(node.operand(0)) / scale(node.result())}),
          kScales);
    case Op::clamp:
      return demand(are_activations(node), "quantised clamps are of i8");
    case Op::quantize:
      return demand(is_activation(node.result()), "numbers are quantised to i8, with one scale");
    case Op::dequantize:
      return demand(is_activation(node.operand(0)), "numbers are quantised to i8, with one scale");
    case Op::reinterpret:
      return {};
    default:
      return fmt::format("TOSA has no quantised {}", name(node.op()));
  }
}

void emit_quantised(BlockBuilder& block, const Node& node) {
  if (node.is(Op::pad)) return emit_pad_on_integers(block, node);
  if (info(node.op()).op_class == OpClass::movement)
    return find_kernel(node.op())->emit(block, node);
  switch (node.op()) {
    case Op::conv:
      return emit_conv_on_integers(block, node);
    case Op::conv_transpose:
      return contract(block, node, transposed_attribute(node, kAccumulator),
                      node.operand(0)->shape(), weight_constant(node), node.result()->shape());
    case Op::linear:
      return emit_linear_on_integers(block, node);
    case Op::add:
      return emit_sum<fb::AddAttributeT>(block, node);
    case Op::sub:
      return emit_sum<fb::SubAttributeT>(block, node);
    case Op::mul:
      return emit_product(block, node);
    case Op::reduce_mean:
    case Op::reduce_sum:
      return emit_reduction(block, node);
    case Op::avg_pool:
      return emit_avg_pool_on_integers(block, node);
    case Op::max_pool:
      return emit_max_pool(block, node);
    case Op::clamp:
      return block.result(
          node, clamp_attribute(integer_bounds(quantisation(node.result()), clamped_to(node))),
          {block.in(node, 0)});
    case Op::quantize:
      return emit_rounded(block, node);
    case Op::dequantize:
      return emit_dequantize(block, node);
    case Op::reinterpret:
      return block.forward(node);
    default:
      throw InternalError(fmt::format("no quantised {} in TOSA", name(node.op())));
  }
}

}  // namespace layline::tosa

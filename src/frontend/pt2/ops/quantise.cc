// Quantised models: the ops of torch's `quantized_decomposed` and of torchao.
#include "frontend/ops/quantise.h"

#include "frontend/ops/shapes.h"
#include "frontend/pt2/ops/rules.h"
#include "ir/evaluate.h"

namespace layline::pt2 {
namespace {

using ops::Integers;

Integers integers(const Call& call, std::string_view dtype_argument) {
  const auto dtype = call.dtype(dtype_argument);
  if (!dtype) call.fail("the argument `{}` is missing", dtype_argument);
  const auto [least, greatest] = integer_range(*dtype);
  return {*dtype, call.integer("quant_min", least), call.integer("quant_max", greatest)};
}

/// The quantisation per tensor, from numbers in the text of the model.
Quantisation by_numbers(const Call& call) {
  const Integers range = integers(call, "dtype");
  Quantisation result = per_tensor(range.dtype, static_cast<float>(call.number("scale", 1)),
                                   static_cast<int32_t>(call.integer("zero_point")));
  result.min = range.min;
  result.max = range.max;
  return result;
}

/// Scales and zero points that the model stores.
struct Stored {
  const Constant& scales;
  const Constant* zero_points;  // may be null
};

Stored stored(const Call& call) {
  const Constant& scales = ops::known(call, call.tensor("scales"), "scale");
  const Value* zeros = call.optional_tensor("zero_points");
  return {scales, zeros ? &ops::known(call, zeros, "zero point") : nullptr};
}

Quantisation by_channel(const Call& call, const Value* x) {
  const Integers range = integers(call, "dtype");
  const Stored found = stored(call);
  const int64_t axis = call.axis("axis", 0, x->type().rank());
  return ops::table(call, range, found.scales, found.zero_points,
                    ops::dims_per_channel(x, axis, element_count(found.scales.shape()).value()));
}

/// Converts the result, which is f32, to the float that torch records.
void dequantised(Call& call, Value* y) { call.result(call.convert(y, call.recorded().dtype)); }

// ---- quantized_decomposed ----

void quantise_per_tensor(Call& call) {
  call.result(ops::quantise(call, call.tensor("input"), by_numbers(call)));
}

void dequantise_per_tensor(Call& call) {
  dequantised(call, ops::dequantise(call, call.tensor("input"), by_numbers(call)));
}

/// Quantises or dequantises by constants, or by tensors that are computed at run time.
template <bool quantises>
void by_tensors(Call& call, Value* x, const Integers& range, Value* scale, Value* zero_point,
                const Shape& dims) {
  if (constant_of(scale) && (zero_point == nullptr || constant_of(zero_point))) {
    if (!is_static(dims))
      call.fail("stored scales for blocks {} of dynamic sizes", to_string(dims));
    Quantisation quantisation =
        ops::table(call, range, *constant_of(scale), zero_point ? constant_of(zero_point) : nullptr,
                   static_dims(dims));
    return quantises ? call.result(ops::quantise(call, x, std::move(quantisation)))
                     : dequantised(call, ops::dequantise(call, x, std::move(quantisation)));
  }
  if (zero_point == nullptr) zero_point = call.scalar(DType::i64, 0);
  const ops::Parameters by{scale, call.convert(zero_point, DType::i64), dims};
  quantises ? call.result(ops::quantise_by(call, x, by, range))
            : dequantised(call, ops::dequantise_by(call, x, by));
}

/// One scale and zero point, both given as tensors.
template <bool quantises>
void per_tensor_of_tensors(Call& call) {
  Value* x = call.tensor("input");
  Value* scale = call.tensor("scale");
  Value* zero_point = call.tensor("zero_point");
  by_tensors<quantises>(call, x, integers(call, "dtype"), scale, zero_point, {});
}

void quantise_per_channel(Call& call) {
  Value* x = call.tensor("input");
  call.result(ops::quantise(call, x, by_channel(call, x)));
}

void dequantise_per_channel(Call& call) {
  Value* x = call.tensor("input");
  dequantised(call, ops::dequantise(call, x, by_channel(call, x)));
}

void dequantise_per_channel_group(Call& call) {
  Value* x = call.tensor("input");
  const Integers range = integers(call, "dtype");
  const Stored found = stored(call);
  Quantisation quantisation = ops::table(call, range, found.scales, found.zero_points,
                                         ops::dims_per_group(call, x, call.integer("group_size")));
  dequantised(call, ops::dequantise(call, x, std::move(quantisation)));
}

/// A scale and zero point for each index of all axes but the last.
template <bool quantises>
void per_token(Call& call) {
  Value* x = call.tensor("input");
  Value* scale = call.tensor("scales");
  const ops::Parameters by{scale, call.tensor("zero_points")};
  quantises ? call.result(ops::quantise_by(call, x, by, integers(call, "dtype")))
            : dequantised(call, ops::dequantise_by(call, x, by));
}

/// The ops of ExecuTorch's quantised embeddings. Integers of 4 and 2 bits are stored without a
/// sign.
template <int bits>
void embedding(Call& call) {
  constexpr Packing kPacking{bits, bits != 4};
  constexpr int kLift = bits == 8 ? 0 : 1 << (bits - 1);
  Value* weight = call.tensor("weight");
  Value* indices = call.tensor("indices");
  if (bits < 8 && (weight->dtype() != DType::u8 || call.integer("weight_quant_min") != -kLift ||
                   call.integer("weight_quant_max") != kLift - 1))
    call.fail("expected bytes of integers in [{},{}]", -kLift, kLift - 1);
  const ops::Embedding table{weight, kPacking, kLift, call.tensor("weight_scales"),
                             call.optional_tensor("weight_zero_points")};
  dequantised(call, ops::embedding(call, table, indices));
}

void choose(Call& call, ChooseAttrs attrs) {
  const auto [scale, zero_point, blocks] =
      ops::choose(call, call.tensor("input"), std::move(attrs));
  const TensorType scale_type = call.recorded(0), zero_type = call.recorded(1);
  call.result(ops::view(call, call.convert(scale, scale_type.dtype), scale_type.shape));
  call.result(ops::view(call, call.convert(zero_point, zero_type.dtype), zero_type.shape));
}

template <bool symmetric>
void choose_per_tensor(Call& call) {
  ChooseAttrs attrs;
  attrs.axes = ops::all_axes(call.tensor("input"));
  attrs.min = call.integer("quant_min");
  attrs.max = call.integer("quant_max");
  attrs.eps = call.number("eps", 0);
  attrs.symmetric = symmetric;
  choose(call, std::move(attrs));
}

constexpr double kFloatEpsilon = 0x1p-23;

void choose_per_token_asymmetric(Call& call) {
  ChooseAttrs attrs;
  attrs.axes = {call.tensor("input")->type().rank() - 1};
  attrs.eps = kFloatEpsilon;
  attrs.balanced = true;
  choose(call, std::move(attrs));
}

// ---- torchao ----

Shape block_dims(const Call& call, const Value* x) {
  Shape block;
  for (const auto& size : call.sizes("block_size")) block.push_back(size.value_or(Dim(0)));
  return ops::dims_per_block(call, x, block);
}

template <bool quantises>
void affine(Call& call) {
  Value* x = call.tensor("input");
  Value* scale = call.tensor("scale");
  Value* zero_point = call.optional_tensor("zero_point");
  const Integers range = integers(call, quantises ? "output_dtype" : "input_dtype");
  by_tensors<quantises>(call, x, range, scale, zero_point, block_dims(call, x));
}

void choose_affine(Call& call) {
  const Value* x = call.tensor("input");
  const Shape dims = block_dims(call, x);
  ChooseAttrs attrs;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (!dims[axis].is_one() && dims[axis] != x->shape()[axis])
      call.fail("scales chosen for parts of axis {} are not supported", axis);
    if (dims[axis].is_one()) attrs.axes.push_back(static_cast<int64_t>(axis));
  }
  const std::string_view mapping = call.string("mapping_type", "ASYMMETRIC");
  if (mapping != "ASYMMETRIC" && mapping != "SYMMETRIC")
    call.fail("the mapping {} is not supported", mapping);
  const Integers range = integers(call, "target_dtype");
  attrs.min = range.min;
  attrs.max = range.max;
  attrs.symmetric = mapping == "SYMMETRIC";
  attrs.eps = call.number("eps", kFloatEpsilon);
  choose(call, std::move(attrs));
}

constexpr OpRule kRules[] = {
    {"quantized_decomposed.quantize_per_tensor.default", quantise_per_tensor},
    {"quantized_decomposed.quantize_per_tensor.tensor", per_tensor_of_tensors<true>},
    {"quantized_decomposed.dequantize_per_tensor.default", dequantise_per_tensor},
    {"quantized_decomposed.dequantize_per_tensor.tensor", per_tensor_of_tensors<false>},
    {"quantized_decomposed.quantize_per_channel.default", quantise_per_channel},
    {"quantized_decomposed.dequantize_per_channel.default", dequantise_per_channel},
    {"quantized_decomposed.dequantize_per_channel_group.default", dequantise_per_channel_group},
    {"quantized_decomposed.quantize_per_token.default", per_token<true>},
    {"quantized_decomposed.dequantize_per_token.default", per_token<false>},
    {"quantized_decomposed.choose_qparams.tensor", choose_per_tensor<false>},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", choose_per_tensor<true>},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     choose_per_token_asymmetric},
    {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default",
     choose_per_token_asymmetric},
    {"quantized_decomposed.embedding_byte.default", embedding<8>},
    {"quantized_decomposed.embedding_byte.dtype", embedding<8>},
    {"quantized_decomposed.embedding_4bit.default", embedding<4>},
    {"quantized_decomposed.embedding_4bit.dtype", embedding<4>},
    {"quantized_decomposed.embedding_2bit.default", embedding<2>},
    {"quantized_decomposed.embedding_2bit.dtype", embedding<2>},
    {"torchao.quantize_affine.default", affine<true>},
    {"torchao.dequantize_affine.default", affine<false>},
    {"torchao.choose_qparams_affine.default", choose_affine},
    {"pt2e_quant.quantize_affine.default", affine<true>},
    {"pt2e_quant.dequantize_affine.default", affine<false>},
    {"pt2e_quant.choose_qparams_affine.default", choose_affine},
};

}  // namespace

std::span<const OpRule> quantise_rules() { return kRules; }

}  // namespace layline::pt2

// Quantised models: the ops of torch's `quantized_decomposed` and of torchao.
//
// In torch a quantised tensor is one of plain integers, and the ops that make and read it each
// carry the scale. Here the scale belongs to the type, so an import writes quantize, reinterpret
// (to plain integers) and reinterpret (back), dequantize; the pairs of reinterprets then cancel.
#include <algorithm>
#include <cmath>

#include "frontend/pt2/ops/rules.h"
#include "ir/evaluate.h"

namespace layline::pt2 {
namespace {

/// The range of integers in use and their dtype.
struct Integers {
  DType dtype;
  int64_t min, max;
};

Integers integers(Call& call, std::string_view dtype_argument) {
  const auto dtype = call.dtype(dtype_argument);
  if (!dtype) call.fail("the argument `{}` is missing", dtype_argument);
  const auto [least, greatest] = integer_range(*dtype);
  return {*dtype, call.integer("quant_min", least), call.integer("quant_max", greatest)};
}

/// The constant's elements.
Tensor known(Call& call, const Value* value, std::string_view what) {
  if (constant_of(value) == nullptr)
    call.fail("the {} is computed when the model runs, which is not supported here", what);
  return tensor_of(value);
}

/// A table of scales and zero points with the dims that they have in the model.
Quantisation table(Call& call, const Integers& range, const Tensor& scales,
                   const std::optional<Tensor>& zero_points, std::vector<int64_t> dims) {
  Quantisation result{range.dtype, range.min, range.max, std::move(dims), {}, {}};
  for (int64_t i = 0; i < scales.count(); ++i)
    result.scales.push_back(static_cast<float>(scales.get(i)));
  if (zero_points && zero_points->count() > 0) {
    if (zero_points->count() != scales.count())
      call.fail("{} scales and {} zero points", scales.count(), zero_points->count());
    for (int64_t i = 0; i < scales.count(); ++i) {
      const double zero_point = zero_points->get(i);
      if (zero_point != std::trunc(zero_point) || zero_point < -0x1p31 || zero_point >= 0x1p31)
        call.fail("the zero point {} is no integer", zero_point);
      result.zero_points.push_back(static_cast<int32_t>(zero_point));
    }
    if (std::ranges::all_of(result.zero_points, [](int32_t zero) { return zero == 0; }))
      result.zero_points.clear();
  }
  if (result.scales.size() == 1) result.dims.clear();
  return result;
}

/// Per tensor: numbers in the text of the model.
Quantisation by_numbers(Call& call, const Integers& range) {
  Quantisation result = per_tensor(range.dtype, static_cast<float>(call.number("scale", 1)),
                                   static_cast<int32_t>(call.integer("zero_point")));
  result.min = range.min;
  result.max = range.max;
  return result;
}

/// Per channel: one entry for each index of an axis.
Quantisation by_channel(Call& call, const Integers& range, const Value* x) {
  const Tensor scales = known(call, call.tensor("scales"), "scale");
  std::optional<Tensor> zero_points;
  if (const Value* zeros = call.optional_tensor("zero_points"))
    zero_points = known(call, zeros, "zero point");
  std::vector<int64_t> dims(x->shape().size(), 1);
  dims[static_cast<size_t>(call.axis("axis", 0, x->type().rank()))] = scales.count();
  return table(call, range, scales, zero_points, std::move(dims));
}

/// Groups of `group` along the last axis of a matrix.
Quantisation by_group(Call& call, const Integers& range, const Value* x, int64_t group) {
  const Tensor scales = known(call, call.tensor("scales"), "scale");
  std::optional<Tensor> zero_points;
  if (const Value* zeros = call.optional_tensor("zero_points"))
    zero_points = known(call, zeros, "zero point");
  const Shape& shape = x->shape();
  const auto groups = shape.empty() || group < 1 ? std::nullopt : divide(shape.back(), group);
  if (!groups || !is_static(shape))
    call.fail("groups of {} do not divide {}", group, to_string(x->type()));
  std::vector<int64_t> dims = static_dims(shape);
  dims.back() = groups->value();
  return table(call, range, scales, zero_points, std::move(dims));
}

/// torchao: blocks along every axis.
std::vector<int64_t> block_table(Call& call, const Value* x) {
  const Ints block = call.ints("block_size", {});
  if (block.size() != x->shape().size() || !is_static(x->shape()))
    call.fail("blocks [{}] do not fit {}", fmt::join(block, ","), to_string(x->type()));
  std::vector<int64_t> dims = static_dims(x->shape());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (block[axis] < 1 || dims[axis] % block[axis] != 0)
      call.fail("blocks [{}] do not divide {}", fmt::join(block, ","), to_string(x->type()));
    dims[axis] /= block[axis];
  }
  return dims;
}

void quantise(Call& call, Value* x, Quantisation quantisation) {
  Value* typed = call.add(Op::quantize, {call.convert(x, DType::f32)},
                          QuantisationAttrs{std::move(quantisation)});
  call.result(call.add(Op::reinterpret, {typed}, QuantisationAttrs{}));
}

void dequantise(Call& call, Value* x, Quantisation quantisation) {
  Value* typed = call.add(Op::reinterpret, {x}, QuantisationAttrs{std::move(quantisation)});
  call.result(call.convert(call.add(Op::dequantize, {typed}), call.recorded().dtype));
}

// ---- Scales that are computed at run time ----

/// The f32 value that was widened to f64 only because torch hands scales over so.
Value* scale_parameter(Call& call, Value* scale) {
  const layline::Node* def = scale->def();
  while (def && (def->is(Op::relayout) || def->is(Op::convert)) &&
         (def->operand(0)->dtype() == DType::f32 || def->is(Op::relayout)))
    def = (scale = def->operand(0))->def();
  return call.convert(scale, DType::f32);
}

Value* parameter_root(Value* value) {
  while (value->def() && value->def()->is(Op::relayout)) value = value->def()->operand(0);
  return value;
}

/// A scale or zero point in the shape in which it repeats along x: as chosen from x, one for each
/// block of a table with these dims, or one for all.
Value* spread(Call& call, Value* parameter, const Value* x, const Shape& table) {
  parameter = parameter_root(parameter);
  if (!table.empty() && parameter->shape().size() < table.size() &&
      element_count(parameter->shape()) == element_count(table))
    parameter = call.view(parameter, table);
  if (broadcast(parameter->shape(), x->shape()) == x->shape()) return parameter;
  if (element_count(parameter->shape()).is_one()) return call.view(parameter, {});
  Shape shape = parameter->shape();
  shape.resize(x->shape().size(), Dim(1));
  return call.view(parameter, shape);
}

void quantise_by(Call& call, Value* x, Value* scale, Value* zero_point, const Integers& range,
                 const Shape& blocks = {}) {
  call.result(
      call.add(Op::quantize_by,
               {call.convert(x, DType::f32), spread(call, scale_parameter(call, scale), x, blocks),
                spread(call, zero_point, x, blocks)},
               IntegerAttrs{range.dtype, range.min, range.max}));
}

void dequantise_by(Call& call, Value* x, Value* scale, Value* zero_point,
                   const Shape& blocks = {}) {
  Value* y = call.add(Op::dequantize_by, {x, spread(call, scale_parameter(call, scale), x, blocks),
                                          spread(call, zero_point, x, blocks)});
  call.result(call.convert(y, call.recorded().dtype));
}

void choose(Call& call, ChooseAttrs attrs) {
  Value* x = call.convert(call.tensor("input"), DType::f32);
  Value* scale = call.add(Op::choose_scale, {x}, attrs);
  Value* zero_point = call.add(Op::choose_zero_point, {x}, std::move(attrs));
  const TensorType scale_type = call.recorded(0), zero_type = call.recorded(1);
  call.result(call.view(call.convert(scale, scale_type.dtype), scale_type.shape));
  call.result(call.view(call.convert(zero_point, zero_type.dtype), zero_type.shape));
}

Ints all_axes(const Value* x) {
  Ints axes(x->shape().size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

// ---- quantized_decomposed ----

void quantise_per_tensor(Call& call) {
  quantise(call, call.tensor("input"), by_numbers(call, integers(call, "dtype")));
}

void dequantise_per_tensor(Call& call) {
  dequantise(call, call.tensor("input"), by_numbers(call, integers(call, "dtype")));
}

/// One scale and zero point, constant or not.
template <bool quantises>
void per_tensor_of_tensors(Call& call) {
  Value* x = call.tensor("input");
  Value* scale = call.tensor("scale");
  Value* zero_point = call.tensor("zero_point");
  const Integers range = integers(call, "dtype");
  if (constant_of(scale) && constant_of(zero_point)) {
    Quantisation quantisation = table(call, range, tensor_of(scale), tensor_of(zero_point), {});
    quantises ? quantise(call, x, std::move(quantisation))
              : dequantise(call, x, std::move(quantisation));
  } else {
    quantises ? quantise_by(call, x, scale, zero_point, range)
              : dequantise_by(call, x, scale, zero_point);
  }
}

void quantise_per_channel(Call& call) {
  Value* x = call.tensor("input");
  quantise(call, x, by_channel(call, integers(call, "dtype"), x));
}

void dequantise_per_channel(Call& call) {
  Value* x = call.tensor("input");
  dequantise(call, x, by_channel(call, integers(call, "dtype"), x));
}

void dequantise_per_channel_group(Call& call) {
  Value* x = call.tensor("input");
  dequantise(call, x, by_group(call, integers(call, "dtype"), x, call.integer("group_size")));
}

/// Numbers for each index of all axes but the last.
template <bool quantises>
void per_token(Call& call) {
  Value* x = call.tensor("input");
  Value* scale = call.tensor("scales");
  Value* zero_point = call.tensor("zero_points");
  if (quantises)
    quantise_by(call, x, scale, zero_point, integers(call, "dtype"));
  else
    dequantise_by(call, x, scale, zero_point);
}

void choose_per_tensor(Call& call) {
  ChooseAttrs attrs;
  attrs.axes = all_axes(call.tensor("input"));
  attrs.min = call.integer("quant_min");
  attrs.max = call.integer("quant_max");
  attrs.eps = call.number("eps", 0);
  attrs.symmetric = call.node().target.find("symmetric") != std::string_view::npos;
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

template <bool quantises>
void affine(Call& call) {
  Value* x = call.tensor("input");
  Value* scale = call.tensor("scale");
  Value* zero_point = call.optional_tensor("zero_point");
  const Integers range = integers(call, quantises ? "output_dtype" : "input_dtype");
  std::vector<int64_t> dims = block_table(call, x);
  if (constant_of(scale) && (zero_point == nullptr || constant_of(zero_point))) {
    Quantisation quantisation =
        table(call, range, tensor_of(scale),
              zero_point ? std::optional(tensor_of(zero_point)) : std::nullopt, std::move(dims));
    return quantises ? quantise(call, x, std::move(quantisation))
                     : dequantise(call, x, std::move(quantisation));
  }
  if (zero_point == nullptr) zero_point = call.scalar(DType::i64, 0);
  zero_point = call.convert(zero_point, DType::i64);
  const Shape blocks(dims.begin(), dims.end());
  quantises ? quantise_by(call, x, scale, zero_point, range, blocks)
            : dequantise_by(call, x, scale, zero_point, blocks);
}

void choose_affine(Call& call) {
  const Value* x = call.tensor("input");
  const std::vector<int64_t> dims = block_table(call, x);
  ChooseAttrs attrs;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != 1 && Dim(dims[axis]) != x->shape()[axis])
      call.fail("scales chosen for parts of axis {} are not supported", axis);
    if (dims[axis] == 1) attrs.axes.push_back(static_cast<int64_t>(axis));
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
    {"quantized_decomposed.choose_qparams.tensor", choose_per_tensor},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", choose_per_tensor},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
     choose_per_token_asymmetric},
    {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default",
     choose_per_token_asymmetric},
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

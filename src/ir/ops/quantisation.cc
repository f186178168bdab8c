// Conversions between real numbers and the integers that stand for them.
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/ops/checks.h"
#include "ir/ops/walk.h"

namespace layline::rules {
namespace {

void expect_f32(const TensorType& x, std::string_view operand) {
  if (x.dtype != DType::f32 || x.quantisation)
    throw UserError("expected an f32 {}, found {}", operand, to_string(x));
}

void expect_integers(const TensorType& x, std::string_view operand) {
  if (!is_integer(x.dtype) || x.quantisation)
    throw UserError("expected {} of plain integers, found {}", operand, to_string(x));
}

/// The scale and the zero point of quantize_by and dequantize_by repeat along the axes of x.
Shape expect_parameters(Types operands) {
  expect_f32(operands[1], "scale");
  expect_integers(operands[2], "a zero point");
  for (const TensorType& parameter : operands.subspan(1))
    if (broadcast(operands[0].shape, parameter.shape) != operands[0].shape)
      throw UserError("expected a scale and zero point that broadcast to {}, found {}",
                      to_string(operands[0]), to_string(parameter));
  return operands[0].shape;
}

void expect_range(int64_t min, int64_t max) {
  if (min >= max) throw UserError("the range [{},{}] is empty", min, max);
}

TensorType infer_choice(Types operands, const Attributes& attributes, DType dtype) {
  const auto& choose = std::get<ChooseAttrs>(attributes);
  expect_f32(operands[0], "operand");
  expect_axes(choose.axes, operands[0]);
  expect_range(choose.min, choose.max);
  if (!(choose.eps >= 0)) throw UserError("eps must not be negative, found {}", choose.eps);
  Shape shape = operands[0].shape;
  for (const int64_t axis : choose.axes) {
    Dim& dim = shape[static_cast<size_t>(axis)];
    if (dim.is_zero())
      throw UserError("expected elements along axis {}, found {}", axis, to_string(operands[0]));
    dim = 1;
  }
  return result_type(dtype, std::move(shape));
}

}  // namespace

TensorType infer_quantize(Types operands, const Attributes& attributes, SymbolTable&) {
  const QuantisationRef& quantisation = std::get<QuantisationAttrs>(attributes).quantisation;
  expect_f32(operands[0], "operand");
  if (!quantisation) throw UserError("expected a quantisation");
  expect_quantisation(*quantisation, operands[0].shape);
  return {quantisation->dtype, operands[0].shape, quantisation};
}

TensorType infer_dequantize(Types operands, const Attributes&, SymbolTable&) {
  if (!operands[0].quantisation)
    throw UserError("expected a quantised operand, found {}", to_string(operands[0]));
  return {DType::f32, operands[0].shape};
}

TensorType infer_reinterpret(Types operands, const Attributes& attributes, SymbolTable&) {
  const QuantisationRef& quantisation = std::get<QuantisationAttrs>(attributes).quantisation;
  if (!is_integer(operands[0].dtype))
    throw UserError("expected integers, found {}", to_string(operands[0]));
  if (quantisation) {
    expect_quantisation(*quantisation, operands[0].shape);
    if (quantisation->dtype != operands[0].dtype)
      throw UserError("expected {} for this quantisation, found {}", name(quantisation->dtype),
                      to_string(operands[0]));
  }
  return {operands[0].dtype, operands[0].shape, quantisation};
}

TensorType infer_quantize_by(Types operands, const Attributes& attributes, SymbolTable&) {
  const auto& integers = std::get<IntegerAttrs>(attributes);
  expect_f32(operands[0], "operand");
  const auto [least, greatest] = integer_range(integers.to);
  expect_range(integers.min, integers.max);
  if (integers.min < least || integers.max > greatest)
    throw UserError("the range [{},{}] is none of {}", integers.min, integers.max,
                    name(integers.to));
  return {integers.to, expect_parameters(operands)};
}

TensorType infer_dequantize_by(Types operands, const Attributes&, SymbolTable&) {
  expect_integers(operands[0], "an operand");
  return result_type(DType::f32, expect_parameters(operands));
}

TensorType infer_choose_scale(Types operands, const Attributes& attributes, SymbolTable&) {
  return infer_choice(operands, attributes, DType::f32);
}

TensorType infer_choose_zero_point(Types operands, const Attributes& attributes, SymbolTable&) {
  return infer_choice(operands, attributes, DType::i64);
}

Tensor evaluate_quantize(Tensors operands, const Attributes&, const TensorType& result) {
  const Quantisation& quantisation = *result.quantisation;
  Tensor out(result);
  const std::vector<size_t> entries = table_entries(quantisation, out.dims());
  for (int64_t i = 0; i < out.count(); ++i)
    out.set_int(i, quantisation.quantised(static_cast<float>(operands[0].get(i)),
                                          entries[static_cast<size_t>(i)]));
  return out;
}

Tensor evaluate_dequantize(Tensors operands, const Attributes&, const TensorType& result) {
  const Quantisation& quantisation = *operands[0].type().quantisation;
  Tensor out(result);
  const std::vector<size_t> entries = table_entries(quantisation, out.dims());
  for (int64_t i = 0; i < out.count(); ++i)
    out.set(i, quantisation.real(operands[0].get_int(i), entries[static_cast<size_t>(i)]));
  return out;
}

Tensor evaluate_reinterpret(Tensors operands, const Attributes&, const TensorType& result) {
  return Tensor(result, {operands[0].bytes().begin(), operands[0].bytes().end()});
}

namespace {

/// Calls visit(element, entry of the parameters) for each element.
template <typename Visit>
void with_parameters(Tensors operands, Visit visit) {
  const std::array strides = {broadcast_strides(operands[1].dims(), operands[0].dims()),
                              broadcast_strides(operands[2].dims(), operands[0].dims())};
  Quantisation one = per_tensor(DType::i32, 1, 0);
  walk(operands[0].dims(), strides, [&](int64_t i, const auto& from) {
    one.scales = {static_cast<float>(operands[1].get(from[0]))};
    one.zero_points = {static_cast<int32_t>(operands[2].get_int(from[1]))};
    visit(i, one);
  });
}

struct Choice {
  float scale;
  float zero_point;
};

Choice choose(float least, float greatest, const ChooseAttrs& attrs) {
  least = std::min(least, 0.0f);
  greatest = std::max(greatest, 0.0f);
  const auto min = static_cast<float>(attrs.min), max = static_cast<float>(attrs.max);
  const auto eps = static_cast<float>(attrs.eps);
  if (attrs.symmetric) {
    const float scale = std::max(std::max(-least, greatest) / ((max - min) / 2), eps);
    return {scale, static_cast<float>((attrs.min + attrs.max + 1) / 2)};
  }
  const float scale = std::max((greatest - least) / (max - min), eps);
  if (!attrs.balanced) {
    const float zero_point = min - std::nearbyint(least / scale);
    return {scale, std::clamp(zero_point, min, max)};
  }
  const float low = least / scale, high = greatest / scale;
  const float zero_point = (min + low) + (max + high) > 0 ? min - low : max - high;
  return {scale, std::nearbyint(std::clamp(zero_point, min, max))};
}

template <typename Store>
Tensor each_choice(Tensors operands, const Attributes& attributes, const TensorType& result,
                   Store store) {
  const Tensor& x = operands[0];
  Tensor out(result);
  const auto count = static_cast<size_t>(out.count());
  std::vector<float> least(count, std::numeric_limits<float>::infinity());
  std::vector<float> greatest(count, -std::numeric_limits<float>::infinity());
  walk(x.dims(), std::array{broadcast_strides(out.dims(), x.dims())},
       [&](int64_t i, const auto& group) {
         const auto g = static_cast<size_t>(group[0]);
         least[g] = smaller(least[g], static_cast<float>(x.get(i)));
         greatest[g] = larger(greatest[g], static_cast<float>(x.get(i)));
       });
  for (size_t g = 0; g < count; ++g)
    store(out, static_cast<int64_t>(g),
          choose(least[g], greatest[g], std::get<ChooseAttrs>(attributes)));
  return out;
}

}  // namespace

Tensor evaluate_quantize_by(Tensors operands, const Attributes& attributes,
                            const TensorType& result) {
  const auto& integers = std::get<IntegerAttrs>(attributes);
  Tensor out(result);
  with_parameters(operands, [&](int64_t i, Quantisation& by) {
    by.min = integers.min;
    by.max = integers.max;
    out.set_int(i, by.quantised(static_cast<float>(operands[0].get(i))));
  });
  return out;
}

Tensor evaluate_dequantize_by(Tensors operands, const Attributes&, const TensorType& result) {
  Tensor out(result);
  with_parameters(operands, [&](int64_t i, const Quantisation& by) {
    out.set(i, by.real(operands[0].get_int(i)));
  });
  return out;
}

Tensor evaluate_choose_scale(Tensors operands, const Attributes& attributes,
                             const TensorType& result) {
  return each_choice(operands, attributes, result,
                     [](Tensor& out, int64_t i, const Choice& choice) {
                       out.set(i, static_cast<double>(choice.scale));
                     });
}

Tensor evaluate_choose_zero_point(Tensors operands, const Attributes& attributes,
                                  const TensorType& result) {
  return each_choice(operands, attributes, result,
                     [](Tensor& out, int64_t i, const Choice& choice) {
                       out.set_int(i, static_cast<int64_t>(choice.zero_point));
                     });
}

}  // namespace layline::rules

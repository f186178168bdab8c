// The types of ops on quantised operands, from the rules for plain ones.
#include <algorithm>

#include "base/error.h"
#include "ir/op.h"

namespace layline {
namespace {

bool stands_for_reals(const TensorType& type) { return static_cast<bool>(type.quantisation); }

/// Ops that know of quantisation themselves.
bool has_own_rule(Op op) {
  return op == Op::constant || op == Op::quantize || op == Op::dequantize || op == Op::reinterpret;
}

/// Types of ops that only move data: they keep the quantisation.
TensorType infer_kept(Op op, std::span<const TensorType> operands, const Attributes& attributes,
                      SymbolTable& symbols) {
  const QuantisationRef& quantisation = operands[0].quantisation;
  std::vector<TensorType> plain;
  for (const TensorType& operand : operands) plain.push_back(plain_type(operand));
  TensorType result = info(op).infer(plain, attributes, symbols);
  if (op == Op::relayout) {
    const auto after = moved(quantisation, std::get<RelayoutAttrs>(attributes).relayout);
    if (!after)
      throw UserError("the scales of {} do not follow {}", to_string(operands[0]),
                      to_string(std::get<RelayoutAttrs>(attributes).relayout));
    result.quantisation = *after;
    return result;
  }
  if (!quantisation || !quantisation->per_tensor())
    throw UserError("expected one scale for all elements of {}", to_string(operands[0]));
  // Indices are plain; parts and updates are quantised as the data is.
  for (const TensorType& operand : operands)
    if (operand.dtype == operands[0].dtype && operand.quantisation != quantisation)
      throw UserError("expected operands that are quantised alike");
  result.quantisation = quantisation;
  return result;
}

/// Types of ops that compute: they do so on the real numbers.
TensorType infer_computed(Op op, std::span<const TensorType> operands, const Attributes& attributes,
                          const QuantisationRef& quantisation, SymbolTable& symbols) {
  std::vector<TensorType> real;
  for (const TensorType& operand : operands) real.push_back(real_type(operand));
  TensorType result = info(op).infer(real, attributes, symbols);
  if (is_dynamic(attributes)) {
    if (stands_for_reals(operands[0]) || !stands_for_reals(operands[1]) || quantisation)
      throw UserError("a dynamic {} has a real operand and result, and a quantised weight",
                      name(op));
  }
  if (!quantisation) return result;
  if (result.dtype != DType::f32)
    throw UserError("expected an f32 result to quantise, found {}", to_string(result));
  expect_quantisation(*quantisation, result.shape);
  return {quantisation->dtype, std::move(result.shape), quantisation};
}

}  // namespace

TensorType infer(Op op, std::span<const TensorType> operands, const Attributes& attributes,
                 SymbolTable& symbols) {
  const OpInfo& row = info(op);
  if (has_own_rule(op)) return row.infer(operands, attributes, symbols);
  const QuantisationRef* own = quantisation_of(attributes);
  const bool quantises = own != nullptr && *own;
  if (!quantises && !is_dynamic(attributes) && std::ranges::none_of(operands, stands_for_reals))
    return row.infer(operands, attributes, symbols);
  if (row.op_class == OpClass::movement && !quantises)
    return infer_kept(op, operands, attributes, symbols);
  if (row.op_class == OpClass::movement || own == nullptr)
    throw UserError("{} takes and gives no quantised tensors", row.name);
  return infer_computed(op, operands, attributes, *own, symbols);
}

}  // namespace layline

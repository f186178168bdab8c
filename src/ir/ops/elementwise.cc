// The types of elementwise ops; their elements are in binary.cc and unary.cc.
#include "base/error.h"
#include "ir/ops/checks.h"

namespace layline::rules {
namespace {

Shape broadcast_shape(const TensorType& a, const TensorType& b) {
  if (auto shape = broadcast(a.shape, b.shape)) return *std::move(shape);
  throw UserError("expected shapes that broadcast, found {} and {}", to_string(a), to_string(b));
}

void expect_bool(const TensorType& x, std::string_view operand) {
  if (x.dtype != DType::boolean)
    throw UserError("expected a bool {}, found {}", operand, to_string(x));
}

}  // namespace

TensorType infer_any_binary(Types operands, const Attributes&, SymbolTable&) {
  expect_same_dtype(operands);
  return result_type(operands[0].dtype, broadcast_shape(operands[0], operands[1]));
}

TensorType infer_numeric_binary(Types operands, const Attributes& attributes,
                                SymbolTable& symbols) {
  expect_numeric(operands[0]);
  return infer_any_binary(operands, attributes, symbols);
}

TensorType infer_bounded_binary(Types operands, const Attributes& attributes,
                                SymbolTable& symbols) {
  expect_bounds(std::get<BinaryAttrs>(attributes).bounds);
  return infer_numeric_binary(operands, attributes, symbols);
}

TensorType infer_bounded_float_binary(Types operands, const Attributes& attributes,
                                      SymbolTable& symbols) {
  expect_float(operands[0]);
  return infer_bounded_binary(operands, attributes, symbols);
}

TensorType infer_integer_binary(Types operands, const Attributes& attributes,
                                SymbolTable& symbols) {
  if (!is_integer(operands[0].dtype))
    throw UserError("expected integer operands, found {}", to_string(operands[0]));
  return infer_any_binary(operands, attributes, symbols);
}

TensorType infer_float_binary(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  expect_float(operands[0]);
  return infer_any_binary(operands, attributes, symbols);
}

TensorType infer_comparison(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  return {DType::boolean, infer_any_binary(operands, attributes, symbols).shape};
}

TensorType infer_logical_binary(Types operands, const Attributes& attributes,
                                SymbolTable& symbols) {
  for (const TensorType& operand : operands) expect_bool(operand, "operand");
  return infer_any_binary(operands, attributes, symbols);
}

TensorType infer_prelu(Types operands, const Attributes&, SymbolTable&) {
  expect_float(operands[0]);
  expect_same_dtype(operands);
  if (broadcast(operands[0].shape, operands[1].shape) != operands[0].shape)
    throw UserError("expected a slope that broadcasts to {}, found {}", to_string(operands[0]),
                    to_string(operands[1]));
  return operands[0];
}

TensorType infer_where(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  expect_bool(operands[0], "condition");
  const TensorType choice = infer_any_binary(operands.subspan(1), attributes, symbols);
  return result_type(choice.dtype, broadcast_shape(operands[0], choice));
}

TensorType infer_numeric_unary(Types operands, const Attributes&, SymbolTable&) {
  expect_numeric(operands[0]);
  return operands[0];
}

TensorType infer_float_unary(Types operands, const Attributes&, SymbolTable&) {
  expect_float(operands[0]);
  return operands[0];
}

TensorType infer_logical_not(Types operands, const Attributes&, SymbolTable&) {
  expect_bool(operands[0], "operand");
  return operands[0];
}

TensorType infer_clamp(Types operands, const Attributes& attributes, SymbolTable& symbols) {
  expect_bounds(std::get<ClampAttrs>(attributes).bounds);
  return infer_numeric_unary(operands, attributes, symbols);
}

TensorType infer_convert(Types operands, const Attributes& attributes, SymbolTable&) {
  return result_type(std::get<ConvertAttrs>(attributes).to, operands[0].shape);
}

}  // namespace layline::rules

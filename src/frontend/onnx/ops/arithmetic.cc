// Elementwise ops on two or more operands.
#include "frontend/ops/arithmetic.h"

#include <algorithm>

#include "frontend/onnx/ops/rules.h"
#include "frontend/onnx/ops/unary.h"
#include "frontend/ops/functions.h"
#include "frontend/ops/shapes.h"

namespace layline::onnx {
namespace {

struct Operands {
  Value *a, *b;
};

/// The two operands. Before opset 7, an attribute says whether the second one is broadcast, and at
/// which axis of the first it begins.
Operands operands(const Call& call) {
  Value* a = call.input(0);
  Value* b = call.input(1);
  const int64_t rank = a->type().rank();
  if (call.opset() >= 7 || !call.has("axis") || !call.flag("broadcast", false)) return {a, b};
  const int64_t axis = call.axis(call.integer("axis"), std::max<int64_t>(rank, 1));
  Shape shape = b->shape();
  while (axis + std::ssize(shape) < rank) shape.push_back(1);
  return {a, call.view(b, shape)};
}

Value* binary(const Call& call, Op op) {
  const auto [a, b] = operands(call);
  return call.add(op, {a, b});
}

template <Op op>
void arithmetic(Call& call) {
  call.result(binary(call, op));
}

void div(Call& call) {
  const auto [a, b] = operands(call);
  call.result(is_float(a->dtype()) ? call.add(Op::div, {a, b})
                                   : ops::divide_towards_zero(call, a, b));
}

void mod(Call& call) {
  call.result(binary(call, call.flag("fmod", false) ? Op::fmod : Op::remainder));
}

/// The result has the type of the base; the exponent may be of another.
void pow(Call& call) {
  const auto [base, exponent] = operands(call);
  const DType dtype = base->dtype();
  if (const Tensor* known = call.constant_value(exponent);
      known && known->count() == 1 && exponent->shape().size() <= base->shape().size() &&
      (is_float(dtype) || (!is_float(exponent->dtype()) && known->get_int(0) >= 0)))
    return call.result(ops::power(call, base, known->get(0)));
  if (is_float(dtype) || !is_float(exponent->dtype()))
    return call.result(call.add(Op::pow, {base, call.convert(exponent, dtype)}));
  Value* power = call.add(Op::pow, {call.convert(base, exponent->dtype()), exponent});
  call.result(call.convert(power, dtype));
}

/// One op between all operands.
Value* chain(const Call& call, Op op) {
  const std::vector<Value*> all = call.inputs();
  Value* total = all[0];
  for (size_t i = 1; i < all.size(); ++i) total = call.add(op, {total, all[i]});
  return total;
}

template <Op op>
void of_all(Call& call) {
  call.result(chain(call, op));
}

void mean(Call& call) {
  call.result(ops::times(call, chain(call, Op::add), 1 / static_cast<double>(call.input_count())));
}

void shift(Call& call) {
  const std::string_view direction = call.string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") call.fail("shifts `{}`", direction);
  call.result(binary(call, direction == "LEFT" ? Op::left_shift : Op::right_shift));
}

void where(Call& call) {
  call.result(call.add(Op::where, {call.input(0), call.input(1), call.input(2)}));
}

void is_infinite(Call& call) {
  Value* x = call.input(0);
  const bool positive = call.flag("detect_positive", true);
  const bool negative = call.flag("detect_negative", true);
  if (positive && negative) return call.result(ops::is_infinite(call, x));
  if (!positive && !negative)
    return call.result(call.expand(call.scalar(DType::boolean, 0), x->shape()));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  call.result(ops::is_special(call, x, positive ? kInfinity : -kInfinity));
}

constexpr OpRule kRules[] = {
    {"Add", arithmetic<Op::add>},
    {"Sub", arithmetic<Op::sub>},
    {"Mul", arithmetic<Op::mul>},
    {"Div", div},
    {"Mod", mod},
    {"Pow", pow},
    {"Max", of_all<Op::maximum>},
    {"Min", of_all<Op::minimum>},
    {"Sum", of_all<Op::add>},
    {"Mean", mean},
    {"Equal", arithmetic<Op::equal>},
    {"Less", arithmetic<Op::less>},
    {"LessOrEqual", arithmetic<Op::less_equal>},
    {"Greater", arithmetic<Op::greater>},
    {"GreaterOrEqual", arithmetic<Op::greater_equal>},
    {"And", arithmetic<Op::logical_and>},
    {"Or", arithmetic<Op::logical_or>},
    {"Xor", arithmetic<Op::logical_xor>},
    {"Not", unary<Op::logical_not>},
    {"BitwiseAnd", arithmetic<Op::bitwise_and>},
    {"BitwiseOr", arithmetic<Op::bitwise_or>},
    {"BitwiseXor", arithmetic<Op::bitwise_xor>},
    {"BitwiseNot", of_one<ops::bitwise_not>},
    {"BitShift", shift},
    {"Where", where},
    {"Abs", unary<Op::abs>},
    {"Neg", unary<Op::neg>},
    {"Exp", unary<Op::exp>},
    {"Log", unary<Op::log>},
    {"Sqrt", unary<Op::sqrt>},
    {"Reciprocal", unary<Op::reciprocal>},
    {"Floor", unary<Op::floor>},
    {"Ceil", unary<Op::ceil>},
    {"Round", unary<Op::round>},
    {"Sign", unary<Op::sign>},
    {"Sin", unary<Op::sin>},
    {"Cos", unary<Op::cos>},
    {"Tan", of_one<ops::tan>},
    {"Asin", unary<Op::asin>},
    {"Acos", unary<Op::acos>},
    {"Atan", unary<Op::atan>},
    {"Sinh", unary<Op::sinh>},
    {"Cosh", unary<Op::cosh>},
    {"Asinh", unary<Op::asinh>},
    {"Acosh", unary<Op::acosh>},
    {"Atanh", unary<Op::atanh>},
    {"Erf", unary<Op::erf>},
    {"IsNaN", of_one<ops::is_nan>},
    {"IsInf", is_infinite},
};

}  // namespace

std::span<const OpRule> arithmetic_rules() { return kRules; }

}  // namespace layline::onnx

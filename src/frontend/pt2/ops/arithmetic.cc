// Elementwise ops on two or three operands, tensors or numbers.
#include "frontend/ops/arithmetic.h"

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

Value* binary(Call& call, Op op, std::string_view left = "self", std::string_view right = "other") {
  return call.add(op, {as_recorded(call, left), as_recorded(call, right)});
}

template <Op op>
void arithmetic(Call& call) {
  call.result(binary(call, op));
}

/// left + alpha * right, or left - alpha * right.
void scaled(Call& call, Op op, std::string_view left, std::string_view right) {
  Value* a = as_recorded(call, left);
  Value* b = as_recorded(call, right);
  call.result(call.add(op, {a, ops::times(call, b, call.number("alpha", 1))}));
}

void add(Call& call) {
  if (call.recorded().dtype == DType::boolean) return call.result(binary(call, Op::logical_or));
  scaled(call, Op::add, "self", "other");
}

void sub(Call& call) { scaled(call, Op::sub, "self", "other"); }

/// other - alpha * self.
void rsub(Call& call) { scaled(call, Op::sub, "other", "self"); }

void mul(Call& call) {
  const bool logical = call.recorded().dtype == DType::boolean;
  call.result(binary(call, logical ? Op::logical_and : Op::mul));
}

void div_mode(Call& call) {
  const std::string_view mode = call.string("rounding_mode", "");
  if (mode.empty()) return call.result(binary(call, Op::div));
  if (mode == "floor") return call.result(binary(call, Op::floor_div));
  Value* a = as_recorded(call, "self");
  Value* b = as_recorded(call, "other");
  call.result(ops::divide_towards_zero(call, a, b));
}

void pow_number(Call& call) {
  call.result(ops::power(call, self_as_recorded(call), call.number("exponent", 1)));
}

void pow(Call& call) { call.result(binary(call, Op::pow, "self", "exponent")); }

template <Op op>
void comparison(Call& call) {
  const Operand a = operand(call, "self"), b = operand(call, "other");
  const DType dtype = promote({a, b});
  call.result(call.add(op, {as(call, a, dtype), as(call, b, dtype)}));
}

template <Op op>
void logical(Call& call) {
  call.result(call.add(op, {as(call, operand(call, "self"), DType::boolean),
                            as(call, operand(call, "other"), DType::boolean)}));
}

void where(Call& call) {
  Value* condition = call.convert(call.tensor("condition"), DType::boolean);
  call.result(
      call.add(Op::where, {condition, as_recorded(call, "self"), as_recorded(call, "other")}));
}

void masked_fill(Call& call) {
  Value* mask = call.convert(call.tensor("mask"), DType::boolean);
  call.result(call.add(Op::where, {mask, as_recorded(call, "value"), self_as_recorded(call)}));
}

template <bool upper>
void triangle(Call& call) {
  call.result(ops::triangle(call, call.tensor("self"), upper, call.integer("diagonal", 0)));
}

/// self + value * tensor1 * tensor2, or self + value * tensor1 / tensor2.
template <Op op>
void add_combined(Call& call) {
  Value* combined = binary(call, op, "tensor1", "tensor2");
  call.result(call.add(
      Op::add, {self_as_recorded(call), ops::times(call, combined, call.number("value", 1))}));
}

void lerp(Call& call) {
  Value* start = call.tensor("self");
  call.result(ops::lerp(call, start, call.tensor("end"), call.number("weight", 0)));
}

void lerp_tensor(Call& call) {
  Value* start = call.tensor("self");
  call.result(ops::lerp(call, start, call.tensor("end"), call.tensor("weight")));
}

constexpr OpRule kRules[] = {
    {"aten.add.Tensor", add},
    {"aten.add.Scalar", add},
    {"aten.sub.Tensor", sub},
    {"aten.sub.Scalar", sub},
    {"aten.rsub.Tensor", rsub},
    {"aten.rsub.Scalar", rsub},
    {"aten.mul.Tensor", mul},
    {"aten.mul.Scalar", mul},
    {"aten.div.Tensor", arithmetic<Op::div>},
    {"aten.div.Scalar", arithmetic<Op::div>},
    {"aten.div.Tensor_mode", div_mode},
    {"aten.div.Scalar_mode", div_mode},
    {"aten.floor_divide.default", arithmetic<Op::floor_div>},
    {"aten.floor_divide.Scalar", arithmetic<Op::floor_div>},
    {"aten.floor_divide.Tensor", arithmetic<Op::floor_div>},  // only as floor_divide_
    {"aten.remainder.Tensor", arithmetic<Op::remainder>},
    {"aten.remainder.Scalar", arithmetic<Op::remainder>},
    {"aten.fmod.Tensor", arithmetic<Op::fmod>},
    {"aten.fmod.Scalar", arithmetic<Op::fmod>},
    {"aten.addcmul.default", add_combined<Op::mul>},
    {"aten.addcdiv.default", add_combined<Op::div>},
    {"aten.lerp.Scalar", lerp},
    {"aten.lerp.Tensor", lerp_tensor},
    {"aten.minimum.default", arithmetic<Op::minimum>},
    {"aten.maximum.default", arithmetic<Op::maximum>},
    {"aten.max.other", arithmetic<Op::maximum>},
    {"aten.min.other", arithmetic<Op::minimum>},
    {"aten.pow.Tensor_Scalar", pow_number},
    {"aten.pow.Tensor_Tensor", pow},
    {"aten.pow.Scalar", pow},
    {"aten.float_power.Tensor_Scalar", pow_number},
    {"aten.float_power.Tensor_Tensor", pow},
    {"aten.float_power.Scalar", pow},
    {"aten.eq.Tensor", comparison<Op::equal>},
    {"aten.eq.Scalar", comparison<Op::equal>},
    {"aten.ne.Tensor", comparison<Op::not_equal>},
    {"aten.ne.Scalar", comparison<Op::not_equal>},
    {"aten.lt.Tensor", comparison<Op::less>},
    {"aten.lt.Scalar", comparison<Op::less>},
    {"aten.le.Tensor", comparison<Op::less_equal>},
    {"aten.le.Scalar", comparison<Op::less_equal>},
    {"aten.gt.Tensor", comparison<Op::greater>},
    {"aten.gt.Scalar", comparison<Op::greater>},
    {"aten.ge.Tensor", comparison<Op::greater_equal>},
    {"aten.ge.Scalar", comparison<Op::greater_equal>},
    {"aten.logical_and.default", logical<Op::logical_and>},
    {"aten.logical_or.default", logical<Op::logical_or>},
    {"aten.logical_xor.default", logical<Op::logical_xor>},
    {"aten.where.self", where},
    {"aten.where.ScalarSelf", where},
    {"aten.where.ScalarOther", where},
    {"aten.where.Scalar", where},
    {"aten.triu.default", triangle<true>},
    {"aten.tril.default", triangle<false>},
    {"aten.masked_fill.Scalar", masked_fill},
    {"aten.masked_fill.Tensor", masked_fill},
};

}  // namespace

std::span<const OpRule> arithmetic_rules() { return kRules; }

}  // namespace layline::pt2

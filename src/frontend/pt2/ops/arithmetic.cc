// Elementwise ops on two or three operands, tensors or numbers.
#include "base/checked.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

/// op(self, other) in the dtype that the model records for the result.
Value* binary(Call& call, Op op, std::string_view left = "self", std::string_view right = "other") {
  const DType dtype = call.recorded().dtype;
  return call.add(op,
                  {as(call, operand(call, left), dtype), as(call, operand(call, right), dtype)});
}

template <Op op>
void arithmetic(Call& call) {
  call.result(binary(call, op));
}

Value* times(const Call& call, Value* x, double factor) {
  return factor == 1 ? x : call.add(Op::mul, {x, call.scalar(x->dtype(), factor)});
}

/// left + alpha * right, or left - alpha * right.
void scaled(Call& call, Op op, std::string_view left, std::string_view right) {
  const DType dtype = call.recorded().dtype;
  Value* a = as(call, operand(call, left), dtype);
  Value* b = as(call, operand(call, right), dtype);
  call.result(call.add(op, {a, times(call, b, call.number("alpha", 1))}));
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
  const DType dtype = call.recorded().dtype;
  if (is_float(dtype)) return call.result(call.add(Op::trunc, {binary(call, Op::div)}));
  // Towards zero: what is left has the sign of the dividend.
  Value* a = as(call, operand(call, "self"), dtype);
  Value* b = as(call, operand(call, "other"), dtype);
  Value* divisible = call.add(Op::sub, {a, call.add(Op::fmod, {a, b})});
  call.result(call.add(Op::floor_div, {divisible, b}));
}

void pow_number(Call& call) {
  Value* x = call.convert(call.tensor("self"), call.recorded().dtype);
  const double exponent = call.number("exponent", 1);
  if (exponent == 1) return call.result(x);
  if (exponent == 2) return call.result(call.add(Op::square, {x}));
  if (is_float(x->dtype())) {
    if (exponent == 0.5) return call.result(call.add(Op::sqrt, {x}));
    if (exponent == -0.5) return call.result(call.add(Op::rsqrt, {x}));
    if (exponent == -1) return call.result(call.add(Op::reciprocal, {x}));
    if (exponent == 3) return call.result(call.add(Op::mul, {call.add(Op::square, {x}), x}));
  }
  call.result(call.add(Op::pow, {x, call.scalar(x->dtype(), exponent)}));
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
  const DType dtype = call.recorded().dtype;
  Value* condition = call.convert(call.tensor("condition"), DType::boolean);
  call.result(call.add(Op::where, {condition, as(call, operand(call, "self"), dtype),
                                   as(call, operand(call, "other"), dtype)}));
}

void masked_fill(Call& call) {
  const DType dtype = call.recorded().dtype;
  Value* mask = call.convert(call.tensor("mask"), DType::boolean);
  call.result(call.add(Op::where, {mask, as(call, operand(call, "value"), dtype),
                                   call.convert(call.tensor("self"), dtype)}));
}

/// Zeros above the diagonal, or below it; diagonal d runs from [0, d], or from [-d, 0].
template <bool upper>
void triangle(Call& call) {
  Value* x = call.tensor("self");
  const size_t rank = x->shape().size();
  if (rank < 2) call.fail("takes no {}", to_string(x->type()));
  const int64_t diagonal = call.integer("diagonal", 0);
  const Shape matrix(x->shape().end() - 2, x->shape().end());
  Value* mask = call.front_of_constant(matrix, [&](const Shape& whole) {
    Tensor keep({DType::boolean, whole});
    const int64_t rows = whole[0].value(), columns = whole[1].value();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        keep.set_int(i * columns + j, upper ? j - i >= diagonal : j - i <= diagonal);
    return Constant::of(keep);
  });
  call.result(call.add(Op::where, {mask, x, call.scalar(x->dtype(), 0)}));
}

/// self + value * tensor1 * tensor2, or self + value * tensor1 / tensor2.
template <Op op>
void add_combined(Call& call) {
  const DType dtype = call.recorded().dtype;
  Value* combined = binary(call, op, "tensor1", "tensor2");
  call.result(call.add(Op::add, {call.convert(call.tensor("self"), dtype),
                                 times(call, combined, call.number("value", 1))}));
}

/// From self towards end; from the nearer of the two, so that each is met exactly.
void lerp(Call& call) {
  Value* start = call.tensor("self");
  Value* end = call.tensor("end");
  Value* way = call.add(Op::sub, {end, start});
  const double weight = call.number("weight", 0);
  call.result(weight < 0.5 ? call.add(Op::add, {start, times(call, way, weight)})
                           : call.add(Op::sub, {end, times(call, way, 1 - weight)}));
}

void lerp_tensor(Call& call) {
  Value* start = call.tensor("self");
  Value* way = call.add(Op::sub, {call.tensor("end"), start});
  call.result(call.add(Op::add, {start, call.add(Op::mul, {way, call.tensor("weight")})}));
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
    {"aten.true_divide.Tensor", arithmetic<Op::div>},
    {"aten.floor_divide.default", arithmetic<Op::floor_div>},
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

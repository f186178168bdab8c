// Functions of one or two tensors that are written out in others.
#include "frontend/ops/functions.h"

#include <limits>
#include <numbers>

#include "frontend/ops/arithmetic.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/ops/unary.h"

namespace layline::pt2 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Pair {
  Value *a, *b;
};

Pair pair(Call& call) { return {as_recorded(call, "self"), as_recorded(call, "other")}; }

template <Value* (*function)(const Builder&, Value*, Value*)>
void of_two(Call& call) {
  const auto [a, b] = pair(call);
  call.result(function(call, a, b));
}

void logit(Call& call) {
  const auto eps = call.has("eps") ? std::optional(call.number("eps", 0)) : std::nullopt;
  call.result(ops::logit(call, self_as_recorded(call), eps));
}

void is_special(Call& call, double what) {
  call.result(ops::is_special(call, call.tensor("self"), what));
}

void nan_to_num(Call& call) {
  constexpr double kLargestBfloat16 = 0x1.fep127;
  const bool is_bfloat16 = call.dtype_in_model("self") == DType::bf16;
  auto given = [&](std::string_view argument, double sign) -> std::optional<double> {
    if (call.has(argument)) return call.number(argument, 0);
    return is_bfloat16 ? std::optional(sign * kLargestBfloat16) : std::nullopt;
  };
  call.result(ops::without_special_numbers(
      call, call.tensor("self"), {call.number("nan", 0), given("posinf", 1), given("neginf", -1)}));
}

void round_decimals(Call& call) {
  call.result(ops::round_to_digits(call, self_as_recorded(call), call.integer("decimals", 0)));
}

void times_number(Call& call, double factor) {
  call.result(ops::times(call, self_as_recorded(call), factor));
}

void positive(Call& call) { call.result(call.tensor("self")); }

/// The slope is halfway between the two of training, as torch evaluates it.
void rrelu(Call& call) {
  if (call.flag("training", false))
    call.fail("is in training mode; call model.eval() before the export");
  const double slope = (call.number("lower", 1.0 / 8) + call.number("upper", 1.0 / 3)) / 2;
  call.result(call.add(Op::leaky_relu, {call.tensor("self")}, AlphaAttrs{slope}));
}

template <Op op>
void binary(Call& call) {
  const auto [a, b] = pair(call);
  call.result(call.add(op, {a, b}));
}

void extremum_of_numbers(Call& call, Op op) {
  const auto [a, b] = pair(call);
  call.result(ops::extremum_of_numbers(call, op, a, b));
}

void logaddexp(Call& call, double unit) {
  const auto [a, b] = pair(call);
  call.result(ops::logaddexp(call, a, b, unit));
}

void heaviside(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::heaviside(call, x, call.tensor("values")));
}

void isclose(Call& call) {
  const Operand left = operand(call, "self"), right = operand(call, "other");
  const DType dtype = promote({left, right});
  Value* a = as(call, left, dtype);
  Value* b = as(call, right, dtype);
  if (call.flag("equal_nan", false)) call.fail("equal_nan=True is not supported");
  call.result(ops::is_close(call, a, b, call.number("rtol", 1e-5), call.number("atol", 1e-8)));
}

/// Booleans take the logical op.
template <Op integers, Op booleans>
void bitwise(Call& call) {
  const auto [a, b] = pair(call);
  call.result(call.add(a->dtype() == DType::boolean ? booleans : integers, {a, b}));
}

constexpr OpRule kRules[] = {
    {"aten.asin.default", unary<Op::asin>},
    {"aten.acos.default", unary<Op::acos>},
    {"aten.sinh.default", unary<Op::sinh>},
    {"aten.cosh.default", unary<Op::cosh>},
    {"aten.asinh.default", unary<Op::asinh>},
    {"aten.acosh.default", unary<Op::acosh>},
    {"aten.atanh.default", unary<Op::atanh>},
    {"aten.sgn.default", unary<Op::sign>},
    {"aten.deg2rad.default", [](Call& call) { times_number(call, std::numbers::pi / 180); }},
    {"aten.rad2deg.default", [](Call& call) { times_number(call, 180 / std::numbers::pi); }},
    {"aten.frac.default", of_one<ops::frac>},
    {"aten.erfc.default", of_one<ops::erfc>},
    {"aten.erfinv.default", of_one<ops::erfinv>},
    {"aten.sinc.default", of_one<ops::sinc>},
    {"aten.logit.default", logit},
    {"aten.isfinite.default", of_one_as_given<ops::is_finite>},
    {"aten.isposinf.default", [](Call& call) { is_special(call, kInfinity); }},
    {"aten.isneginf.default", [](Call& call) { is_special(call, -kInfinity); }},
    {"aten.signbit.default", of_one_as_given<ops::signbit>},
    {"aten.nan_to_num.default", nan_to_num},
    {"aten.round.decimals", round_decimals},
    {"aten.special_round.default", round_decimals},
    {"aten.positive.default", positive},
    {"aten.rrelu.default", rrelu},
    {"aten.atan2.default", binary<Op::atan2>},
    {"aten.fmax.default", [](Call& call) { extremum_of_numbers(call, Op::maximum); }},
    {"aten.fmin.default", [](Call& call) { extremum_of_numbers(call, Op::minimum); }},
    {"aten.hypot.default", of_two<ops::hypot>},
    {"aten.logaddexp.default", [](Call& call) { logaddexp(call, 1); }},
    {"aten.logaddexp2.default", [](Call& call) { logaddexp(call, std::numbers::ln2); }},
    {"aten.xlogy.Tensor", of_two<ops::xlogy>},
    {"aten.xlogy.Scalar_Self", of_two<ops::xlogy>},
    {"aten.xlogy.Scalar_Other", of_two<ops::xlogy>},
    {"aten.special_xlogy.default", of_two<ops::xlogy>},
    {"aten.special_xlogy.self_scalar", of_two<ops::xlogy>},
    {"aten.special_xlogy.other_scalar", of_two<ops::xlogy>},
    {"aten.ldexp.Tensor", of_two<ops::ldexp>},
    {"aten.copysign.Tensor", of_two<ops::copysign>},
    {"aten.copysign.Scalar", of_two<ops::copysign>},
    {"aten.heaviside.default", heaviside},
    {"aten.isclose.default", isclose},
    {"aten.bitwise_not.default", of_one_as_given<ops::bitwise_not>},
    {"aten.bitwise_and.Tensor", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.bitwise_and.Scalar", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.__and__.Tensor", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.__and__.Scalar", bitwise<Op::bitwise_and, Op::logical_and>},
    {"aten.bitwise_or.Tensor", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.bitwise_or.Scalar", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.__or__.Tensor", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.__or__.Scalar", bitwise<Op::bitwise_or, Op::logical_or>},
    {"aten.bitwise_xor.Tensor", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.bitwise_xor.Scalar", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.__xor__.Tensor", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.__xor__.Scalar", bitwise<Op::bitwise_xor, Op::logical_xor>},
    {"aten.bitwise_left_shift.Tensor", binary<Op::left_shift>},
    {"aten.bitwise_left_shift.Tensor_Scalar", binary<Op::left_shift>},
    {"aten.__lshift__.Scalar", binary<Op::left_shift>},
    {"aten.__lshift__.Tensor", binary<Op::left_shift>},
    {"aten.bitwise_right_shift.Tensor", binary<Op::right_shift>},
    {"aten.bitwise_right_shift.Tensor_Scalar", binary<Op::right_shift>},
    {"aten.__rshift__.Scalar", binary<Op::right_shift>},
    {"aten.__rshift__.Tensor", binary<Op::right_shift>},
};

}  // namespace

std::span<const OpRule> function_rules() { return kRules; }

}  // namespace layline::pt2

// Activations, and other functions of one tensor.
#include "frontend/ops/activation.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/functions.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/ops/unary.h"

namespace layline::pt2 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void relu6(Call& call) { call.result(call.clamp(call.tensor("self"), 0, 6)); }

void hardtanh(Call& call) {
  call.result(
      call.clamp(call.tensor("self"), call.number("min_val", -1), call.number("max_val", 1)));
}

void clamp(Call& call) {
  if (call.computed("min") || call.computed("max")) {
    Value* x = self_as_recorded(call);
    Value* min = call.has("min") ? as_recorded(call, "min") : nullptr;
    return call.result(
        ops::clamp(call, x, min, call.has("max") ? as_recorded(call, "max") : nullptr));
  }
  call.result(ops::clamp(call, self_as_recorded(call), call.number("min", -kInfinity),
                         call.number("max", kInfinity)));
}

void clamp_tensor(Call& call) {
  Value* x = self_as_recorded(call);
  Value* min = call.optional_tensor("min");
  call.result(ops::clamp(call, x, min, call.optional_tensor("max")));
}

void softplus(Call& call) {
  call.result(ops::softplus(call, call.tensor("self"), call.number("beta", 1),
                            call.number("threshold", 20)));
}

void elu(Call& call) {
  if (call.number("input_scale", 1) != 1) call.fail("input_scale is not supported");
  call.result(
      ops::elu(call, call.tensor("self"), call.number("alpha", 1), call.number("scale", 1)));
}

void celu(Call& call) {
  call.result(ops::celu(call, call.tensor("self"), call.number("alpha", 1)));
}

void leaky_relu(Call& call) {
  call.result(call.add(Op::leaky_relu, {call.tensor("self")},
                       AlphaAttrs{call.number("negative_slope", 0.01)}));
}

void prelu(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::prelu(call, x, call.tensor("weight")));
}

void gelu(Call& call) {
  call.result(call.add(Op::gelu, {call.tensor("self")},
                       GeluAttrs{call.string("approximate", "none") == "tanh"}));
}

void glu(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::glu(call, x, call.axis("dim", -1, x->type().rank())));
}

void hardshrink(Call& call) {
  call.result(ops::hardshrink(call, call.tensor("self"), call.number("lambd", 0.5)));
}

void softshrink(Call& call) {
  call.result(ops::softshrink(call, call.tensor("self"), call.number("lambd", 0.5)));
}

void threshold(Call& call) {
  call.result(ops::threshold(call, call.tensor("self"), call.number("threshold", 0),
                             call.number("value", 0)));
}

void scaled_log(Call& call, double factor) {
  call.result(ops::times(call, call.add(Op::log, {self_as_recorded(call)}), factor));
}

void softmax(Call& call, Op op) {
  Value* x = self_as_recorded(call);
  const int64_t rank = std::max<int64_t>(x->type().rank(), 1);
  call.result(ops::softmax(call, op, x, call.axis("dim", -1, rank)));
}

void logical_not(Call& call) {
  call.result(call.add(Op::logical_not, {call.convert(call.tensor("self"), DType::boolean)}));
}

constexpr OpRule kRules[] = {
    {"aten.relu.default", of_one_as_given<ops::relu>},
    {"aten.relu6.default", relu6},
    {"aten.hardtanh.default", hardtanh},
    {"aten.clamp.default", clamp},
    {"aten.clamp.Tensor", clamp_tensor},
    {"aten.clamp_min.default", clamp},
    {"aten.clamp_min.Tensor", clamp_tensor},
    {"aten.clamp_max.Tensor", clamp_tensor},
    {"aten.clamp_max.default", clamp},
    {"aten.hardswish.default", unary<Op::hardswish>},
    {"aten.hardsigmoid.default", of_one_as_given<ops::hardsigmoid>},
    {"aten.silu.default", of_one_as_given<ops::silu>},
    {"aten.mish.default", of_one_as_given<ops::mish>},
    {"aten.softplus.default", softplus},
    {"aten.log_sigmoid.default", of_one_as_given<ops::log_sigmoid>},
    {"aten.elu.default", elu},
    {"aten.celu.default", celu},
    {"aten.selu.default", of_one_as_given<ops::selu>},
    {"aten.leaky_relu.default", leaky_relu},
    {"aten.prelu.default", prelu},
    {"aten._prelu_kernel.default", prelu},
    {"aten.gelu.default", gelu},
    {"aten.glu.default", glu},
    {"aten.hardshrink.default", hardshrink},
    {"aten.softshrink.default", softshrink},
    {"aten.threshold.default", threshold},
    {"aten.softmax.int", [](Call& call) { softmax(call, Op::softmax); }},
    {"aten.special_softmax.default", [](Call& call) { softmax(call, Op::softmax); }},
    {"aten._softmax.default", [](Call& call) { softmax(call, Op::softmax); }},
    {"aten.log_softmax.int", [](Call& call) { softmax(call, Op::log_softmax); }},
    {"aten.special_log_softmax.default", [](Call& call) { softmax(call, Op::log_softmax); }},
    {"aten._log_softmax.default", [](Call& call) { softmax(call, Op::log_softmax); }},
    {"aten.abs.default", unary<Op::abs>},
    {"aten.neg.default", unary<Op::neg>},
    {"aten.exp.default", unary<Op::exp>},
    {"aten.exp2.default", of_one<ops::exp2>},
    {"aten.expm1.default", unary<Op::expm1>},
    {"aten.log.default", unary<Op::log>},
    {"aten.log1p.default", unary<Op::log1p>},
    {"aten.log2.default", [](Call& call) { scaled_log(call, std::numbers::log2e); }},
    {"aten.log10.default", [](Call& call) { scaled_log(call, std::numbers::log10e); }},
    {"aten.sqrt.default", unary<Op::sqrt>},
    {"aten.rsqrt.default", unary<Op::rsqrt>},
    {"aten.reciprocal.default", unary<Op::reciprocal>},
    {"aten.sin.default", unary<Op::sin>},
    {"aten.cos.default", unary<Op::cos>},
    {"aten.tan.default", of_one<ops::tan>},
    {"aten.atan.default", unary<Op::atan>},
    {"aten.tanh.default", unary<Op::tanh>},
    {"aten.sigmoid.default", unary<Op::sigmoid>},
    {"aten.erf.default", unary<Op::erf>},
    {"aten.floor.default", unary<Op::floor>},
    {"aten.ceil.default", unary<Op::ceil>},
    {"aten.round.default", unary<Op::round>},
    {"aten.trunc.default", unary<Op::trunc>},
    {"aten.sign.default", unary<Op::sign>},
    {"aten.square.default", unary<Op::square>},
    {"aten.isnan.default", of_one_as_given<ops::is_nan>},
    {"aten.isinf.default", of_one_as_given<ops::is_infinite>},
    {"aten.logical_not.default", logical_not},
};

}  // namespace

std::span<const OpRule> activation_rules() { return kRules; }

}  // namespace layline::pt2

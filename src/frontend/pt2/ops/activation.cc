// Activations, and other functions of one tensor.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The operand, converted where the op computes in another dtype than it is given (sqrt of ints).
Value* self_as_recorded(Call& call) {
  return call.convert(call.tensor("self"), call.recorded().dtype);
}

template <Op op>
void unary(Call& call) {
  call.result(call.add(op, {self_as_recorded(call)}));
}

void relu(Call& call) { call.result(call.clamp(call.tensor("self"), 0, kInfinity)); }

void relu6(Call& call) { call.result(call.clamp(call.tensor("self"), 0, 6)); }

void hardtanh(Call& call) {
  call.result(
      call.clamp(call.tensor("self"), call.number("min_val", -1), call.number("max_val", 1)));
}

/// torch casts bounds to the dtype of integers: -3 is 253 for bytes.
double held_by(DType dtype, double bound) {
  if (is_float(dtype) || std::isinf(bound)) return bound;
  Tensor held({dtype, {}});
  held.set_int(0, static_cast<int64_t>(bound));
  return static_cast<double>(held.get_int(0));
}

void clamp(Call& call) {
  const DType dtype = call.recorded().dtype;
  const double max = held_by(dtype, call.number("max", kInfinity));
  // Where min exceeds max, torch gives max everywhere.
  const double min = std::min(held_by(dtype, call.number("min", -kInfinity)), max);
  call.result(call.clamp(self_as_recorded(call), min, max));
}

void clamp_tensor(Call& call) {
  Value* x = self_as_recorded(call);
  if (Value* min = call.optional_tensor("min"))
    x = call.add(Op::maximum, {x, call.convert(min, x->dtype())});
  if (Value* max = call.optional_tensor("max"))
    x = call.add(Op::minimum, {x, call.convert(max, x->dtype())});
  call.result(x);
}

Value* hardsigmoid(const Builder& build, Value* x) {
  Value* shifted = build.add(Op::add, {x, build.scalar(x->dtype(), 3)});
  return build.add(Op::mul, {build.clamp(shifted, 0, 6), build.scalar(x->dtype(), 1.0 / 6)});
}

void hardsigmoid(Call& call) { call.result(hardsigmoid(call, call.tensor("self"))); }

void silu(Call& call) {
  Value* x = call.tensor("self");
  call.result(call.add(Op::mul, {x, call.add(Op::sigmoid, {x})}));
}

/// log(1 + exp(x)), written so that exp never overflows: max(x, 0) + log(1 + exp(-|x|)).
Value* softplus(const Builder& build, Value* x) {
  Value* decay = build.add(Op::exp, {build.add(Op::neg, {build.add(Op::abs, {x})})});
  Value* log = build.add(Op::log, {build.add(Op::add, {decay, build.scalar(x->dtype(), 1)})});
  return build.add(Op::add, {build.clamp(x, 0, kInfinity), log});
}

void softplus(Call& call) {
  Value* x = call.tensor("self");
  const double beta = call.number("beta", 1), threshold = call.number("threshold", 20);
  Value* scaled = beta == 1 ? x : call.add(Op::mul, {x, call.scalar(x->dtype(), beta)});
  Value* y = softplus(call, scaled);
  if (beta != 1) y = call.add(Op::div, {y, call.scalar(x->dtype(), beta)});
  // torch switches to the identity above `threshold`; from 20 on the two agree to the last digit.
  constexpr double kAlike = 20;
  if (threshold < kAlike) {
    Value* above = call.add(Op::greater, {scaled, call.scalar(x->dtype(), threshold)});
    y = call.add(Op::where, {above, x, y});
  }
  call.result(y);
}

void mish(Call& call) {
  Value* x = call.tensor("self");
  call.result(call.add(Op::mul, {x, call.add(Op::tanh, {softplus(call, x)})}));
}

void log_sigmoid(Call& call) {
  Value* negated = call.add(Op::neg, {call.tensor("self")});
  call.result(call.add(Op::neg, {softplus(call, negated)}));
}

void elu(Call& call) {
  const double scale = call.number("scale", 1);
  if (call.number("input_scale", 1) != 1) call.fail("input_scale is not supported");
  Value* y = call.add(Op::elu, {call.tensor("self")}, AlphaAttrs{call.number("alpha", 1)});
  call.result(scale == 1 ? y : call.add(Op::mul, {y, call.scalar(y->dtype(), scale)}));
}

/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)): an elu in units of alpha.
void celu(Call& call) {
  Value* x = call.tensor("self");
  const double alpha = call.number("alpha", 1);
  auto times = [&](Value* value, double factor) {
    return alpha == 1 ? value : call.add(Op::mul, {value, call.scalar(x->dtype(), factor)});
  };
  call.result(times(call.add(Op::elu, {times(x, 1 / alpha)}, AlphaAttrs{1}), alpha));
}

void selu(Call& call) {
  // Constants of Klambauer et al., Self-Normalizing Neural Networks, as torch has them.
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  Value* y = call.add(Op::elu, {call.tensor("self")}, AlphaAttrs{kAlpha});
  call.result(call.add(Op::mul, {y, call.scalar(y->dtype(), kScale)}));
}

void leaky_relu(Call& call) {
  call.result(call.add(Op::leaky_relu, {call.tensor("self")},
                       AlphaAttrs{call.number("negative_slope", 0.01)}));
}

void prelu(Call& call) {
  Value* x = call.tensor("self");
  Value* slope = call.tensor("weight");
  // One slope for all, or one for each channel of axis 1; the decomposed form has been broadcast.
  if (slope->type().rank() == 1 && x->type().rank() > 2) {
    Shape shape(x->shape().size() - 1, Dim(1));
    shape[0] = slope->shape()[0];
    slope = call.view(slope, shape);
  }
  call.result(call.add(Op::prelu, {x, slope}));
}

void gelu(Call& call) {
  call.result(call.add(Op::gelu, {call.tensor("self")},
                       GeluAttrs{call.string("approximate", "none") == "tanh"}));
}

void glu(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis("dim", -1, x->type().rank());
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static() || length.value() % 2 != 0)
    call.fail("halves an axis of {} elements", to_string(length));
  const int64_t half = length.value() / 2;
  Value* gate = call.add(Op::sigmoid, {call.slice(x, axis, half, half)});
  call.result(call.add(Op::mul, {call.slice(x, axis, 0, half), gate}));
}

/// 0 from -lambd to lambd, x elsewhere.
void hardshrink(Call& call) {
  Value* x = call.tensor("self");
  Value* bound = call.scalar(x->dtype(), call.number("lambd", 0.5));
  Value* inside = call.add(Op::less_equal, {call.add(Op::abs, {x}), bound});
  call.result(call.add(Op::where, {inside, call.scalar(x->dtype(), 0), x}));
}

/// x less what of it lies between -lambd and lambd.
void softshrink(Call& call) {
  Value* x = call.tensor("self");
  const double bound = call.number("lambd", 0.5);
  call.result(call.add(Op::sub, {x, call.clamp(x, -bound, bound)}));
}

void threshold(Call& call) {
  Value* x = call.tensor("self");
  Value* below =
      call.add(Op::less_equal, {x, call.scalar(x->dtype(), call.number("threshold", 0))});
  call.result(call.add(Op::where, {below, call.scalar(x->dtype(), call.number("value", 0)), x}));
}

void scaled_log(Call& call, double factor) {
  Value* log = call.add(Op::log, {self_as_recorded(call)});
  call.result(call.add(Op::mul, {log, call.scalar(log->dtype(), factor)}));
}

void exp2(Call& call) {
  Value* x = self_as_recorded(call);
  Value* scaled = call.add(Op::mul, {x, call.scalar(x->dtype(), std::numbers::ln2)});
  call.result(call.add(Op::exp, {scaled}));
}

void tan(Call& call) {
  Value* x = self_as_recorded(call);
  call.result(call.add(Op::div, {call.add(Op::sin, {x}), call.add(Op::cos, {x})}));
}

/// Only NaN differs from itself.
void isnan(Call& call) {
  Value* x = call.tensor("self");
  call.result(call.add(Op::not_equal, {x, x}));
}

void isinf(Call& call) {
  Value* x = call.tensor("self");
  if (!is_float(x->dtype()))
    return call.result(call.expand(call.scalar(DType::boolean, 0), x->shape()));
  call.result(call.add(Op::equal, {call.add(Op::abs, {x}), call.scalar(x->dtype(), kInfinity)}));
}

void softmax(Call& call, Op op) {
  Value* x = self_as_recorded(call);
  if (x->type().rank() == 0) x = call.view(x, {1});
  Value* y = call.add(op, {x}, AxisAttrs{call.axis("dim", -1, x->type().rank())});
  call.result(call.view(y, call.recorded().shape));
}

void square(Call& call) { call.result(call.add(Op::square, {self_as_recorded(call)})); }

void logical_not(Call& call) {
  call.result(call.add(Op::logical_not, {call.convert(call.tensor("self"), DType::boolean)}));
}

constexpr OpRule kRules[] = {
    {"aten.relu.default", relu},
    {"aten.relu6.default", relu6},
    {"aten.hardtanh.default", hardtanh},
    {"aten.clamp.default", clamp},
    {"aten.clamp.Tensor", clamp_tensor},
    {"aten.clip.default", clamp},
    {"aten.clip.Tensor", clamp_tensor},
    {"aten.clamp_min.default", clamp},
    {"aten.clamp_min.Tensor", clamp_tensor},
    {"aten.clamp_max.Tensor", clamp_tensor},
    {"aten.clamp_max.default", clamp},
    {"aten.hardswish.default", unary<Op::hardswish>},
    {"aten.hardsigmoid.default", hardsigmoid},
    {"aten.silu.default", silu},
    {"aten.mish.default", mish},
    {"aten.softplus.default", softplus},
    {"aten.log_sigmoid.default", log_sigmoid},
    {"aten.elu.default", elu},
    {"aten.celu.default", celu},
    {"aten.selu.default", selu},
    {"aten.leaky_relu.default", leaky_relu},
    {"aten.prelu.default", prelu},
    {"aten._prelu_kernel.default", prelu},
    {"aten.gelu.default", gelu},
    {"aten.glu.default", glu},
    {"aten.hardshrink.default", hardshrink},
    {"aten.softshrink.default", softshrink},
    {"aten.threshold.default", threshold},
    {"aten.softmax.int", [](Call& call) { softmax(call, Op::softmax); }},
    {"aten._softmax.default", [](Call& call) { softmax(call, Op::softmax); }},
    {"aten.log_softmax.int", [](Call& call) { softmax(call, Op::log_softmax); }},
    {"aten._log_softmax.default", [](Call& call) { softmax(call, Op::log_softmax); }},
    {"aten.abs.default", unary<Op::abs>},
    {"aten.neg.default", unary<Op::neg>},
    {"aten.exp.default", unary<Op::exp>},
    {"aten.exp2.default", exp2},
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
    {"aten.tan.default", tan},
    {"aten.atan.default", unary<Op::atan>},
    {"aten.tanh.default", unary<Op::tanh>},
    {"aten.sigmoid.default", unary<Op::sigmoid>},
    {"aten.erf.default", unary<Op::erf>},
    {"aten.floor.default", unary<Op::floor>},
    {"aten.ceil.default", unary<Op::ceil>},
    {"aten.round.default", unary<Op::round>},
    {"aten.trunc.default", unary<Op::trunc>},
    {"aten.fix.default", unary<Op::trunc>},
    {"aten.sign.default", unary<Op::sign>},
    {"aten.square.default", square},
    {"aten.isnan.default", isnan},
    {"aten.isinf.default", isinf},
    {"aten.logical_not.default", logical_not},
};

}  // namespace

std::span<const OpRule> activation_rules() { return kRules; }

}  // namespace layline::pt2

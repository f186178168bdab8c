// Activations.
#include "frontend/ops/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/onnx/ops/rules.h"
#include "frontend/onnx/ops/unary.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/shapes.h"

namespace layline::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void clip(Call& call) {
  Value* x = call.input(0);
  if (call.opset() < 11)
    return call.result(
        ops::clamp(call, x, call.number("min", -kInfinity), call.number("max", kInfinity)));
  Value* min = call.optional(1);
  Value* max = call.optional(2);
  const Tensor* least = min ? call.constant_value(min) : nullptr;
  const Tensor* greatest = max ? call.constant_value(max) : nullptr;
  if ((min == nullptr || least) && (max == nullptr || greatest) && is_float(x->dtype()))
    return call.result(ops::clamp(call, x, least ? least->get(0) : -kInfinity,
                                  greatest ? greatest->get(0) : kInfinity));
  if (min == nullptr && max == nullptr) return call.result(x);
  call.result(ops::clamp(call, x, min, max));
}

void elu(Call& call) { call.result(ops::elu(call, call.input(0), call.number("alpha", 1))); }

void celu(Call& call) { call.result(ops::celu(call, call.input(0), call.number("alpha", 1))); }

void selu(Call& call) {
  const double alpha = call.number("alpha", 1.67326319217681884765625);
  call.result(
      ops::elu(call, call.input(0), alpha, call.number("gamma", 1.05070102214813232421875)));
}

void leaky_relu(Call& call) {
  call.result(call.add(Op::leaky_relu, {call.input(0)}, AlphaAttrs{call.number("alpha", 0.01)}));
}

/// The slope broadcasts to x; before opset 7 it has one element for each channel.
void prelu(Call& call) {
  Value* x = call.input(0);
  Value* slope = call.input(1);
  if (call.opset() < 7) return call.result(ops::prelu(call, x, slope));
  // One slope for each channel is what kernels have.
  const size_t rank = x->shape().size();
  Shape padded(rank - std::min(rank, slope->shape().size()), Dim(1));
  padded.insert(padded.end(), slope->shape().begin(), slope->shape().end());
  if (rank >= 2 && padded.size() == rank && padded[1] == x->shape()[1] &&
      element_count(slope->shape()) == x->shape()[1])
    return call.result(ops::prelu(call, x, call.view(slope, {x->shape()[1]})));
  Value* negative = call.add(Op::mul, {x, slope});
  Value* zero = call.scalar(x->dtype(), 0);
  call.result(call.add(Op::where, {call.add(Op::less, {x, zero}), negative, x}));
}

void hard_sigmoid(Call& call) {
  call.result(
      ops::hardsigmoid(call, call.input(0), call.number("alpha", 0.2), call.number("beta", 0.5)));
}

void gelu(Call& call) {
  call.result(
      call.add(Op::gelu, {call.input(0)}, GeluAttrs{call.string("approximate", "none") == "tanh"}));
}

void swish(Call& call) { call.result(ops::swish(call, call.input(0), call.number("alpha", 1))); }

/// x above alpha, 0 elsewhere.
void thresholded_relu(Call& call) {
  call.result(ops::threshold(call, call.input(0), call.number("alpha", 1), 0));
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
void shrink(Call& call) {
  Value* x = call.input(0);
  const double bound = call.number("lambd", 0.5);
  auto number = [&](double value) { return call.scalar(x->dtype(), value); };
  Value* bias = number(call.number("bias", 0));
  Value* above = call.add(Op::where, {call.add(Op::greater, {x, number(bound)}),
                                      call.add(Op::sub, {x, bias}), number(0)});
  call.result(call.add(
      Op::where, {call.add(Op::less, {x, number(-bound)}), call.add(Op::add, {x, bias}), above}));
}

/// What is normalised along an axis. Before opset 13, all axes from the given one on are taken
/// together.
struct Along {
  Value* x;
  int64_t axis;
};

Along read_along(const Call& call) {
  Value* x = call.input(0);
  const int64_t rank = std::max<int64_t>(x->type().rank(), 1);
  if (call.opset() >= 13) return {x, call.axis(call.integer("axis", -1), rank)};
  const auto split = x->shape().begin() + call.axis(call.integer("axis", 1), rank);
  return {call.view(x, {product({x->shape().begin(), split}), product({split, x->shape().end()})}),
          1};
}

template <Op op>
void softmax(Call& call) {
  const auto [x, axis] = read_along(call);
  call.result(call.view(ops::softmax(call, op, x, axis), call.input(0)->shape()));
}

/// 1 at the first greatest element along the axis, 0 elsewhere.
void hardmax(Call& call) {
  const auto [x, axis] = read_along(call);
  Value* first = call.add(Op::argmax, {x}, AxisAttrs{axis});
  Shape along(x->shape().size(), Dim(1));
  along[static_cast<size_t>(axis)] = ops::static_length(call, x, axis);
  Value* places = ops::arange(call, {DType::i64, along}, 0, 1);
  Value* hit = call.add(Op::equal, {places, first});
  call.result(call.view(call.convert(hit, x->dtype()), call.input(0)->shape()));
}

constexpr OpRule kRules[] = {
    {"Relu", of_one<ops::relu>},
    {"Sigmoid", unary<Op::sigmoid>},
    {"Tanh", unary<Op::tanh>},
    {"Clip", clip},
    {"Elu", elu},
    {"Celu", celu},
    {"Selu", selu},
    {"LeakyRelu", leaky_relu},
    {"PRelu", prelu},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", unary<Op::hardswish>},
    {"Gelu", gelu},
    {"Mish", of_one<ops::mish>},
    {"Swish", swish},
    {"Softplus", [](Call& call) { call.result(ops::softplus(call, call.input(0))); }},
    {"Softsign", of_one<ops::softsign>},
    {"ThresholdedRelu", thresholded_relu},
    {"Shrink", shrink},
    {"Softmax", softmax<Op::softmax>},
    {"LogSoftmax", softmax<Op::log_softmax>},
    {"Hardmax", hardmax},
};

}  // namespace

std::span<const OpRule> activation_rules() { return kRules; }

}  // namespace layline::onnx

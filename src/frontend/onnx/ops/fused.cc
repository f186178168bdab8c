// Ops of com.microsoft that stand for several: ONNX Runtime writes them into models that it has
// optimised.
#include <algorithm>
#include <limits>

#include "frontend/onnx/ops/conv.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/activation.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/index.h"
#include "frontend/ops/join.h"
#include "frontend/ops/norm.h"
#include "frontend/ops/products.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

/// The function that an op ends with, by its name. The numbers default to those of ONNX's op.
Value* activated(const Call& call, Value* x, const std::vector<double>& numbers) {
  const std::string_view name = call.string("activation", "");
  auto number = [&](size_t i, double otherwise) {
    return i < numbers.size() ? numbers[i] : otherwise;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name.empty()) return x;
  if (name == "Relu") return ops::relu(call, x);
  if (name == "Sigmoid") return call.add(Op::sigmoid, {x});
  if (name == "Tanh") return call.add(Op::tanh, {x});
  if (name == "Clip") return ops::clamp(call, x, number(0, -kInfinity), number(1, kInfinity));
  if (name == "LeakyRelu") return call.add(Op::leaky_relu, {x}, AlphaAttrs{number(0, 0.01)});
  if (name == "Elu") return ops::elu(call, x, number(0, 1));
  if (name == "HardSigmoid") return ops::hardsigmoid(call, x, number(0, 0.2), number(1, 0.5));
  call.fail("the activation `{}` is not supported", name);
}

/// A convolution, a tensor to add, and an activation.
void fused_conv(Call& call) {
  Value* y = convolve(call, call.input(0), call.input(1), call.optional(2));
  if (call.has(3)) y = call.add(Op::add, {y, call.input(3)});
  call.result(activated(call, y, call.numbers("activation_params")));
}

void fused_gemm(Call& call) {
  std::vector<double> numbers;
  for (const std::string_view name : {"activation_alpha", "activation_beta"})
    if (call.has(name)) numbers.push_back(call.number(name, 0));
  Call product(call);
  find_rule("Gemm")->import(product);
  call.result(activated(call, product.results().at(0), numbers));
}

/// alpha times the product of matrices that may be transposed.
void fused_matmul(Call& call) {
  if (call.flag("transBatchA", false) || call.flag("transBatchB", false))
    call.fail("with transposed batches is not supported");
  auto operand = [&](size_t i, std::string_view transposed) {
    Value* x = call.input(i);
    const int64_t rank = x->type().rank();
    if (rank < 2 || !call.flag(transposed, false)) return x;
    return ops::swap_axes(call, x, rank - 2, rank - 1);
  };
  Value* a = operand(0, "transA");
  Value* b = operand(1, "transB");
  call.result(ops::times(call, ops::matmul(call, a, b), call.number("alpha", 1)));
}

/// The input, plus a bias if there is one.
Value* biased(const Call& call, Value* x, size_t bias) {
  return call.has(bias) ? call.add(Op::add, {x, call.input(bias)}) : x;
}

template <bool tanh>
void bias_gelu(Call& call) {
  call.result(call.add(Op::gelu, {biased(call, call.input(0), 1)}, GeluAttrs{tanh}));
}

void quick_gelu(Call& call) {
  call.result(ops::swish(call, call.input(0), call.number("alpha", 1.702)));
}

/// The first half of the last axis times the GELU of the second, after a bias.
void bias_split_gelu(Call& call) {
  Value* x = biased(call, call.input(0), 1);
  const int64_t last = x->type().rank() - 1;
  const std::vector<Value*> halves = ops::split_evenly(call, x, last, 2);
  if (halves.size() != 2) call.fail("takes no {}", to_string(x->type()));
  call.result(call.add(Op::mul, {halves[0], call.add(Op::gelu, {halves[1]}, GeluAttrs{false})}));
}

/// The norm of a sum, which is the fourth result.
void skip_layer_norm(Call& call) {
  Value* sum = call.add(Op::add, {call.input(0), call.input(1)});
  sum = biased(call, sum, 4);
  call.result(ops::layer_norm(call, sum, 1, {call.input(2), call.optional(3)},
                              call.number("epsilon", 1e-5)));
  call.result(nullptr);
  call.result(nullptr);
  call.result(sum);
}

void skip_rms_norm(Call& call) {
  Value* sum = call.add(Op::add, {call.input(0), call.input(1)});
  sum = biased(call, sum, 3);
  call.result(ops::rms_norm(call, sum, 1, {call.input(2)}, call.number("epsilon", 1e-5)));
  call.result(nullptr);
  call.result(nullptr);
  call.result(sum);
}

void simplified_layer_norm(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer("axis", -1), x->type().rank());
  const auto axes = static_cast<size_t>(x->type().rank() - axis);
  call.result(ops::rms_norm(call, x, axes, {call.input(1)}, call.number("epsilon", 1e-5)));
}

/// The norm of the sum of embeddings of words, places and segments.
void embed_layer_norm(Call& call) {
  auto embedded = [&](size_t table, Value* places) {
    return ops::gather(call, call.input(table), call.convert(places, DType::i64), 0);
  };
  Value* words = call.input(0);
  if (words->shape().size() != 2) call.fail("takes no {}", to_string(words->type()));
  Value* sum = embedded(2, words);
  Value* places =
      call.has(8) ? embedded(3, call.input(8)) : call.slice(call.input(3), 0, 0, words->shape()[1]);
  sum = call.add(Op::add, {sum, places});
  if (call.has(1) && call.has(4)) sum = call.add(Op::add, {sum, embedded(4, call.input(1))});
  call.result(
      ops::layer_norm(call, sum, 1, {call.input(5), call.input(6)}, call.number("epsilon", 1e-12)));
  call.result(nullptr);
  call.result(sum);
}

constexpr OpRule kRules[] = {
    {"com.microsoft.FusedConv", fused_conv},
    {"com.microsoft.FusedGemm", fused_gemm},
    {"com.microsoft.FusedMatMul", fused_matmul},
    {"com.microsoft.BiasGelu", bias_gelu<false>},
    {"com.microsoft.Gelu", bias_gelu<false>},
    {"com.microsoft.FastGelu", bias_gelu<true>},
    {"com.microsoft.QuickGelu", quick_gelu},
    {"com.microsoft.BiasSplitGelu", bias_split_gelu},
    {"com.microsoft.SkipLayerNormalization", skip_layer_norm},
    {"com.microsoft.SkipSimplifiedLayerNormalization", skip_rms_norm},
    {"SimplifiedLayerNormalization", simplified_layer_norm},
    {"com.microsoft.SimplifiedLayerNormalization", simplified_layer_norm},
    {"com.microsoft.EmbedLayerNormalization", embed_layer_norm},
};

}  // namespace

std::span<const OpRule> fused_rules() { return kRules; }

}  // namespace layline::onnx

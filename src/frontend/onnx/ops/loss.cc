// Losses, which some exported models end with.
#include "frontend/ops/activation.h"
#include "frontend/ops/index.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/shapes.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

/// The loss of log-likelihoods [N, C, ...] for classes [N, ...]: minus those of the classes, times
/// the weights of the classes. The class `ignore_index`, which may be none, weighs nothing.
Value* likelihood_loss(const Call& call, Value* likelihoods, Value* classes, Value* weights) {
  if (likelihoods->shape().size() < 2 || classes->shape().size() + 1 != likelihoods->shape().size())
    call.fail("takes no {} of {}", to_string(classes->type()), to_string(likelihoods->type()));
  const DType dtype = likelihoods->dtype();
  classes = call.convert(classes, DType::i64);
  Value* is_ignored = nullptr;
  if (call.has("ignore_index")) {
    Value* ignored = call.scalar(DType::i64, static_cast<double>(call.integer("ignore_index")));
    is_ignored = call.add(Op::equal, {classes, ignored});
    classes = call.add(Op::where, {is_ignored, call.scalar(DType::i64, 0), classes});
  }
  Value* loss = ops::gather_elements(call, likelihoods, ops::with_axis(call, classes, 1), 1);
  loss = call.add(Op::neg, {ops::without_axes(call, loss, {1})});
  Value* weight = weights ? ops::gather(call, weights, classes, 0) : nullptr;
  if (is_ignored != nullptr) {
    Value* counted = weight ? weight : call.scalar(dtype, 1);
    weight = call.add(Op::where, {is_ignored, call.scalar(dtype, 0), counted});
  }
  if (weight != nullptr) loss = call.add(Op::mul, {loss, weight});

  const std::string_view reduction = call.string("reduction", "mean");
  const ops::Reduced all{ops::all_axes(loss), false};
  if (reduction == "none") return loss;
  if (reduction == "sum") return ops::reduce(call, Op::reduce_sum, loss, all);
  if (reduction != "mean") call.fail("the reduction `{}` is not supported", reduction);
  if (weight == nullptr) return ops::reduce(call, Op::reduce_mean, loss, all);
  Value* total = ops::reduce(call, Op::reduce_sum, loss, all);
  return call.add(Op::div, {total, ops::reduce(call, Op::reduce_sum, weight, all)});
}

void negative_log_likelihood(Call& call) {
  Value* likelihoods = call.input(0);
  call.result(likelihood_loss(call, likelihoods, call.input(1), call.optional(2)));
}

void softmax_cross_entropy(Call& call) {
  Value* likelihoods = ops::softmax(call, Op::log_softmax, call.input(0), 1);
  call.result(likelihood_loss(call, likelihoods, call.input(1), call.optional(2)));
  call.result(likelihoods);
}

constexpr OpRule kRules[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const OpRule> loss_rules() { return kRules; }

}  // namespace layline::onnx

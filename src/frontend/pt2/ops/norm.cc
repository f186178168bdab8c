// Batch norm at inference: one multiplication and one addition a channel, which later fold into a
// neighbouring convolution. And the ops that do nothing at inference.
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

/// y = x * scale + shift with scale = weight / sqrt(var + eps), shift = bias - mean * scale.
Value* batch_norm(Call& call) {
  Value* x = call.tensor("input");
  Value* mean = call.optional_tensor("running_mean");
  Value* variance = call.optional_tensor("running_var");
  if (call.flag("training", false) || mean == nullptr || variance == nullptr)
    call.fail("is in training mode or keeps no statistics; call model.eval() before the export");
  const DType dtype = variance->dtype();
  Value* scale = call.add(
      Op::rsqrt, {call.binary(Op::add, variance, call.scalar(dtype, call.number("eps", 1e-5)))});
  if (Value* weight = call.optional_tensor("weight"))
    scale = call.binary(Op::mul, call.convert(weight, dtype), scale);
  Value* shift = call.add(Op::neg, {call.binary(Op::mul, mean, scale)});
  if (Value* bias = call.optional_tensor("bias"))
    shift = call.binary(Op::add, call.convert(bias, dtype), shift);
  // Channels are axis 1; statistics are broadcast over the axes behind it.
  Shape per_channel(x->shape().size() - 1, Dim(1));
  per_channel[0] = scale->shape()[0];
  Value* scaled = call.binary(Op::mul, x, call.view(call.convert(scale, x->dtype()), per_channel));
  return call.binary(Op::add, scaled, call.view(call.convert(shift, x->dtype()), per_channel));
}

void batch_norm_inference(Call& call) { call.result(batch_norm(call)); }

void dropout(Call& call) {
  if (call.flag("train", false))
    call.fail("is in training mode; call model.eval() before the export");
  call.view_result(call.tensor("input"), "input");
}

constexpr OpRule kRules[] = {
    {"aten.batch_norm.default", batch_norm_inference},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_inference},
    {"aten.dropout.default", dropout},
    {"aten.feature_dropout.default", dropout},
    {"aten.alpha_dropout.default", dropout},
    {"aten.native_dropout.default", dropout},
};

}  // namespace

std::span<const OpRule> norm_rules() { return kRules; }

}  // namespace layline::pt2

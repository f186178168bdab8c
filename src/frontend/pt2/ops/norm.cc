// Normalisation. Batch norm at inference is one multiplication and one addition a channel, which
// later fold into a neighbouring convolution; the others are the core op `normalize` with an affine
// part after it. And the ops that do nothing at inference.
#include <limits>
#include <numeric>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

Value* image(const Call& call) {
  Value* x = call.tensor("input");
  if (x->shape().size() < 2)
    call.fail("the input should have 2 axes or more, but is {}", to_string(x->type()));
  return x;
}

/// y = x * scale + shift with scale = weight / sqrt(var + eps), shift = bias - mean * scale.
Value* batch_norm(Call& call) {
  Value* x = image(call);
  Value* mean = call.optional_tensor("running_mean");
  Value* variance = call.optional_tensor("running_var");
  if (call.flag("training", false) || mean == nullptr || variance == nullptr)
    call.fail("is in training mode or keeps no statistics; call model.eval() before the export");
  const DType dtype = variance->dtype();
  Value* scale = call.add(
      Op::rsqrt, {call.add(Op::add, {variance, call.scalar(dtype, call.number("eps", 1e-5))})});
  if (Value* weight = call.optional_tensor("weight"))
    scale = call.add(Op::mul, {call.convert(weight, dtype), scale});
  Value* shift = call.add(Op::neg, {call.add(Op::mul, {mean, scale})});
  if (Value* bias = call.optional_tensor("bias"))
    shift = call.add(Op::add, {call.convert(bias, dtype), shift});
  // Channels are axis 1; statistics are broadcast over the axes behind it.
  Shape per_channel(x->shape().size() - 1, Dim(1));
  per_channel[0] = scale->shape()[0];
  Value* scaled = call.add(Op::mul, {x, call.view(call.convert(scale, x->dtype()), per_channel)});
  return call.add(Op::add, {scaled, call.view(call.convert(shift, x->dtype()), per_channel)});
}

Ints axes_from(int64_t first, int64_t rank) {
  Ints axes(static_cast<size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Value* normalize(const Call& call, Value* x, Ints axes, bool center = true) {
  return call.add(Op::normalize, {x},
                  NormalizeAttrs{std::move(axes), call.number("eps", 1e-5), center});
}

/// y * weight + bias, where the model has them; both broadcast to y once they have `shape`.
Value* affine(const Call& call, Value* y, const Shape& shape) {
  auto parameter = [&](Value* value) { return call.view(call.convert(value, y->dtype()), shape); };
  if (Value* weight = call.optional_tensor("weight")) y = call.add(Op::mul, {y, parameter(weight)});
  if (Value* bias = call.optional_tensor("bias")) y = call.add(Op::add, {y, parameter(bias)});
  return y;
}

/// Channels are axis 1; parameters are broadcast over the axes behind it.
Value* affine_per_channel(const Call& call, Value* y) {
  Shape shape(y->shape().size() - 1, Dim(1));
  shape[0] = y->shape()[1];
  return affine(call, y, shape);
}

/// Over the last axes, as many as normalized_shape has.
Shape trailing_shape(const Call& call, Value* x) {
  const size_t count = call.ints("normalized_shape", {}).size();
  if (count > x->shape().size()) call.fail("normalizes {} axes of {}", count, to_string(x->type()));
  return Shape(x->shape().end() - static_cast<std::ptrdiff_t>(count), x->shape().end());
}

void layer_norm(Call& call) {
  Value* x = call.tensor("input");
  const Shape shape = trailing_shape(call, x);
  const int64_t rank = x->type().rank();
  const int64_t first = rank - static_cast<int64_t>(shape.size());
  call.result(affine(call, normalize(call, x, axes_from(first, rank)), shape));
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::f64:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

void rms_norm(Call& call) {
  Value* x = call.tensor("input");
  const Shape shape = trailing_shape(call, x);
  const int64_t rank = x->type().rank();
  const int64_t first = rank - static_cast<int64_t>(shape.size());
  const double eps = call.number("eps", epsilon(x->dtype()));
  Value* y = call.add(Op::normalize, {x}, NormalizeAttrs{axes_from(first, rank), eps, false});
  call.result(affine(call, y, shape));
}

/// [N, C, ...] as [N, groups, C / groups, ...]: each group by itself.
void group_norm(Call& call, std::string_view groups_argument) {
  Value* x = image(call);
  const int64_t groups = call.integer(groups_argument);
  const auto each = groups > 0 ? divide(x->shape()[1], groups) : std::nullopt;
  if (!each)
    call.fail("{} channels do not divide into {} groups", to_string(x->shape()[1]), groups);
  Shape grouped = x->shape();
  grouped[1] = *each;
  grouped.insert(grouped.begin() + 1, Dim(groups));
  Value* y = normalize(call, call.view(x, grouped), axes_from(2, x->type().rank() + 1));
  call.result(affine_per_channel(call, call.view(y, x->shape())));
}

void instance_norm(Call& call) {
  if (!call.flag("use_input_stats", true)) return call.result(batch_norm(call));
  Value* x = image(call);
  call.result(affine_per_channel(call, normalize(call, x, axes_from(2, x->type().rank()))));
}

/// Statistics of the batch itself: what instance norm becomes when it is decomposed.
void batch_norm_without_statistics(Call& call) {
  Value* x = image(call);
  Ints axes = axes_from(1, x->type().rank());
  axes[0] = 0;
  call.result(affine_per_channel(call, normalize(call, x, std::move(axes))));
}

/// A weight as a direction and a length for each index of one axis, or a single length.
void weight_norm(Call& call) {
  Value* direction = call.tensor("v");
  const int64_t rank = direction->type().rank();
  Ints axes = axes_from(0, rank);
  if (call.integer("dim", 0) != -1) axes.erase(axes.begin() + call.axis("dim", 0, rank));
  Value* power = call.add(Op::reduce_sum, {call.add(Op::square, {direction})}, AxesAttrs{axes});
  Value* length = call.add(Op::div, {call.tensor("g"), call.add(Op::sqrt, {power})});
  call.result(call.add(Op::mul, {direction, length}));
}

/// Without statistics in the model, as when weights are standardised, those of the batch itself.
void batch_norm_inference(Call& call) {
  const bool statistics = call.has("running_mean") || call.has("running_var");
  statistics ? call.result(batch_norm(call)) : batch_norm_without_statistics(call);
}

void dropout(Call& call) {
  if (call.flag("train", false))
    call.fail("is in training mode; call model.eval() before the export");
  const std::string_view argument = call.has("input") ? "input" : "self";
  call.view_result(call.tensor(argument), argument);
}

constexpr OpRule kRules[] = {
    {"aten.batch_norm.default", batch_norm_inference},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_inference},
    {"aten._native_batch_norm_legit.no_stats", batch_norm_without_statistics},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_layer_norm.default", layer_norm},
    {"aten.rms_norm.default", rms_norm},
    {"aten.group_norm.default", [](Call& call) { group_norm(call, "num_groups"); }},
    {"aten.native_group_norm.default", [](Call& call) { group_norm(call, "group"); }},
    {"aten.instance_norm.default", instance_norm},
    {"aten._weight_norm.default", weight_norm},
    {"aten.dropout.default", dropout},
    {"aten.feature_dropout.default", dropout},
    {"aten.alpha_dropout.default", dropout},
    {"aten.native_dropout.default", dropout},
};

}  // namespace

std::span<const OpRule> norm_rules() { return kRules; }

}  // namespace layline::pt2

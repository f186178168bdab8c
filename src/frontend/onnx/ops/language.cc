// Layers of language models that carry a state from call to call.
#include <cmath>

#include "frontend/onnx/ops/heads.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/activation.h"
#include "frontend/ops/conv.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/join.h"
#include "frontend/ops/linear_attention.h"
#include "frontend/ops/overwrite.h"
#include "frontend/ops/scatter.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

/// Halves are computed in floats, as the definition asks.
void linear_attention(Call& call) {
  const std::string_view rule = call.string("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    call.fail("there is no update rule `{}`", rule);
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  const int64_t heads = call.integer("kv_num_heads"), query_heads = call.integer("q_num_heads");
  const DType dtype = call.input(0)->dtype();
  const DType computed = dtype == DType::f64 ? DType::f64 : DType::f32;
  auto operand = [&](size_t i) { return call.convert(call.input(i), computed); };
  Value* query = with_heads(call, operand(0), query_heads);
  Value* key = with_heads(call, operand(1), heads);
  Value* value = with_heads(call, operand(2), heads);
  const DType kept = call.has(3) ? call.input(3)->dtype() : dtype;
  const TensorType state_type{computed,
                              {key->shape()[0], heads, key->shape()[3], value->shape()[3]}};
  Value* state = call.has(3) ? operand(3) : ops::filled(call, state_type, 0);
  ops::LinearAttention how;
  if (gated) how.decay = with_heads(call, operand(4), heads);
  if (delta) {
    Value* rate = operand(5);
    const bool one_for_all = rate->shape().size() == 3 && rate->shape()[2].is_one();
    how.rate = with_heads(call, rate, one_for_all ? 1 : heads);
  }
  how.scale = call.number("scale", 0);
  if (how.scale == 0)
    how.scale = 1 / std::sqrt(static_cast<double>(ops::static_length(call, query, 3)));
  const auto [output, last] = ops::linear_attention(call, query, key, value, state, how);
  call.result(call.convert(without_heads(call, output), dtype));
  call.result(call.convert(last, kept));
}

/// A convolution of each channel by itself. The elements that the window still needs are the state.
void causal_conv_with_state(Call& call) {
  Value* x = call.input(0);
  Value* weight = call.input(1);
  if (x->shape().size() != 3 || weight->shape().size() != 3)
    call.fail("takes no {}", to_string(x->type()));
  const std::string_view activation = call.string("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    call.fail("there is no activation `{}`", activation);
  const int64_t before = ops::static_length(call, weight, 2) - 1;
  const Dim length = x->shape()[2];
  Value* past = call.has(3)
                    ? call.input(3)
                    : ops::filled(call, {x->dtype(), {x->shape()[0], x->shape()[1], before}}, 0);
  Value* all = before == 0 ? x : call.concat({past, x}, 2);
  ConvAttrs attrs;
  attrs.stride = attrs.dilation = {1};
  attrs.low = attrs.high = {0};
  attrs.groups = ops::static_length(call, x, 1);
  Value* y = ops::conv(call, all, weight, call.optional(2), std::move(attrs));
  call.result(activation == "none" ? y : ops::silu(call, y));
  ops::Slice last;
  last.start = call.graph().symbol_table().expand(length);
  call.result(ops::slice(call, all, 2, last));
}

/// Writes to an axis of a cache, at a place of its own for each batch.
void tensor_scatter(Call& call) {
  Value* cache = call.input(0);
  Value* update = call.input(1);
  const int64_t axis = call.axis(call.integer("axis", -2), cache->type().rank());
  if (axis == 0) call.fail("writes along the axis of batches");
  const std::string_view mode = call.string("mode", "linear");
  if (mode != "linear" && mode != "circular") call.fail("there is no mode `{}`", mode);
  if (!call.has(2)) return call.result(ops::overwrite(call, cache, update, axis, 0, 1));
  Shape starts(cache->shape().size(), 1), steps = starts;
  starts[0] = update->shape()[0];
  steps[static_cast<size_t>(axis)] = update->shape()[static_cast<size_t>(axis)];
  Value* place = ops::arange(call, {DType::i64, steps}, 0, 1);
  place = call.add(Op::add, {place, ops::view(call, call.input(2), starts)});
  if (mode == "circular") {
    const Dim length = cache->shape()[static_cast<size_t>(axis)];
    place = call.add(Op::remainder,
                     {place, ops::number(call, call.graph().symbol_table().expand(length))});
  }
  call.result(ops::scatter(call, Op::scatter_elements, cache, call.expand(place, update->shape()),
                           update, axis));
}

constexpr OpRule kRules[] = {
    {"LinearAttention", linear_attention},
    {"CausalConvWithState", causal_conv_with_state},
    {"TensorScatter", tensor_scatter},
};

}  // namespace

std::span<const OpRule> language_rules() { return kRules; }

}  // namespace layline::onnx

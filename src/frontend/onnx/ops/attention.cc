// Attention, and rotary embeddings.
#include "frontend/ops/attention.h"

#include <cmath>
#include <limits>

#include "frontend/onnx/ops/heads.h"
#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/index.h"
#include "frontend/ops/join.h"
#include "frontend/ops/pad.h"
#include "frontend/ops/products.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* number_of(const Call& call, const Dim& size) {
  return ops::number(call, call.graph().symbol_table().expand(size));
}

/// The places of queries whose first one comes after `past` keys.
Value* places_after(const Call& call, const Dim& queries, const Dim& past) {
  Value* places = ops::arange(call, {DType::i64, {queries}}, 0, 1);
  return past.is_zero() ? places : call.add(Op::add, {places, number_of(call, past)});
}

/// What hides keys from queries.
struct Hidden {
  Value* mask = nullptr;    // booleans, or numbers to add; the last axis may be too short
  Value* counts = nullptr;  // each batch has so many keys
  bool causal = false;      // a query sees keys up to its own place
};

/// The mask with keys hidden where `visible` does not hold. It may be null.
Value* restricted(const Call& call, Value* mask, Value* visible) {
  if (mask == nullptr) return visible;
  if (mask->dtype() == DType::boolean) return call.add(Op::logical_and, {mask, visible});
  return call.add(Op::where, {visible, mask, call.scalar(mask->dtype(), -kInfinity)});
}

/// All of it as one mask, [..., queries, keys]; null if nothing is hidden.
Value* as_mask(const Call& call, const Hidden& hidden, const Dim& queries, const Dim& keys,
               const Dim& past) {
  Value* mask = hidden.mask;
  if (mask != nullptr && mask->shape().back() != keys && !mask->shape().back().is_one()) {
    if (!keys.is_static() || !mask->shape().back().is_static())
      call.fail("the mask {} does not fit {} keys", to_string(mask->type()), to_string(keys));
    PadAttrs pad{Ints(mask->shape().size(), 0), Ints(mask->shape().size(), 0)};
    pad.high.back() = keys.value() - mask->shape().back().value();
    pad.value = mask->dtype() == DType::boolean ? 0 : -kInfinity;
    mask = ops::pad(call, mask, std::move(pad));
  }
  if (!hidden.causal && hidden.counts == nullptr) return mask;
  Value* columns = ops::arange(call, {DType::i64, {keys}}, 0, 1);
  if (hidden.causal) {
    Value* rows = ops::with_axis(call, places_after(call, queries, past), 1);
    mask = restricted(call, mask, call.add(Op::less_equal, {columns, rows}));
  }
  if (hidden.counts != nullptr) {
    const Dim batch = element_count(hidden.counts->shape());
    Value* counts = call.view(call.convert(hidden.counts, DType::i64), {batch, 1, 1, 1});
    mask = restricted(call, mask, call.add(Op::less, {columns, counts}));
  }
  return mask;
}

/// The past keys or values, [batch, heads, rows, width], and then the new ones.
Value* after(const Call& call, Value* past, Value* x) {
  return past == nullptr ? x : call.concat({past, x}, 2);
}

/// The numbers that a mask adds.
Value* as_addend(const Call& call, Value* mask, DType dtype) {
  if (mask->dtype() != DType::boolean) return mask;
  return call.add(Op::where, {mask, call.scalar(dtype, 0), call.scalar(dtype, -kInfinity)});
}

void attention(Call& call) {
  Value* query = call.input(0);
  Value* key = call.input(1);
  Value* value = call.input(2);
  const bool packed = query->shape().size() == 3;
  if (packed) {
    query = with_heads(call, query, call.integer("q_num_heads"));
    key = with_heads(call, key, call.integer("kv_num_heads"));
    value = with_heads(call, value, call.integer("kv_num_heads"));
  }
  if (query->shape().size() != 4 || key->shape().size() != 4 || value->shape().size() != 4)
    call.fail("takes no {}", to_string(query->type()));
  const Dim past = call.has(4) ? call.input(4)->shape()[2] : Dim(0);
  key = after(call, call.optional(4), key);
  value = after(call, call.optional(5), value);
  const Dim queries = query->shape()[2], keys = key->shape()[2];

  ops::Attention how;
  if (call.has("scale")) how.scale = call.number("scale", 1);
  how.cap = call.number("softcap", 0);
  how.grouped = query->shape()[1] != key->shape()[1];
  const Hidden hidden{call.optional(3), call.optional(6), call.flag("is_causal", false)};
  // Later passes know attention that is causal and nothing else.
  const bool only_causal = hidden.causal && hidden.mask == nullptr && hidden.counts == nullptr;
  Value* mask = nullptr;
  if (only_causal && !call.wants(3) && past.is_zero())
    how.causal = true;
  else if (only_causal && !call.wants(3))
    how.places = places_after(call, queries, past);
  else
    how.mask = mask = as_mask(call, hidden, queries, keys, past);
  const ops::AttentionSteps steps = ops::attention_steps(call, query, key, value, how);
  call.result(packed ? without_heads(call, steps.result) : steps.result);
  call.result(key);
  call.result(value);
  if (!call.wants(3)) return;

  const int64_t mode = call.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) call.fail("has `qk_matmul_output_mode` {}", mode);
  Value* step = mode == 0 ? steps.scores : mode == 3 ? steps.weights : steps.capped;
  step = ops::view(call, step, {query->shape()[0], query->shape()[1], queries, keys});
  if (mode == 2 && mask != nullptr)
    step = call.add(Op::add, {step, as_addend(call, mask, step->dtype())});
  call.result(step);
}

/// Attention whose scores and weights go through graphs of the model.
void flex_attention(Call& call) {
  Value* query = call.input(0);
  Value* key = call.input(1);
  Value* value = call.input(2);
  if (query->shape().size() != 4 || key->shape().size() != 4 || value->shape().size() != 4)
    call.fail("takes no {}", to_string(query->type()));
  const DType dtype = query->dtype();
  const DType computed =
      call.dtype("softmax_precision", dtype == DType::f64 ? DType::f64 : DType::f32);
  const auto heads = divide(query->shape()[1], key->shape()[1]);
  const int64_t width = ops::static_length(call, query, 3);
  if (!heads || !heads->is_static() || width == 0)
    call.fail("has queries {} and keys {}", to_string(query->type()), to_string(key->type()));
  key = ops::repeat_elements(call, key, 1, heads->value());
  value = ops::repeat_elements(call, value, 1, heads->value());
  const double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(width)));
  query = ops::times(call, query, scale);
  Value* scores = call.add(Op::matmul, {query, key}, MatmulAttrs{true});
  auto through = [&](std::string_view graph, Value* x) {
    if (!call.has(graph)) return x;
    const std::vector<Value*> results = call.body(graph, {x});
    if (results.size() != 1) call.fail("`{}` gives {} values", graph, results.size());
    return results[0];
  };
  scores = through("score_mod", call.convert(scores, computed));
  Value* weights = call.add(Op::softmax, {scores}, AxisAttrs{3});
  weights = through("prob_mod", weights);
  Value* y = call.add(Op::matmul, {weights, call.convert(value, computed)}, MatmulAttrs{});
  call.result(call.convert(y, dtype));
}

/// One mask for each key, for each query and key, or for each of all axes; 0 hides.
Value* visible(const Call& call, Value* mask) {
  const Shape shape = mask->shape();
  if (mask->dtype() != DType::boolean)
    mask = call.add(Op::not_equal, {mask, call.scalar(mask->dtype(), 0)});
  switch (shape.size()) {
    case 2:
      return call.view(mask, {shape[0], 1, 1, shape[1]});
    case 3:
      return call.view(mask, {shape[0], 1, shape[1], shape[2]});
    case 4:
      return mask;
    default:
      call.fail("the mask {} is not supported", to_string(mask->type()));
  }
}

/// What com.microsoft's attentions have in common: a mask of keys, a bias for the scores, a past.
struct Extras {
  Value* mask;
  Value* bias;
  Value *past_key, *past_value;
};

/// Gives the result, the keys and the values.
std::array<Value*, 3> attend(const Call& call, Value* query, Value* key, Value* value,
                             const Extras& extras) {
  const Dim past = extras.past_key ? extras.past_key->shape()[2] : Dim(0);
  key = after(call, extras.past_key, key);
  value = after(call, extras.past_value, value);
  Hidden hidden;
  hidden.causal = call.flag("unidirectional", false);
  if (extras.mask != nullptr && extras.mask->shape().size() == 1)
    hidden.counts = extras.mask;
  else if (extras.mask != nullptr)
    hidden.mask = visible(call, extras.mask);
  ops::Attention how;
  if (const double scale = call.number("scale", 0); scale != 0) how.scale = scale;
  if (hidden.causal && past.is_zero() && hidden.mask == nullptr && hidden.counts == nullptr &&
      extras.bias == nullptr)
    how.causal = true;
  else
    how.mask = as_mask(call, hidden, query->shape()[2], key->shape()[2], past);
  if (extras.bias != nullptr)
    how.mask =
        how.mask == nullptr
            ? extras.bias
            : call.add(Op::add, {extras.bias, as_addend(call, how.mask, extras.bias->dtype())});
  Value* y = ops::attention(call, query, key, value, how);
  return {without_heads(call, y), key, value};
}

/// com.microsoft.Attention: the projections of the input to queries, keys and values are part of
/// it.
void projected_attention(Call& call) {
  const int64_t heads = call.integer("num_heads");
  if (call.flag("do_rotary", false) || call.flag("past_present_share_buffer", false))
    call.fail("with `do_rotary` or `past_present_share_buffer` is not supported");
  Value* x = ops::matmul(call, call.input(0), call.input(1));
  if (call.has(2)) x = call.add(Op::add, {x, call.input(2)});
  const int64_t all = ops::static_length(call, x, 2);
  const std::vector<Value*> parts =
      ops::cut(call, x, 2, call.ints("qkv_hidden_sizes", Ints(3, all / 3)));
  if (parts.size() != 3) call.fail("has {} parts", parts.size());
  std::vector<Value*> split;
  for (Value* part : parts) split.push_back(with_heads(call, part, heads));
  Extras extras{call.optional(3), call.optional(5), nullptr, nullptr};
  if (Value* past = call.optional(4)) {
    extras.past_key = ops::select(call, past, 0, 0);
    extras.past_value = ops::select(call, past, 0, 1);
  }
  const auto [y, key, value] = attend(call, split[0], split[1], split[2], extras);
  call.result(y);
  if (call.wants(1)) call.result(ops::stack(call, {key, value}, 0));
}

/// com.microsoft.MultiHeadAttention. Keys and values may have come with heads already.
void multi_head_attention(Call& call) {
  const int64_t heads = call.integer("num_heads");
  if (!call.has(1) || !call.has(2))
    call.fail("with queries, keys and values in one tensor is not supported");
  std::vector<Value*> parts = {call.input(0), call.input(1), call.input(2)};
  int64_t start = 0;
  for (Value*& part : parts) {
    if (part->shape().size() == 4) continue;
    if (part->shape().size() != 3) call.fail("takes no {}", to_string(part->type()));
    const int64_t size = ops::static_length(call, part, 2);
    if (Value* bias = call.optional(3))
      part = call.add(Op::add, {part, call.slice(bias, 0, start, size)});
    start += size;
    part = with_heads(call, part, heads);
  }
  const Extras extras{call.optional(4), call.optional(5), call.optional(6), call.optional(7)};
  for (Value* value : attend(call, parts[0], parts[1], parts[2], extras)) call.result(value);
}

/// Rotates pairs of elements of x, [batch, heads, rows, width], by angles whose cosines and sines
/// are [batch, rows, pairs], or [rows, pairs] for all batches. Pairs lie next to each other, or in
/// two halves. Elements after the last pair stay.
Value* rotated(const Call& call, Value* x, Value* cosine, Value* sine, bool interleaved) {
  const int64_t width = ops::static_length(call, x, 3);
  const int64_t pairs = ops::static_length(call, cosine, cosine->type().rank() - 1);
  if (2 * pairs > width) call.fail("rotates {} elements of {}", 2 * pairs, width);
  const int64_t heads_axis = cosine->type().rank() - 2;
  cosine = ops::with_axis(call, cosine, heads_axis);
  sine = ops::with_axis(call, sine, heads_axis);
  Value* first = interleaved ? call.slice(x, 3, 0, pairs, 2) : call.slice(x, 3, 0, pairs);
  Value* second = interleaved ? call.slice(x, 3, 1, pairs, 2) : call.slice(x, 3, pairs, pairs);
  Value* real =
      call.add(Op::sub, {call.add(Op::mul, {cosine, first}), call.add(Op::mul, {sine, second})});
  Value* imaginary =
      call.add(Op::add, {call.add(Op::mul, {sine, first}), call.add(Op::mul, {cosine, second})});
  std::vector<Value*> parts = {real, imaginary};
  if (interleaved) {
    Shape shape = real->shape();
    shape.back() = 2 * pairs;
    parts = {call.view(ops::stack(call, {real, imaginary}, 4), shape)};
  }
  if (2 * pairs < width) parts.push_back(call.slice(x, 3, 2 * pairs, width - 2 * pairs));
  return call.concat(std::move(parts), 3);
}

struct Rotation {
  Value* x;
  Value *cosines, *sines;
  Value* places;  // which rows of these to use, [batch, rows]; null if they are chosen already
};

void rotate(Call& call, Rotation rotation) {
  Value* x = rotation.x;
  const bool packed = x->shape().size() == 3;
  const int64_t wanted = call.integer("rotary_embedding_dim", 0);
  if (packed) {
    int64_t heads = call.integer("num_heads", 0);
    // com.microsoft's op may leave it out: the heads are then as wide as the table.
    if (heads == 0)
      heads = ops::static_length(call, x, 2) /
              (2 * ops::static_length(call, rotation.cosines, rotation.cosines->type().rank() - 1));
    x = with_heads(call, x, heads);
  }
  if (x->shape().size() != 4) call.fail("takes no {}", to_string(x->type()));
  if (rotation.places != nullptr) {
    rotation.cosines = ops::gather(call, rotation.cosines, rotation.places, 0);
    rotation.sines = ops::gather(call, rotation.sines, rotation.places, 0);
  }
  for (Value** table : {&rotation.cosines, &rotation.sines}) {
    const int64_t last = (*table)->type().rank() - 1;
    if (wanted > 0 && ops::static_length(call, *table, last) > wanted / 2)
      *table = call.slice(*table, last, 0, wanted / 2);
  }
  Value* y = rotated(call, x, rotation.cosines, rotation.sines, call.flag("interleaved", false));
  call.result(packed ? without_heads(call, y) : y);
}

void rotary_embedding(Call& call) {
  rotate(call, {call.input(0), call.input(1), call.input(2), call.optional(3)});
}

/// com.microsoft.RotaryEmbedding: a single place is that of the first row.
void rotary_embedding_by_place(Call& call) {
  Value* x = call.input(0);
  Value* places = call.convert(call.input(1), DType::i64);
  if (places->shape().size() == 1) {
    const Dim rows = x->shape()[x->shape().size() == 3 ? 1 : 2];
    places = call.add(Op::add, {ops::arange(call, {DType::i64, {rows}}, 0, 1), places});
  }
  rotate(call, {x, call.input(2), call.input(3), places});
}

/// com.microsoft.GroupQueryAttention: causal, with a past to which the new keys are appended. A
/// past that is a buffer with room for them is refused, because how much of it is in use is data.
void group_query_attention(Call& call) {
  const int64_t heads = call.integer("num_heads"), groups = call.integer("kv_num_heads");
  if (heads < 1 || groups < 1) call.fail("has {} heads of queries, {} of keys", heads, groups);
  if (call.integer("local_window_size", -1) >= 0 || call.flag("smooth_softmax", false) ||
      call.has(10) || call.has(11))
    call.fail("with a local window, a bias or a sink is not supported");
  std::vector<Value*> parts;
  if (call.has(1)) {
    parts = {call.input(0), call.input(1), call.input(2)};
  } else {
    const int64_t width = ops::static_length(call, call.input(0), 2) / (heads + 2 * groups);
    parts = ops::cut(call, call.input(0), 2, {heads * width, groups * width, groups * width});
  }
  Value* query = with_heads(call, parts[0], heads);
  Value* key = with_heads(call, parts[1], groups);
  Value* value = with_heads(call, parts[2], groups);
  const Dim queries = query->shape()[2];
  const Dim past = call.has(3) ? call.input(3)->shape()[2] : Dim(0);
  SymbolTable& symbols = call.graph().symbol_table();
  const std::vector<Sum> total = call.sums(6, "`total_sequence_length`");
  if (!past.is_zero() && total != std::vector<Sum>{symbols.expand(past) + symbols.expand(queries)})
    call.fail("has a past of {} keys with room for new ones, which is not supported",
              to_string(past));
  Value* places = places_after(call, queries, past);
  if (call.flag("do_rotary", false)) {
    Value* cosines = ops::gather(call, call.input(7), places, 0);
    Value* sines = ops::gather(call, call.input(8), places, 0);
    const bool interleaved = call.flag("rotary_interleaved", false);
    query = rotated(call, query, cosines, sines, interleaved);
    key = rotated(call, key, cosines, sines, interleaved);
  }
  key = after(call, call.optional(3), key);
  value = after(call, call.optional(4), value);
  ops::Attention how;
  how.causal = past.is_zero();
  if (!how.causal) how.places = places;
  if (const double scale = call.number("scale", 0); scale != 0) how.scale = scale;
  how.cap = call.number("softcap", 0);
  how.grouped = heads != groups;
  call.result(without_heads(call, ops::attention(call, query, key, value, how)));
  call.result(key);
  call.result(value);
}

constexpr OpRule kRules[] = {
    {"Attention", attention},
    {"RotaryEmbedding", rotary_embedding},
    {"ai.onnx.preview.FlexAttention", flex_attention},
    {"com.microsoft.Attention", projected_attention},
    {"com.microsoft.GroupQueryAttention", group_query_attention},
    {"com.microsoft.MultiHeadAttention", multi_head_attention},
    {"com.microsoft.RotaryEmbedding", rotary_embedding_by_place},
};

}  // namespace

std::span<const OpRule> attention_rules() { return kRules; }

}  // namespace layline::onnx

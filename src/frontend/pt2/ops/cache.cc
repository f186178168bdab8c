// ExecuTorch's own ops for attention on a cache. Tensors are [batch, places, heads, width].
#include "frontend/ops/attention.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/scatter.h"
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

/// Where the first query stands, i64[].
Value* start_of(const Call& call) {
  if (Value* start = call.computed("start_pos")) return start;
  const int64_t start = call.integer("start_pos");
  if (start < 0) call.fail("starts at place {}", start);
  return call.scalar(DType::i64, static_cast<double>(start));
}

/// The places start, start + 1 ... of `count` rows.
Value* places_of(const Call& call, const Dim& count) {
  Value* offsets = ops::arange(call, {DType::i64, {count}}, 0, 1);
  return call.add(Op::add, {offsets, start_of(call)});
}

/// The cache with rows written to places of it.
Value* written(const Call& call, Value* cache, Value* rows, Value* places) {
  Shape expected = cache->shape();
  if (expected.size() == 4 && rows->shape().size() == 4) expected[1] = rows->shape()[1];
  if (expected.size() != 4 || rows->type() != TensorType{cache->dtype(), expected})
    call.fail("writes {} to a cache {}", to_string(rows->type()), to_string(cache->type()));
  return ops::put_slices(call, cache, 1, places, rows);
}

Value* updated(const Call& call, std::string_view cache, std::string_view rows) {
  Value* value = call.tensor(rows);
  if (value->shape().size() != 4) call.fail("takes no {}", to_string(value->type()));
  return written(call, call.tensor(cache), value, places_of(call, value->shape()[1]));
}

/// The op's result is memory that it does not write to, so there is none.
void update_cache(Call& call) { call.write(updated(call, "cache", "value")); }

void update_cache_with_indices(Call& call) {
  Value *rows = call.tensor("value"), *indices = call.tensor("indices");
  if (indices->shape().size() != 2 || !indices->shape()[0].is_one())
    call.fail("has places {}; only one text at a time is supported", to_string(indices->type()));
  call.write(written(call, call.tensor("cache"), rows, indices));
}

/// The places up to which queries see keys; null if they see all. Without a mask, no query sees
/// keys after the last query's place.
Value* seen_places(const Call& call, const Dim& queries, const Dim& keys, bool causal) {
  if (causal) return places_of(call, queries);
  SymbolTable& symbols = call.graph().symbol_table();
  const Sum count = symbols.expand(queries);
  if (!call.computed("start_pos") &&
      count + Sum::number(call.integer("start_pos")) == symbols.expand(keys))
    return nullptr;
  Value* last = ops::number(call, count - Sum::number(1));
  return call.view(call.add(Op::add, {last, start_of(call)}), {1});
}

Value* attend(const Call& call, Value* key, Value* value) {
  Value* query = call.tensor("query");
  for (const Value* operand : {query, key, value})
    if (operand->shape().size() != 4 || !is_float(operand->dtype()) ||
        operand->dtype() != query->dtype())
      call.fail("takes no {}, only floats of one kind, [batch, places, heads, width]",
                to_string(operand->type()));
  if (call.number("drpout_p", 0) != 0) call.fail("has dropout; call .eval() before the export");
  ops::Attention how;
  how.grouped = true;
  how.mask = call.optional_tensor("attn_mask");
  if (call.has("scale")) how.scale = call.number("scale", 1);
  const bool causal = call.flag("is_causal", false);
  if (causal && how.mask) call.fail("is causal and has a mask; the op takes only one of them");
  if (!how.mask) how.places = seen_places(call, query->shape()[1], key->shape()[1], causal);
  static constexpr int kSwapped[] = {0, 2, 1, 3};
  Value* q = call.permute(query, kSwapped);
  Value* k = call.permute(key, kSwapped);
  Value* v = call.permute(value, kSwapped);
  return call.permute(ops::attention(call, q, k, v, how), kSwapped);
}

void custom_sdpa(Call& call) {
  Value *key = call.tensor("key"), *value = call.tensor("value");
  call.result(attend(call, key, value));
}

void sdpa_with_kv_cache(Call& call) {
  Value *keys = updated(call, "key_cache", "key"), *values = updated(call, "value_cache", "value");
  call.result(attend(call, keys, values));
  call.write(keys);
  call.write(values);
}

constexpr std::string_view kCache[] = {"cache"};
constexpr std::string_view kCaches[] = {"key_cache", "value_cache"};

constexpr OpRule kRules[] = {
    {"llama.custom_sdpa.default", custom_sdpa},
    {"llama.sdpa_with_kv_cache.default", sdpa_with_kv_cache, Memory::own, kCaches},
    {"llama.update_cache.default", update_cache, Memory::own, kCache},
    {"llama.update_cache_with_indices.default", update_cache_with_indices, Memory::own, kCache},
};

}  // namespace

std::span<const OpRule> cache_rules() { return kRules; }

}  // namespace layline::pt2

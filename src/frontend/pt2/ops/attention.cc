// Scaled dot-product attention.
#include "frontend/ops/attention.h"

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void attention(Call& call) {
  Value* query = call.tensor("query");
  Value* key = call.tensor("key");
  Value* value = call.tensor("value");
  if (call.number("dropout_p", 0) != 0) call.fail("has dropout; call .eval() before the export");
  ops::Attention how;
  how.mask = call.optional_tensor("attn_mask");
  how.causal = call.flag("is_causal", false);
  if (call.has("scale")) how.scale = call.number("scale", 1);
  how.grouped = call.flag("enable_gqa", false);
  call.result(ops::attention(call, query, key, value, how));
}

constexpr OpRule kRules[] = {
    {"aten.scaled_dot_product_attention.default", attention},
};

}  // namespace

std::span<const OpRule> attention_rules() { return kRules; }

}  // namespace layline::pt2

// Scaled dot-product attention.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

struct Attention {
  /// Booleans say which keys a query sees; numbers are added to the scores. Broadcasts. A query
  /// that sees no key gets zeros.
  Value* mask = nullptr;
  bool causal = false;  // query i sees keys 0 to i; there is no mask then
  /// The places of the queries, i64[queries], or i64[1] for all of them; none is negative. A query
  /// sees keys 0 to its place; there is no mask then.
  Value* places = nullptr;
  std::optional<double> scale;  // 1 / sqrt(width of a head) if not given
  double cap = 0;               // scores are bent towards -cap and cap, unless it is 0
  bool grouped = false;         // a head of keys serves several heads of queries
};

/// What attention computes on its way. With grouped queries, all but the result are [..., groups,
/// heads of a group, queries, keys].
struct AttentionSteps {
  Value* scores;   // q k^T * scale
  Value* capped;   // these, bent
  Value* weights;  // what the values are weighted with
  Value* result;
};
AttentionSteps attention_steps(const Builder& build, Value* query, Value* key, Value* value,
                               const Attention& how);

/// softmax(q k^T * scale + mask) v, for [..., heads, rows, width].
Value* attention(const Builder& build, Value* query, Value* key, Value* value,
                 const Attention& how);

}  // namespace layline::ops

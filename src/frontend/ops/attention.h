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
  bool grouped = false;         // a head of keys serves several heads of queries
};

/// softmax(q k^T * scale + mask) v, for [..., heads, rows, width].
Value* attention(const Builder& build, Value* query, Value* key, Value* value,
                 const Attention& how);

}  // namespace layline::ops

// Linear attention: a matrix as the state of each head, to which every step adds, unrolled.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

struct LinearAttention {
  Value* decay = nullptr;  // logarithms of what is left of the state, [batch, heads, steps, width
                           // or 1]; null if all is left
  Value* rate = nullptr;   // how far a value replaces what the state has for the key, [batch, heads
                           // or 1, steps, 1]; null if it is added instead
  double scale = 1;        // of the results
};

struct LinearAttentionResults {
  Value* output;  // [batch, query heads, steps, value width]
  Value* state;
};

/// Reads and writes a state [batch, heads, width, value width]. Operands are [batch, heads, steps,
/// width]; a head of keys may serve several heads of queries.
LinearAttentionResults linear_attention(const Builder& build, Value* query, Value* key,
                                        Value* value, Value* state, const LinearAttention& how);

}  // namespace layline::ops

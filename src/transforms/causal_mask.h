// Masks that hide from a query at place p the keys after p: those of attention on a cache, whose
// places are known only when the graph runs.
#pragma once

#include "ir/graph.h"

namespace layline {

/// What a value is a view of.
Value* without_views(Value* value);
/// The node that computes the value, if it is this op and nothing else reads the value.
Node* sole(Value* value, Op op);

/// A mask that is added to scores [..., queries, keys]: 0 where a key is seen, and a number so low
/// that its exponential is 0 where it is hidden.
struct CausalMask {
  Value* condition;  // whether a key is seen
  Value* places;     // of the queries, [..., queries, 1]: no key after its place is seen
  bool hides_more;   // keys before the place may be hidden, too
};
std::optional<CausalMask> causal_mask(Value* mask);

/// Whether a factor of the weights is 1 for queries that see a key, and 0 for those that see none.
bool is_guard(const Value* factor, const Value* condition);

/// The first of the places start, start + 1 ...; null if the list is another one, or constant.
Value* first_place(Value* places);

}  // namespace layline

// What can be told of values before they are computed: which are finite, and which conditions hold
// always or never. Overflow is left aside: numbers are taken to be finite where the model computes
// them from finite ones.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace layline {

/// Computed from finite constants and contractions, such as scores and biases of attention, by ops
/// that keep numbers finite. Inputs may hold anything.
bool is_always_finite(const Value* value);

/// May come of infinities in constants, as a softmax over a row that a mask hides, or of a
/// division, a logarithm or a root. Inputs, and what layers with constant weights give, are taken
/// to be numbers.
bool may_be_nan(const Value* value);

/// The one value that all elements of a condition have, whatever the data; nothing if it depends.
///
///   not any(not (scores == -inf)), torch's test for a query that sees no key: false, if the scores
///   are finite, or finite but for a constant mask that leaves something in each row.
std::optional<bool> known_truth(const Value* condition);

}  // namespace layline

// What is known about values before they are computed: which are finite, and which conditions
// always or never hold. Overflow is left aside: numbers that the model computes from finite ones
// are taken to be finite.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace layline {

/// Whether the value is computed from finite constants and contractions, such as scores and biases
/// of attention, by ops that keep numbers finite. Inputs may hold anything.
bool is_always_finite(const Value* value);

/// Whether the value may be NaN. A NaN may come from infinities in constants (a softmax over a row
/// that a mask hides), from a division, a logarithm or a root. Inputs, and the results of layers
/// with constant weights, are taken to be numbers.
bool may_be_nan(const Value* value);

/// The one value that all elements of a condition have, whatever the data; nothing if it depends.
///
///   not any(not (scores == -inf)), torch's test for a query that sees no key: false, if the scores
///   are finite, or finite but for a constant mask that leaves something in each row.
std::optional<bool> known_truth(const Value* condition);

}  // namespace layline

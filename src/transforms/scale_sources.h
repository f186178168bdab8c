// Where the scale of a value comes from: the weights that can be multiplied by a number to multiply
// the value by it, and nothing else that anyone reads.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace layline {

/// An op with constant weights and which of its output channels go into the value.
struct ScaleSource {
  Node* op;
  std::vector<bool> channels;
};

/// The sources of what `reader` reads as `operand`. They are found through ops that move, cut, join
/// or add up elements, or multiply them by something else, such as a head split or a rotary
/// embedding. Other readers on the way may look only at channels that the value does not have: if
/// the value is the queries of a fused projection, at the keys and values. Nothing if another
/// reader looks at its channels, or if the value also comes from elsewhere.
std::optional<std::vector<ScaleSource>> scale_sources(const Node* reader, int operand);

}  // namespace layline

// Reads multiplications and additions of constants, one for each channel or one for all, as a batch
// norm makes them.
#pragma once

#include <optional>
#include <vector>

#include "algebra/relayout.h"
#include "ir/graph.h"

namespace layline {

/// y = x * scale + shift along the last axis, one entry for each channel.
struct Affine {
  Value* x;
  std::vector<double> scale, shift;
};

/// Reads the node as an affine map of one operand, in the coordinates that `relayout` gives its
/// result.
std::optional<Affine> affine(const Node& node, const Relayout& relayout);

bool is_uniform(const std::vector<double>& list, double value);

}  // namespace layline

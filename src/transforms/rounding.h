// How far rounding may take a right result: most of the time to the last digits of the largest
// element, but far beyond where large numbers cancel out. Of equal numbers that are centred nothing
// but their rounding is left, and a normalisation then magnifies it.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline {

/// For each output that is not fixed, by how much its elements may be off where every element of an
/// input and of an op's result may be off by 1e-5 of itself (in f16 and bf16, by 5e-4). How the ops
/// that follow magnify that is not derived but tried: the graph is evaluated with all elements
/// displaced, and as far as the outputs then move they may be off.
std::vector<double> rounding_of_outputs(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace layline

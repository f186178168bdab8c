// How far rounding may move a correct result. Mostly that is the last digits of the largest
// element, but it is far more where large numbers cancel out. If equal numbers are centred, nothing
// but their rounding is left, and a normalisation then magnifies it.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline {

/// By how much the elements of each output that is not fixed may be off, if every element of an
/// input and of an op's result may be off by 1e-5 of itself (in f16 and bf16, by 5e-4). How the ops
/// that follow magnify that is not derived but tried: the graph is evaluated with all elements
/// displaced. The outputs may be off by as much as they then move.
std::vector<double> rounding_of_outputs(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace layline

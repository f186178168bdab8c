// The reference evaluator: what a graph means. Slow and obvious; every pass is tested against it.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline {

/// The outputs of the graph that are not fixed. `inputs` has one tensor for each input that is not
/// fixed, in order, of the value's shape (that is, after its dim_order); they give the symbols of
/// the graph their values. Throws UserError, naming the node, for data that an op does not take.
std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs);

/// The result of one node. Its attributes must be static.
Tensor evaluate_node(const Node& node, std::span<const Tensor> operands);
Tensor evaluate_op(Op op, std::span<const Tensor> operands, const Attributes& attributes);

Tensor tensor_of(const Constant& constant);
/// The same of a value that is a constant, with its quantisation.
Tensor tensor_of(const Value* constant);

}  // namespace layline

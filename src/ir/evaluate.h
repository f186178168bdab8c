// The reference evaluator: what a graph means. Slow and obvious; every pass is tested against it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace layline {

/// The outputs of the graph that are not fixed, writes among them. `inputs` has one tensor for each
/// input that is not fixed, states among them, in order, of the value's shape (that is, after its
/// dim_order); they give the symbols of the graph their values. Throws UserError, naming the node,
/// for data that an op does not take. `observe` is shown the result of every node, in order, and
/// may change it before others use it.
using Observer = std::function<void(const Node& node, Tensor& result)>;
std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs,
                             const Observer& observe = {});

/// The result of one node. Its attributes must be static.
Tensor evaluate_node(const Node& node, std::span<const Tensor> operands);
Tensor evaluate_op(Op op, std::span<const Tensor> operands, const Attributes& attributes);

Tensor tensor_of(const Constant& constant);
/// The tensor of a value that is a constant, with its quantisation.
Tensor tensor_of(const Value* constant);

/// Convert a state's tensor from its form in the model to the one in memory, and back.
Tensor in_memory(const GraphInput& state, Tensor tensor);
Tensor in_model(const GraphInput& state, Tensor tensor);

}  // namespace layline

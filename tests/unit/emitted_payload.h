// The XNNPACK payload of a small graph, for tests.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "ir/graph.h"
#include "pte_reader.h"
#include "targets/xnnpack/delegate_builder.h"
#include "targets/xnnpack/kernels.h"

namespace layline::xnnpack {

/// The payload of a delegate that runs the whole graph.
inline PayloadReader emitted(const Graph& graph) {
  std::vector<Value*> inputs, outputs;
  for (const GraphInput& input : graph.inputs()) inputs.push_back(input.value);
  for (const GraphOutput& output : graph.outputs()) outputs.push_back(output.value);
  ConstantPool constants;
  DelegateBuilder delegate(constants, graph.symbol_table(), inputs, outputs);
  for (const Node* node : graph) {
    if (node->is(Op::constant)) continue;
    EXPECT_EQ(refusal(*node), "") << name(node->op());
    find_kernel(node->op())->emit(delegate, *node);
  }
  return PayloadReader(delegate.graph().serialize());
}

}  // namespace layline::xnnpack

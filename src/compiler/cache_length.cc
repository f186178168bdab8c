#include "compiler/cache_length.h"

#include <algorithm>
#include <set>

namespace layline {

std::optional<int64_t> cache_length(std::span<const Graph> graphs) {
  std::optional<int64_t> length;
  for (const Graph& graph : graphs) {
    std::set<int64_t> of_states;
    for (const GraphInput& input : graph.inputs())
      if (input.is_state() && is_float(input.value->dtype()))
        for (const Dim& dim : input.value->shape()) of_states.insert(dim.value());
    for (const Node* node : graph) {
      if (!node->is(Op::softmax)) continue;
      const Dim& looked_at =
          node->result()->shape()[static_cast<size_t>(node->attrs<AxisAttrs>().axis)];
      if (looked_at.is_static() && of_states.contains(looked_at.value()))
        length = std::max(length.value_or(0), looked_at.value());
    }
  }
  return length;
}

}  // namespace layline

#include "compiler/cache_length.h"

#include <algorithm>
#include <set>
#include <vector>

namespace layline {
namespace {

/// The products that a softmax looks over: attention masks, caps and joins them first, element by
/// element.
std::vector<const Value*> products_under(const Node& softmax) {
  std::vector<const Value*> products, open = {softmax.operand(0)};
  std::set<const Value*> seen;
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    const Node* node = value->def();
    if (node == nullptr || !seen.insert(value).second) continue;
    const OpClass kind = info(node->op()).op_class;
    if (node->is(Op::matmul))
      products.push_back(value);
    else if (kind == OpClass::elementwise || kind == OpClass::movement)
      open.insert(open.end(), node->operands().begin(), node->operands().end());
  }
  return products;
}

}  // namespace

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
      if (!looked_at.is_static()) continue;
      // The softmax may look at more than the cache: sinks of attention are joined to it.
      for (const Value* product : products_under(*node))
        for (const Dim& dim : product->shape())
          if (dim.is_static() && dim.value() <= looked_at.value() &&
              of_states.contains(dim.value()))
            length = std::max(length.value_or(0), dim.value());
    }
  }
  return length;
}

}  // namespace layline

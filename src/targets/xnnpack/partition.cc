#include "targets/xnnpack/partition.h"

#include <algorithm>
#include <unordered_map>

#include "targets/xnnpack/kernels.h"

namespace layline::xnnpack {
namespace {

struct Place {
  size_t level = 0;
  bool delegated = false;
};

/// What crosses the border of a part, in order of first use and of definition.
void find_border(Part& part) {
  std::unordered_map<const Value*, bool> inside;  // and whether it is already listed as an input
  for (const Node* node : part.nodes) inside.emplace(node->result(), false);
  for (const Node* node : part.nodes)
    for (Value* operand : node->operands())
      if (!stored_constant(operand) && inside.emplace(operand, true).second)
        part.inputs.push_back(operand);
  for (Node* node : part.nodes) {
    Value* result = node->result();
    const bool read_outside =
        result->output_uses() > 0 || std::ranges::any_of(result->uses(), [&](const Use& use) {
          return !inside.contains(use.user->result());
        });
    if (read_outside) part.outputs.push_back(result);
  }
}

bool only_views(const std::vector<Node*>& nodes) {
  return std::ranges::all_of(nodes, [](const Node* node) {
    return node->is(Op::relayout) && node->attrs<RelayoutAttrs>().relayout.is_view();
  });
}

}  // namespace

Partition partition(const Graph& graph, bool delegate) {
  Partition result;
  std::unordered_map<const Value*, Place> places;
  std::vector<std::vector<Node*>> delegated, kernels;
  for (Node* node : graph) {
    if (node->is(Op::constant)) continue;
    std::string why = delegate ? refusal(*node) : "delegation is disabled";
    Place place{0, why.empty()};
    if (!why.empty()) result.refused.push_back({node, std::move(why)});
    for (const Value* operand : node->operands()) {
      auto from = places.find(operand);
      if (from == places.end()) continue;
      // Kernels of a level run after its delegate, so a delegate that reads one is a level later.
      const bool next = place.delegated && !from->second.delegated;
      place.level = std::max(place.level, from->second.level + (next ? 1 : 0));
    }
    places.emplace(node->result(), place);
    auto& levels = place.delegated ? delegated : kernels;
    if (levels.size() <= place.level) levels.resize(place.level + 1);
    levels[place.level].push_back(node);
  }
  const size_t levels = std::max(delegated.size(), kernels.size());
  delegated.resize(levels);
  kernels.resize(levels);
  for (size_t level = 0; level < levels; ++level) {
    if (only_views(delegated[level])) {
      // Not worth a delegate; views are kernels that move nothing.
      kernels[level].insert(kernels[level].begin(), delegated[level].begin(),
                            delegated[level].end());
    } else {
      result.parts.push_back({true, std::move(delegated[level]), {}, {}});
    }
    for (Node* node : kernels[level]) result.parts.push_back({false, {node}, {}, {}});
  }
  for (Part& part : result.parts) find_border(part);
  return result;
}

}  // namespace layline::xnnpack

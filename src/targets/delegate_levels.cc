#include "targets/delegate_levels.h"

#include <algorithm>
#include <limits>

namespace layline {

std::vector<int> delegate_levels(const DelegateGraph& graph) {
  std::vector<int> levels(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const DelegateGraph::Node& node = graph.nodes[n];
    int& level = levels[n];
    if (node.delegated) level = 1;
    for (int operand : node.operands) {
      const auto from = static_cast<size_t>(operand);
      const bool begins_run = node.delegated && !graph.nodes[from].delegated;
      level = std::max(level, levels[from] + (begins_run ? 1 : 0));
    }
  }
  return levels;
}

void sink_nodes(const DelegateGraph& graph, std::vector<int>& levels) {
  std::vector<std::vector<int>> readers(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (int operand : graph.nodes[n].operands)
      readers[static_cast<size_t>(operand)].push_back(static_cast<int>(n));

  /// Whether the result of a delegated node leaves its delegate, if that is the one of `level`.
  auto leaves = [&](size_t n, int level) {
    return graph.nodes[n].is_output || std::ranges::any_of(readers[n], [&](int reader) {
             const auto r = static_cast<size_t>(reader);
             return !graph.nodes[r].delegated || levels[r] != level;
           });
  };
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const DelegateGraph::Node& node = graph.nodes[n];
    if (!node.delegated || readers[n].empty()) continue;
    int latest = std::numeric_limits<int>::max();
    for (int reader : readers[n]) latest = std::min(latest, levels[static_cast<size_t>(reader)]);
    const int before = levels[n];
    if (latest == before) continue;
    // Bytes across borders that depend on where this node is: its own, and those of its operands.
    auto crossing = [&](int level) {
      levels[n] = level;
      int64_t bytes = leaves(n, level) ? node.bytes : 0;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const auto from = static_cast<size_t>(node.operands[i]);
        const bool again = std::find(node.operands.begin(), node.operands.begin() + i,
                                     node.operands[i]) != node.operands.begin() + i;
        if (!again && graph.nodes[from].delegated && leaves(from, levels[from]))
          bytes += graph.nodes[from].bytes;
      }
      return bytes;
    };
    const int64_t late = crossing(latest), early = crossing(before);
    if (late < early) levels[n] = latest;
  }
}

}  // namespace layline

#include "frontend/moves.h"

namespace layline {

bool moves_data(const Node& node) {
  return node.is(Op::relayout) && !node.attrs<RelayoutAttrs>().relayout.is_view();
}

int64_t moves_after(const Graph& graph, const Node* last) {
  int64_t count = 0;
  for (const Node* node = last ? last->next() : graph.first(); node; node = node->next())
    count += moves_data(*node);
  return count;
}

}  // namespace layline

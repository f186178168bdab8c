// Removes nodes that no output depends on.
#include "transforms/passes.h"

namespace layline {

bool dead_code(Graph& graph, PassContext& context) {
  // Backwards, so that a node's users are gone before the node is looked at.
  bool changed = false;
  for (Node* node = graph.last(); node != nullptr;) {
    Node* previous = node->previous();
    const Value* result = node->result();
    if (result->uses().empty() && result->output_uses() == 0) {
      context.rewrite(*node, "no output depends on it");
      graph.erase(node);
      changed = true;
    }
    node = previous;
  }
  return changed;
}

}  // namespace layline

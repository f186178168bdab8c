// The target's own lowering, run like any other pass.
#include "transforms/passes.h"

namespace layline {

bool legalise(Graph& graph, PassContext& context) {
  return context.target().legalise != nullptr && context.target().legalise(graph);
}

}  // namespace layline

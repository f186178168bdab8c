// The target's own lowering, run like any other pass.
#include "transforms/passes.h"

namespace layline {

bool legalise(Graph& graph, PassContext& context) {
  return context.target().legalise && context.target().legalise(graph, context);
}

}  // namespace layline

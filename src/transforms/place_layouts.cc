// Chooses a loop order for every op so that the relayouts left between them cost the least over the
// whole graph. The choice is exact among the candidates, and the certificate says so (layout/).
#include "layout/placement.h"
#include "transforms/passes.h"

namespace layline {

bool place_layouts(Graph& graph, PassContext& context) {
  const TargetOrders& target = context.target().orders;
  const PlacementProblem problem = find_candidates(graph, target);
  const Placement placement = place(problem, target.moves);
  context.certify(placement.certificate);
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    const auto chosen = static_cast<size_t>(placement.order[n]);
    const PlacedNode& node = problem.nodes[n];
    if (chosen > 0)
      context.rewrite(*node.node, "runs in order {} ({} of {} candidates)",
                      to_string(node.orders[chosen].result), chosen + 1, node.orders.size());
  }
  return apply_placement(graph, problem, placement);
}

}  // namespace layline

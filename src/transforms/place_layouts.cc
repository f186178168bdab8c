// Chooses a loop order for every op so that the relayouts left between them cost the least over the
// whole graph. The certificate says what is proved of the choice (layout/).
#include "layout/placement.h"
#include "layout/proof/proof.h"
#include "transforms/passes.h"

namespace layline {
namespace {

/// Whether an order is made possible by moving constants: the relayout is done at compile time.
bool moves_weights(const Node& node, const LoopOrder& order) {
  if (info(node.op()).op_class != OpClass::contraction) return false;
  for (int i = 1; i < node.operand_count(); ++i)
    if (stored_constant(node.operand(i)) && !order.operands[static_cast<size_t>(i)].is_view())
      return true;
  return false;
}

}  // namespace

bool place_layouts(Graph& graph, PassContext& context) {
  const TargetOrders target = context.target().orders_for(graph);
  Placement placement = place(graph, target, context.last_time(), context.placement_limits());
  const PlacementProblem& problem = placement.problem;
  for (NodeIndex n : problem.nodes.indices()) {
    const OrderIndex chosen = placement.order[n];
    const PlacedNode& node = problem.nodes[n];
    if (node.state) continue;
    if (chosen == kSourceOrder) {
      context.explain(*node.node, "keeps its order, one of {} that were possible",
                      node.orders.size());
      continue;
    }
    const LoopOrder& order = node.orders[chosen];
    const bool absorbs = moves_weights(*node.node, order);
    placement.certificate.absorbed += absorbs;
    context.rewrite(*node.node, "its result is held as {}{}, one of {} orders that were possible",
                    context.explains() ? to_string(order.result) : "",
                    absorbs ? ", its weights are reordered" : "", node.orders.size());
  }
  if (context.proof() != nullptr && context.last_time())
    *context.proof() = proof_of(graph.name(), placement, target.moves);
  context.certify(placement.certificate);
  return apply_placement(graph, placement);
}

}  // namespace layline

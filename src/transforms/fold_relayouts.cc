// Composes relayouts that follow each other, where one relayout can do both, and drops those that
// do nothing.
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// Whether reading through `first` to its operand costs nothing: the first relayout goes away, or
/// what replaces the second moves no data that the second did not move.
bool is_worth_it(const Value* between, const Relayout& second, const Relayout& composed) {
  return between->has_one_use() || composed.is_view() || !second.is_view();
}

/// Whether kernels do the two movements one by one, but none does both together: they stay two.
bool needs_two_kernels(const Relayout& first, const Relayout& second, const Relayout& composed,
                       size_t most_factors) {
  return composed.factors().size() > most_factors && first.factors().size() <= most_factors &&
         second.factors().size() <= most_factors;
}

}  // namespace

bool fold_relayouts(Graph& graph, PassContext& context) {
  const size_t most_factors = context.target().orders.moves.most_factors;
  bool changed = false;
  for (Node* node : graph) {
    const Relayout* second = relayout_of(node->result());
    if (second == nullptr) continue;
    Value* operand = node->operand(0);
    if (second->is_identity()) {
      context.rewrite(*node, "moves nothing");
      replace(graph, node, operand);
      changed = true;
      continue;
    }
    const Relayout* first = relayout_of(operand);
    if (first == nullptr) continue;
    const std::optional<Relayout> composed = first->then(*second);
    if (!composed) {
      context.explain(*node, "no single relayout does both {} and {}", to_string(*first),
                      to_string(*second));
      continue;
    }
    if (!is_worth_it(operand, *second, *composed)) continue;
    if (needs_two_kernels(*first, *second, *composed, most_factors)) {
      context.explain(*node,
                      "with {} before it has {} factors, more than the {} that a kernel moves",
                      operand->name(), composed->factors().size(), most_factors);
      continue;
    }
    context.rewrite(*node, "with {} before it is {}", operand->name(),
                    composed->is_identity() ? "nothing" : to_string(*composed));
    replace(graph, node, BuildBefore(graph, node).relayout(operand->def()->operand(0), *composed));
    changed = true;
  }
  return changed;
}

}  // namespace layline

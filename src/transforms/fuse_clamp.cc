// Lets the op that computes a value clamp it too.
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
bool fuse_clamp(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::clamp)) continue;
    // Moving commutes with clamping: the op may stand above relayouts.
    std::vector<const Relayout*> moves;
    Value* x = node->operand(0);
    for (; relayout_of(x) != nullptr && x->has_one_use(); x = x->def()->operand(0))
      moves.push_back(relayout_of(x));
    // Integers wrap around before a separate clamp, but not before a fused one. Quantised numbers
    // do not; rounding is monotone, so they may be clamped before it as well as after, if the clamp
    // does not change the scale.
    const bool rounded_alike = x->type().quantisation == node->result()->type().quantisation;
    const bool wraps = !is_float(x->dtype()) && !x->type().quantisation;
    if (x->def() == nullptr || !x->has_one_use() || !rounded_alike || wraps) continue;
    Attributes attributes = x->def()->attributes();
    Bounds* bounds = bounds_of(attributes);
    if (bounds == nullptr) continue;
    *bounds = clamped_twice(*bounds, node->attrs<ClampAttrs>().bounds);
    // Two clamps that leave one number: kernels of other ops take ranges only.
    if (bounds->min == bounds->max && !x->def()->is(Op::clamp)) continue;
    context.rewrite(*node, "{} clamps to [{}, {}]", x->name(), bounds->min, bounds->max);
    const BuildBefore build(graph, node, x->def()->origin());
    const auto operands = x->def()->operands();
    Value* clamped =
        build.add(x->def()->op(), {operands.begin(), operands.end()}, std::move(attributes));
    for (size_t i = moves.size(); i-- > 0;) clamped = build.relayout(clamped, *moves[i]);
    replace(graph, node, clamped);
    changed = true;
  }
  return changed;
}

}  // namespace layline

// Moves a relayout above a pad: less data is moved, and the pad comes to stand before the window op
// that may take it in.
#include <algorithm>

#include "transforms/carry.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

bool only_windows_read(const Value* value) {
  return value->output_uses() == 0 && std::ranges::all_of(value->uses(), [](const Use& use) {
           const OpClass op_class = info(use.user->op()).op_class;
           return op_class == OpClass::contraction || op_class == OpClass::window;
         });
}

}  // namespace

bool hoist_relayouts(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    const Relayout* relayout = relayout_of(node->result());
    if (relayout == nullptr || relayout->is_view() || !only_windows_read(node->result())) continue;
    Node* pad = node->operand(0)->def();
    if (pad == nullptr || !pad->is(Op::pad) || !pad->result()->has_one_use()) continue;
    Value* x = pad->operand(0);
    const Relayout back = relayout->inverse();
    const auto back_of_x = with_target_sizes(back, x->shape());
    const auto carried = back_of_x ? carry(*pad, 0, *back_of_x) : std::nullopt;
    if (!carried || carried->result != back) continue;

    context.rewrite(*node, "moves above {}: less to move", pad->result()->name());
    Value* moved = BuildBefore(graph, node).relayout(x, carried->operands[0]);
    const BuildBefore build(graph, node, pad->origin());
    replace(graph, node, build.add(Op::pad, {moved}, carried->attributes));
    changed = true;
  }
  return changed;
}

}  // namespace layline

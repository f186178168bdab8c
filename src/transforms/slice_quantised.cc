// Cuts integers before they are dequantised: a quarter of the bytes. q, k and v of attention and
// the halves of a shuffle are slices of one value that the model dequantises first. It comes after
// placement, which is the same for the slices of integers and of real numbers.
#include <algorithm>

#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// Whether all that reads the real numbers are slices: otherwise they would be computed twice.
bool is_only_cut(const Value* real) {
  return real->output_uses() == 0 &&
         std::ranges::all_of(real->uses(), [](const Use& use) { return use.user->is(Op::slice); });
}

}  // namespace

bool slice_quantised(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::slice)) continue;
    const Node* dequantize = node->operand(0)->def();
    if (dequantize == nullptr || !dequantize->is(Op::dequantize) || !is_only_cut(node->operand(0)))
      continue;
    Value* integers = dequantize->operand(0);
    if (!integers->type().quantisation->per_tensor()) continue;
    context.rewrite(*node, "is cut from {} before it is dequantised", integers->name());
    const BuildBefore build(graph, node);
    Value* slice = build.add(Op::slice, {integers}, node->attributes());
    replace(graph, node, build.add(Op::dequantize, {slice}));
    changed = true;
  }
  return changed;
}

}  // namespace layline

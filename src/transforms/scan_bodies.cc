#include <algorithm>

#include "ir/body.h"
#include "transforms/passes.h"
#include "transforms/pipeline.h"

namespace layline {
namespace {

/// The body after all passes; null if none changes it.
std::shared_ptr<const Graph> optimised(const Graph& body, PassContext& context) {
  auto copy = std::make_shared<Graph>(copy_of(body));
  bool changed = false;
  for (const PassReport& pass : run_pipeline(*copy, {.target = context.target()}).passes)
    changed = changed || pass.changes > 0;
  return changed ? copy : nullptr;
}

}  // namespace

/// Scans with the same body have the same one afterwards.
bool scan_bodies(Graph& graph, PassContext& context) {
  std::vector<std::pair<BodyRef, BodyRef>> known;
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::scan)) continue;
    ScanAttrs attrs = node->attrs<ScanAttrs>();
    auto found = std::ranges::find(known, attrs.body, &std::pair<BodyRef, BodyRef>::first);
    if (found == known.end())
      found = known.insert(known.end(), {attrs.body, {optimised(*attrs.body.graph, context)}});
    if (!found->second.graph) continue;
    attrs.body = found->second;
    context.rewrite(*node, "the passes ran on its body");
    graph.set_insertion_point(node);
    Value* result = graph.add(Op::scan, {node->operands().begin(), node->operands().end()},
                              std::move(attrs), node->origin(), node->result()->name());
    graph.set_insertion_point(nullptr);
    graph.replace_all_uses(node->result(), result);
    graph.erase(node);
    changed = true;
  }
  return changed;
}

}  // namespace layline

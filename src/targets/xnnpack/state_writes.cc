#include "targets/xnnpack/state_writes.h"

#include <algorithm>

namespace layline::xnnpack {
namespace {

bool is_view(const Node& node) {
  return node.is(Op::relayout) && node.attrs<RelayoutAttrs>().relayout.is_view();
}

class Steps {
 public:
  explicit Steps(const Partition& partition) : partition_(partition) {
    for (size_t step = 0; step < partition.parts.size(); ++step)
      for (const Node* node : partition.parts[step].nodes) steps_.emplace(node, step);
  }

  /// Whether everything that reads `old`, or a view of it, is done when `writer` writes.
  bool is_read_before(const Value* old, const Node& writer) const {
    if (old->output_uses() > 0) return false;
    return std::ranges::all_of(old->uses(), [&](const Use& use) {
      const bool reads_in_time = steps_.at(use.user) < steps_.at(&writer) ||
                                 (use.user == &writer && writes_in_place(writer, old));
      // The outputs of a view that is one are copied when it runs.
      return reads_in_time && (!is_view(*use.user) || use.user->result()->output_uses() > 0 ||
                               is_read_before(use.user->result(), writer));
    });
  }

 private:
  bool writes_in_place(const Node& writer, const Value* old) const {
    return !partition_.parts[steps_.at(&writer)].delegated && is_elementwise(writer.op()) &&
           old->type() == writer.result()->type();
  }

  const Partition& partition_;
  std::unordered_map<const Node*, size_t> steps_;
};

}  // namespace

std::unordered_map<const Value*, size_t> in_place_writes(const Graph& graph,
                                                         const Partition& partition) {
  const Steps steps(partition);
  std::unordered_map<const Value*, size_t> writes;
  for (const GraphOutput& output : graph.outputs()) {
    if (!output.writes || !graph.inputs()[*output.writes].is_state()) continue;
    const Node* writer = output.value->def();
    if (writer == nullptr || writer->is(Op::constant)) continue;
    const bool reordered = std::ranges::any_of(results(graph), [&](const GraphOutput& result) {
      return result.value == output.value && !std::ranges::is_sorted(result.dim_order);
    });
    if (!reordered && steps.is_read_before(graph.inputs()[*output.writes].value, *writer))
      writes.emplace(output.value, *output.writes);
  }
  return writes;
}

}  // namespace layline::xnnpack

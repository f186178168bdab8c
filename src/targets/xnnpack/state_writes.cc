#include "targets/xnnpack/state_writes.h"

#include <algorithm>

namespace layline::xnnpack {
namespace {

bool is_view(const Node& node) {
  return node.is(Op::relayout) && node.attrs<RelayoutAttrs>().relayout.is_view();
}

/// Whether the result may be a part of the operand's memory (MethodBuilder::define_run).
bool shares_memory(const Node& node) { return is_view(node) || node.is(Op::counted_slice); }

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
      return reads_in_time && (!shares_memory(*use.user) || use.user->result()->output_uses() > 0 ||
                               is_read_before(use.user->result(), writer));
    });
  }

  /// What a value is a view of, as long as that is made outside delegates. Only a write to slices
  /// is looked for: other values are computed in the shape that they have.
  const Value* outside(const Value* value) const {
    const Value* base = value;
    while (base->def() && is_view(*base->def()) &&
           !partition_.parts[steps_.at(base->def())].delegated)
      base = base->def()->operand(0);
    return base->def() && base->def()->is(Op::scatter) ? base : value;
  }

 private:
  /// Whether the writer may find its result's memory full of this operand.
  bool writes_in_place(const Node& writer, const Value* old) const {
    if (partition_.parts[steps_.at(&writer)].delegated) return false;
    if (writer.is(Op::scatter)) return std::ranges::count(writer.operands().subspan(1), old) == 0;
    return is_elementwise(writer.op()) && old->type() == writer.result()->type();
  }

  const Partition& partition_;
  std::unordered_map<const Node*, size_t> steps_;
};

/// What a value is a view of: the same bytes.
const Value* viewed(const Value* value) {
  while (value->def() && is_view(*value->def())) value = value->def()->operand(0);
  return value;
}

/// The value before this write to a state; null if the value is written anew.
const Value* written_to(const Value* value) {
  const Node* writer = value->def();
  return writer->is(Op::scatter) ? viewed(writer->operand(0)) : nullptr;
}

}  // namespace

std::unordered_map<const Value*, size_t> in_place_writes(const Graph& graph,
                                                         const Partition& partition) {
  const Steps steps(partition);
  std::unordered_map<const Value*, size_t> writes;
  for (const GraphOutput& output : graph.outputs()) {
    if (!output.writes || !graph.inputs()[*output.writes].is_state()) continue;
    const Value* state = graph.inputs()[*output.writes].value;
    const bool reordered = std::ranges::any_of(results(graph), [&](const GraphOutput& result) {
      return result.value == output.value && !std::ranges::is_sorted(result.dim_order);
    });
    if (reordered) continue;
    // One write may follow another: each finds what the one before has left.
    std::vector<const Value*> written;
    const Value* last = steps.outside(output.value);
    for (const Value* value = output.value; value != last; value = value->def()->operand(0))
      written.push_back(value);
    for (const Value* value = last; value != state;) {
      const Node* writer = value->def();
      // A loop gives some of its results earlier than where they stand.
      if (writer == nullptr || writer->is(Op::constant) || writer->is(Op::scan)) break;
      const Value* old = written_to(value);
      const bool is_first = old == nullptr || old == state;
      if (!steps.is_read_before(is_first ? state : old, *writer)) break;
      written.push_back(value);
      if (is_first) {
        for (const Value* done : written) writes.emplace(done, *output.writes);
        break;
      }
      value = old;
    }
  }
  return writes;
}

}  // namespace layline::xnnpack

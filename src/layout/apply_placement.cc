#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "ir/builder.h"
#include "layout/placement.h"

namespace layline {
namespace {

class Application {
 public:
  Application(Graph& graph, const Placement& placement)
      : graph_(graph),
        problem_(placement.problem),
        placement_(placement),
        held_(placement.problem.values.size()) {}

  void run() {
    for (ValueIndex v : problem_.values.indices())
      if (!problem_.values[v].producer) held_[v] = {problem_.values[v].root, kOwnForm, {}};
    // Nodes come in the sequence of the graph, so that what a node reads has been written.
    std::unordered_map<const Node*, NodeIndex> index;
    index.reserve(problem_.nodes.size());
    for (NodeIndex n : problem_.nodes.indices()) {
      if (problem_.nodes[n].state)
        reorder_state(n);
      else
        index.emplace(problem_.nodes[n].node, n);
    }
    for (Node* node : graph_)
      if (auto placed = index.find(node); placed != index.end()) rewrite(placed->second);
    graph_.set_insertion_point(nullptr);
    for (size_t i = 0; i < problem_.outputs.size(); ++i)
      if (const auto& output = problem_.outputs[i])
        graph_.set_output(i, in_form(output->value, output->form), graph_.outputs()[i].dim_order);
    for (NodeIndex n : problem_.nodes.indices())
      if (problem_.nodes[n].state) write_state(n);
    // Nobody reads the old relayouts any more, nor the nodes that have been written anew.
    for (Node* node = graph_.last(); node != nullptr;) {
      Node* previous = node->previous();
      if (node->result()->uses().empty() && node->result()->output_uses() == 0) graph_.erase(node);
      node = previous;
    }
  }

 private:
  /// A value as it has been written, and the copies of it in other forms.
  struct Held {
    Value* written = nullptr;
    FormIndex form;  // in which it was written
    std::map<FormIndex, Value*> copies;
  };

  Value* in_form(ValueIndex value, FormIndex form) {
    Held& held = held_[value];
    LAYLINE_ASSERT(held.written != nullptr, "a value is read before it is written");
    if (form == held.form) return held.written;
    if (auto known = held.copies.find(form); known != held.copies.end()) return known->second;
    const auto& forms = problem_.values[value].forms;
    const Relayout& to = forms[form];
    // The same bytes may be there already, in another shape.
    Value* from = held.written;
    const Relayout* from_form = &forms[held.form];
    for (const auto& [other, copy] : held.copies) {
      if (!forms[other].moves_like(to) || from_form->moves_like(to)) continue;
      from = copy;
      from_form = &forms[other];
    }
    graph_.set_insertion_point(from->def() ? from->def()->next() : graph_.first());
    const Builder build(graph_, origin_of(value));
    const Relayout back = from_form->inverse();
    const auto both = back.then(to);
    Value* copy =
        both ? build.relayout(from, *both) : build.relayout(build.relayout(from, back), to);
    held.copies.emplace(form, copy);
    return copy;
  }

  /// Has a run read a state in the order that is chosen for it.
  void reorder_state(NodeIndex index) {
    const PlacedNode& placed = problem_.nodes[index];
    const size_t input = *graph_.outputs()[*placed.state].writes;
    const OrderIndex chosen = placement_.order[index];
    Held& held = held_[placed.result];
    held.form = placed.writes[chosen];
    held.written = chosen == kSourceOrder
                       ? graph_.inputs()[input].value
                       : graph_.reorder_state(input, placed.orders[chosen].result);
  }

  /// Has a run write the state for the next run in that order.
  void write_state(NodeIndex index) {
    const PlacedNode& placed = problem_.nodes[index];
    Value* value = in_form(placed.operands[0]->value, *placed.reads[placement_.order[index]][0]);
    const size_t input = *graph_.outputs()[*placed.state].writes;
    graph_.set_output(*placed.state, value, graph_.inputs()[input].dim_order);
  }

  OriginRef origin_of(ValueIndex value) const {
    const Value* root = problem_.values[value].root;
    if (root->def() != nullptr) return root->def()->origin();
    return std::make_shared<const Origin>(Origin{root->name(), "", ""});
  }

  void rewrite(NodeIndex index) {
    const PlacedNode& placed = problem_.nodes[index];
    const OrderIndex chosen = placement_.order[index];
    const LoopOrder& order = placed.orders[chosen];
    std::vector<Value*> operands;
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      Value* own = placed.node->operand(static_cast<int>(i));
      if (placed.operands[i]) {
        operands.push_back(in_form(placed.operands[i]->value, *placed.reads[chosen][i]));
      } else {
        graph_.set_insertion_point(placed.node);
        operands.push_back(Builder(graph_, own->def()->origin()).relayout(own, order.operands[i]));
      }
    }
    Held& held = held_[placed.result];
    held.form = placed.writes[chosen];
    if (chosen == kSourceOrder) {
      for (size_t i = 0; i < operands.size(); ++i)
        if (operands[i] != placed.node->operand(static_cast<int>(i)))
          graph_.set_operand(placed.node, static_cast<int>(i), operands[i]);
      held.written = placed.node->result();
      return;
    }
    if (order.swapped) std::swap(operands[0], operands[1]);
    graph_.set_insertion_point(placed.node);
    held.written =
        graph_.add(placed.node->op(), std::move(operands), order.attributes, placed.node->origin());
  }

  Graph& graph_;
  const PlacementProblem& problem_;
  const Placement& placement_;
  Indexed<ValueIndex, Held> held_;
};

}  // namespace

bool apply_placement(Graph& graph, const Placement& placement) {
  if (std::ranges::all_of(placement.order, [](OrderIndex order) { return order == kSourceOrder; }))
    return false;
  Application(graph, placement).run();
  return true;
}

}  // namespace layline

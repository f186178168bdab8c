#include <algorithm>
#include <map>

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
    for (size_t v = 0; v < problem_.values.size(); ++v)
      if (problem_.values[v].producer < 0) held_[v] = {problem_.values[v].root, 0, {}};
    // Nodes in the order of the graph, so that what a node reads has been written.
    std::unordered_map<const Node*, int> index;
    index.reserve(problem_.nodes.size());
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      if (problem_.nodes[n].state)
        reorder_state(n);
      else
        index.emplace(problem_.nodes[n].node, static_cast<int>(n));
    }
    for (Node* node : graph_)
      if (auto placed = index.find(node); placed != index.end()) rewrite(placed->second);
    graph_.set_insertion_point(nullptr);
    for (size_t i = 0; i < problem_.outputs.size(); ++i) {
      const auto [value, form] = problem_.outputs[i];
      if (value >= 0) graph_.set_output(i, in_form(value, form), graph_.outputs()[i].dim_order);
    }
    for (size_t n = 0; n < problem_.nodes.size(); ++n)
      if (problem_.nodes[n].state) write_state(n);
    // What nobody reads any more: the relayouts and the nodes that have been written anew.
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
    int form = 0;
    std::map<int, Value*> copies;
  };

  Value* in_form(int value, int form) {
    Held& held = held_[static_cast<size_t>(value)];
    LAYLINE_ASSERT(held.written != nullptr, "a value is read before it is written");
    if (form == held.form) return held.written;
    if (auto known = held.copies.find(form); known != held.copies.end()) return known->second;
    const auto& forms = problem_.values[static_cast<size_t>(value)].forms;
    const Relayout& to = forms[static_cast<size_t>(form)];
    // The same bytes may be there already, in another shape.
    Value* from = held.written;
    const Relayout* from_form = &forms[static_cast<size_t>(held.form)];
    for (const auto& [other, copy] : held.copies) {
      if (!forms[static_cast<size_t>(other)].moves_like(to) || from_form->moves_like(to)) continue;
      from = copy;
      from_form = &forms[static_cast<size_t>(other)];
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

  size_t chosen(size_t node) const { return static_cast<size_t>(placement_.order[node]); }

  /// What a run reads of a state, in the order that is chosen for it.
  void reorder_state(size_t index) {
    const PlacedNode& placed = problem_.nodes[index];
    const size_t input = *graph_.outputs()[*placed.state].writes;
    Held& held = held_[static_cast<size_t>(placed.result)];
    held.form = placed.writes[chosen(index)];
    held.written = chosen(index) == 0
                       ? graph_.inputs()[input].value
                       : graph_.reorder_state(input, placed.orders[chosen(index)].result);
  }

  /// What it writes there for the next.
  void write_state(size_t index) {
    const PlacedNode& placed = problem_.nodes[index];
    Value* value = in_form(placed.operands[0], placed.reads[chosen(index)][0]);
    const size_t input = *graph_.outputs()[*placed.state].writes;
    graph_.set_output(*placed.state, value, graph_.inputs()[input].dim_order);
  }

  OriginRef origin_of(int value) const {
    const Value* root = problem_.values[static_cast<size_t>(value)].root;
    if (root->def() != nullptr) return root->def()->origin();
    return std::make_shared<const Origin>(Origin{root->name(), "", ""});
  }

  void rewrite(int index) {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(index)];
    const auto chosen = static_cast<size_t>(placement_.order[static_cast<size_t>(index)]);
    const LoopOrder& order = placed.orders[chosen];
    std::vector<Value*> operands;
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      Value* own = placed.node->operand(static_cast<int>(i));
      if (placed.operands[i] >= 0) {
        operands.push_back(in_form(placed.operands[i], placed.reads[chosen][i]));
      } else {
        graph_.set_insertion_point(placed.node);
        operands.push_back(Builder(graph_, own->def()->origin()).relayout(own, order.operands[i]));
      }
    }
    Held& held = held_[static_cast<size_t>(placed.result)];
    held.form = placed.writes[chosen];
    if (chosen == 0) {
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
  std::vector<Held> held_;
};

}  // namespace

bool apply_placement(Graph& graph, const Placement& placement) {
  if (std::ranges::all_of(placement.order, [](int order) { return order == 0; })) return false;
  Application(graph, placement).run();
  return true;
}

}  // namespace layline

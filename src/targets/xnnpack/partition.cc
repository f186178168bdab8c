#include "targets/xnnpack/partition.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "targets/delegate_levels.h"
#include "targets/xnnpack/kernels.h"
#include "targets/xnnpack/payload.h"

namespace layline::xnnpack {
namespace {

constexpr const char* kNotWorth = "not worth a delegate of its own";
constexpr const char* kTooWide = "it reads more than one delegate takes";

bool is_view(const Node& node) {
  return node.is(Op::relayout) && node.attrs<RelayoutAttrs>().relayout.is_view();
}

/// The part with the values that cross its border, in order of first use and of definition.
Part with_border(Part part) {
  std::unordered_map<const Value*, bool> inside;  // and whether it is already listed as an input
  for (const Node* node : part.nodes) inside.emplace(node->result(), false);
  for (const Node* node : part.nodes)
    for (Value* operand : node->operands())
      if (!stored_constant(operand) && inside.emplace(operand, true).second)
        part.inputs.push_back(operand);
  for (Node* node : part.nodes) {
    Value* result = node->result();
    const bool read_outside =
        result->output_uses() > 0 || std::ranges::any_of(result->uses(), [&](const Use& use) {
          return !inside.contains(use.user->result());
        });
    if (read_outside) part.outputs.push_back(result);
  }
  return part;
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, bool delegate) : symbols_(graph.symbol_table()) {
    for (Node* node : graph) {
      if (node->is(Op::constant)) continue;
      index_.emplace(node->result(), static_cast<int>(nodes_.size()));
      nodes_.push_back(node);
      why_.push_back(delegate ? refusal(*node) : "delegation is disabled");
    }
  }

  Partition run() {
    choose_side_of_views();
    describe();
    levels_ = delegate_levels(graph_);
    sink_nodes(graph_, levels_);
    const int last = levels_.empty() ? 0 : *std::ranges::max_element(levels_);
    std::vector<std::vector<size_t>> delegated(static_cast<size_t>(last) + 1), kernels = delegated;
    for (size_t n = 0; n < nodes_.size(); ++n)
      (graph_.nodes[n].delegated ? delegated : kernels)[static_cast<size_t>(levels_[n])].push_back(
          n);
    Partition result;
    for (size_t level = 0; level < delegated.size(); ++level) {
      add_delegate(delegated[level], result);
      for (size_t n : kernels[level])
        result.parts.push_back(with_border({false, {nodes_[n]}, std::move(why_[n])}));
    }
    return result;
  }

 private:
  int producer(const Value* value) const {
    const auto found = index_.find(value);
    return found == index_.end() ? -1 : found->second;
  }

  /// Puts views into delegates or outside; they cost nothing on either side. A view goes with what
  /// computes its operand, so that it is never a border. A view of something that no delegate
  /// computes goes with its users.
  void choose_side_of_views() {
    std::vector<bool> for_delegates(nodes_.size(), true);
    for (size_t n = nodes_.size(); n-- > 0;) {
      const Value* result = nodes_[n]->result();
      for_delegates[n] =
          why_[n].empty() &&
          (!is_view(*nodes_[n]) ||
           (result->output_uses() == 0 && std::ranges::all_of(result->uses(), [&](const Use& use) {
              return for_delegates[static_cast<size_t>(producer(use.user->result()))];
            })));
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (!why_[n].empty() || !is_view(*nodes_[n]) || for_delegates[n]) continue;
      const int from = producer(nodes_[n]->operand(0));
      if (from < 0 || !why_[static_cast<size_t>(from)].empty()) why_[n] = kNotWorth;
    }
  }

  void describe() {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Value* result = nodes_[n]->result();
      DelegateGraph::Node node{
          why_[n].empty(), result->output_uses() > 0,
          static_cast<int64_t>(byte_count({result->dtype(), symbols_.greatest(result->shape())}))};
      for (const Value* operand : nodes_[n]->operands())
        if (const int from = producer(operand); from >= 0) node.operands.push_back(from);
      graph_.nodes.push_back(std::move(node));
    }
  }

  /// Adds one delegate, or several if more crosses its border than the runtime takes. Nodes stand
  /// in topological order, so each half is convex.
  void add_delegate(std::span<const size_t> members, Partition& result) const {
    if (members.empty()) return;
    std::vector<Node*> nodes;
    for (size_t n : members) nodes.push_back(nodes_[n]);
    if (std::ranges::all_of(nodes, [](const Node* node) { return is_view(*node); })) {
      for (Node* node : nodes) result.parts.push_back(with_border({false, {node}, kNotWorth}));
      return;
    }
    Part part = with_border({true, std::move(nodes)});
    if (part.inputs.size() + part.outputs.size() <= kMaxExternals) {
      result.parts.push_back(std::move(part));
    } else if (members.size() == 1) {
      part.delegated = false;
      part.why = kTooWide;
      result.parts.push_back(std::move(part));
    } else {
      add_delegate(members.first(members.size() / 2), result);
      add_delegate(members.subspan(members.size() / 2), result);
    }
  }

  std::vector<Node*> nodes_;
  std::vector<std::string> why_;  // why a node is in no delegate; empty if it is
  std::unordered_map<const Value*, int> index_;
  const SymbolTable& symbols_;
  DelegateGraph graph_;
  std::vector<int> levels_;
};

}  // namespace

Partition partition(const Graph& graph, bool delegate) {
  return Partitioner(graph, delegate).run();
}

}  // namespace layline::xnnpack

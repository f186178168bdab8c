#include "layout/candidates.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/error.h"
#include "layout/all_orders.h"
#include "layout/crossings.h"
#include "layout/graph_digits.h"
#include "layout/joint_order.h"
#include "layout/slice_places.h"

namespace layline {
namespace {

struct Root {
  Value* value;
  Relayout from_root;  // from the root's shape to the operand's
};

/// Follows relayouts upwards as long as they are one relayout together.
Root trace(Value* value) {
  Root root{value, Relayout::identity(value->shape())};
  while (root.value->def() != nullptr && root.value->def()->is(Op::relayout)) {
    const Node& node = *root.value->def();
    auto both = node.attrs<RelayoutAttrs>().relayout.then(root.from_root);
    if (!both) break;
    root = {node.operand(0), *std::move(both)};
  }
  return root;
}

}  // namespace

class Candidates::Finder {
 public:
  /// Knows the order of the source for every op, until `find` adds others.
  Finder(const Graph& graph, const TargetOrders& target, const PlacementLimits& limits)
      : graph_(graph), target_(target), limits_(limits) {
    problem_.nodes.reserve(graph_.node_count());
    problem_.values.reserve(graph_.node_count() + graph_.inputs().size());
    index_.reserve(graph_.node_count() + graph_.inputs().size());
    for (const GraphInput& input : graph_.inputs())
      if (input.value) value_index(input.value);
    add_nodes();
    add_outputs();
  }

  void find() {
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      offer_innermost(static_cast<int>(n));
      offer_slice_places(static_cast<int>(n));
    }
    spread();
    join_orders();
  }

  const PlacementProblem& problem() const { return problem_; }
  PlacementProblem take() { return std::move(problem_); }

  /// What is new at its neighbours is offered to the op first, so that it holds it in the same
  /// shape. Nothing spreads further: whoever takes part in the proof is completed in its turn.
  bool complete(int node) {
    PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    if (placed.complete) return true;
    if (digits_.empty()) digits_ = find_digits(problem_);
    completing_ = true;
    offer_neighbours(node);
    auto missing = missing_orders(placed);
    if (missing) {
      for (const LoopOrder& order : *missing) add_order(node, order);
      placed.complete = true;
    }
    pending_.clear();
    completing_ = false;
    return placed.complete;
  }

 private:
  /// The nodes that take part: every op but constants, and relayouts only where a reader's path to
  /// the root could not be composed across them.
  void add_nodes() {
    for (Node* node : graph_) {
      if (node->is(Op::constant) || node->is(Op::relayout)) continue;
      add_node(node);
    }
  }

  int value_index(Value* value) {
    auto [entry, added] = index_.emplace(value, static_cast<int>(problem_.values.size()));
    if (!added) return entry->second;
    const int index = entry->second;
    problem_.values.push_back({value, -1, {}, {}});
    // A relayout that could not be composed is an op like any other, with one order.
    if (value->def() != nullptr && value->def()->is(Op::relayout)) add_node(value->def());
    form_index(index, Relayout::identity(value->shape()));
    return index;
  }

  int form_index(int value, const Relayout& form) {
    auto& forms = problem_.values[static_cast<size_t>(value)].forms;
    const auto known = std::ranges::find(forms, form);
    if (known != forms.end()) return static_cast<int>(known - forms.begin());
    forms.push_back(form);
    pending_.push_back({value, static_cast<int>(forms.size()) - 1});
    return static_cast<int>(forms.size()) - 1;
  }

  void add_node(Node* node) {
    const int index = static_cast<int>(problem_.nodes.size());
    problem_.nodes.push_back({});
    PlacedNode placed;
    placed.node = node;
    for (int i = 0; i < node->operand_count(); ++i) {
      if (stored_constant(node->operand(i))) {
        placed.operands.push_back(-1);
        placed.readers.push_back(-1);
        continue;
      }
      Root root = trace(node->operand(i));
      const int value = value_index(root.value);
      auto& readers = problem_.values[static_cast<size_t>(value)].readers;
      placed.operands.push_back(value);
      placed.readers.push_back(static_cast<int>(readers.size()));
      readers.push_back({index, i, std::move(root.from_root)});
    }
    problem_.nodes[static_cast<size_t>(index)] = std::move(placed);
    const int result = value_index_of_result(node->result());
    problem_.nodes[static_cast<size_t>(index)].result = result;
    problem_.values[static_cast<size_t>(result)].producer = index;
    add_order(index, source_order(*node));
  }

  int value_index_of_result(Value* value) {
    auto [entry, added] = index_.emplace(value, static_cast<int>(problem_.values.size()));
    if (added) {
      problem_.values.push_back({value, -1, {}, {}});
      form_index(entry->second, Relayout::identity(value->shape()));
    }
    return entry->second;
  }

  void add_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Value* output = graph_.outputs()[i].value;
      if (output == nullptr || stored_constant(output)) {
        problem_.outputs.push_back({-1, -1});
        continue;
      }
      if (is_free_state(graph_.outputs()[i])) {
        add_state(i);
        continue;
      }
      Root root = trace(output);
      const int value = value_index(root.value);
      const int form = form_index(value, root.from_root);
      problem_.values[static_cast<size_t>(value)].readers.push_back(
          {-1, static_cast<int>(i), std::move(root.from_root)});
      problem_.outputs.push_back({value, form});
    }
  }

  bool is_free_state(const GraphOutput& output) const {
    if (!output.writes) return false;
    const GraphInput& input = graph_.inputs()[*output.writes];
    return input.is_state() && !input.pinned && output.value != input.value;
  }

  void add_state(size_t output) {
    const int index = static_cast<int>(problem_.nodes.size());
    const GraphOutput& written = graph_.outputs()[output];
    Root root = trace(written.value);
    const int from = value_index(root.value);
    const int to = value_index(graph_.inputs()[*written.writes].value);
    auto& readers = problem_.values[static_cast<size_t>(from)].readers;
    PlacedNode placed;
    placed.state = output;
    placed.operands = {from};
    placed.readers = {static_cast<int>(readers.size())};
    placed.result = to;
    readers.push_back({index, 0, std::move(root.from_root)});
    problem_.nodes.push_back(std::move(placed));
    problem_.values[static_cast<size_t>(to)].producer = index;
    add_order(index, state_order(Relayout::identity(written.value->shape())));
    problem_.outputs.push_back({-1, -1});
  }

  /// A state that has been moved already must still be one relayout away from the model's.
  bool can_hold(const PlacedNode& placed, const Relayout& relayout) const {
    const auto& before = graph_.inputs()[*graph_.outputs()[*placed.state].writes].relaid;
    return !before || before->then(relayout);
  }

  static LoopOrder state_order(const Relayout& relayout) {
    return {{relayout}, relayout, NoAttrs{}, false};
  }

  /// Kernels like to find the axis that a softmax runs along innermost, though no neighbour may
  /// have it there.
  void offer_innermost(int node) {
    if (!problem_.nodes[static_cast<size_t>(node)].node) return;
    const Node& softmax = *problem_.nodes[static_cast<size_t>(node)].node;
    if (!softmax.is(Op::softmax)) return;
    const auto axis = softmax.attrs<AxisAttrs>().axis;
    std::vector<int> order;
    for (int i = 0; i < softmax.result()->type().rank(); ++i)
      if (i != axis) order.push_back(i);
    order.push_back(static_cast<int>(axis));
    offer(node, 0, Relayout::permute(softmax.operand(0)->shape(), order));
  }

  /// The neighbours of a sliced axis are those that it has in the slice's root, or further up:
  /// elementwise ops (quantised numbers are dequantised first) hold what they read as they write.
  void offer_slice_places(int node) {
    const Node* slice = problem_.nodes[static_cast<size_t>(node)].node;
    if (!slice || !slice->is(Op::slice)) return;
    std::optional<Relayout> from_root = Relayout::identity(slice->operand(0)->shape());
    for (int reader = node; reader >= 0; reader = elementwise_source(reader)) {
      const PlacedNode& placed = problem_.nodes[static_cast<size_t>(reader)];
      const int operand = only_operand(placed);
      if (operand < 0) return;
      const auto entry = static_cast<size_t>(placed.readers[static_cast<size_t>(operand)]);
      from_root = value_at(reader, operand).readers[entry].from_root.then(*from_root);
      if (!from_root) return;
      for (const Relayout& place : slice_places(*slice, *from_root)) offer(node, 0, place);
    }
  }

  /// The one operand that is not constant; negative if there are several, or none.
  static int only_operand(const PlacedNode& placed) {
    int only = -1;
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      if (placed.operands[i] < 0) continue;
      if (only >= 0) return -1;
      only = static_cast<int>(i);
    }
    return only;
  }

  /// The elementwise op on one value that computes what a node reads; negative for others.
  int elementwise_source(int node) const {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    const int producer = value_at(node, only_operand(placed)).producer;
    if (producer < 0) return -1;
    const PlacedNode& source = problem_.nodes[static_cast<size_t>(producer)];
    if (!source.node || info(source.node->op()).op_class != OpClass::elementwise) return -1;
    const int operand = only_operand(source);
    const bool same =
        operand >= 0 && source.node->operand(operand)->shape() == source.node->result()->shape();
    return same ? producer : -1;
  }

  bool is_movable(const PlacedNode& node) const {
    return (!node.node || !node.node->is(Op::relayout)) && !node.complete &&
           node.orders.size() < limits_.orders;
  }

  void spread() {
    while (!pending_.empty()) {
      const auto [value, form] = pending_.front();
      pending_.pop_front();
      offer(value, form);
    }
  }

  std::optional<std::vector<LoopOrder>> missing_orders(const PlacedNode& placed) {
    if (!placed.node) return std::nullopt;  // a state may lie in any order whatever
    if (placed.node->is(Op::relayout)) return std::vector<LoopOrder>{};
    PortDigits ports;
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      ports.emplace_back();
      if (placed.operands[i] < 0) continue;
      const auto value = static_cast<size_t>(placed.operands[i]);
      const auto& reader = problem_.values[value].readers[static_cast<size_t>(placed.readers[i])];
      auto moved = moved_digits(digits_[value].size, reader.from_root);
      if (!moved || !digits_[value].complete) return std::nullopt;
      ports.back() = *std::move(moved);
    }
    const ValueDigits& result = digits_[static_cast<size_t>(placed.result)];
    if (!result.complete) return std::nullopt;
    ports.push_back(result.size);
    return missing_orders(placed, std::move(ports));
  }

  /// Worked out once for ops that are alike.
  const std::optional<std::vector<LoopOrder>>& missing_orders(const PlacedNode& placed,
                                                              PortDigits ports) {
    const auto constant = [](int value) { return value < 0; };
    const auto [begin, end] = completed_.equal_range(crossings_.kind_of(*placed.node));
    for (auto known = begin; known != end; ++known) {
      const Completed& other = known->second;
      if (other.ports == ports && other.orders == placed.orders &&
          std::ranges::equal(other.operands, placed.operands, {}, constant, constant))
        return other.missing;
    }
    auto missing = all_orders(*placed.node, ports, placed.orders, limits_, crossings_);
    return completed_
        .emplace(crossings_.kind_of(*placed.node),
                 Completed{std::move(ports), placed.orders, placed.operands, std::move(missing)})
        ->second.missing;
  }

  /// Lets the producer and the readers of a value try one of its forms. Those that it comes from
  /// know it: nothing is composed for them.
  void offer(int value, int form) {
    const Relayout relayout =
        problem_.values[static_cast<size_t>(value)].forms[static_cast<size_t>(form)];
    const int producer = problem_.values[static_cast<size_t>(value)].producer;
    if (producer >= 0 && !relayout.is_view()) offer(producer, kResultPort, relayout);
    const size_t readers = problem_.values[static_cast<size_t>(value)].readers.size();
    for (size_t i = 0; i < readers; ++i) offer_reader(value, i, relayout);
  }

  void offer_reader(int value, size_t place, const Relayout& relayout) {
    const auto& reader = problem_.values[static_cast<size_t>(value)].readers[place];
    if (reader.node < 0 || reader.from_root.moves_like(relayout)) return;
    const int node = reader.node, operand = reader.operand;
    if (reader.from_root.is_identity())
      offer(node, operand, relayout);
    else if (auto moved = reader.from_root.inverse().then(relayout))
      offer(node, operand, *moved);
  }

  /// Lets an op try all forms of its values.
  void offer_neighbours(int node) {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    for (size_t f = 0; f < value_at(node, kResultPort).forms.size(); ++f) {
      const Relayout form = value_at(node, kResultPort).forms[f];
      if (!form.is_view()) offer(node, kResultPort, form);
    }
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      if (placed.operands[i] < 0) continue;
      for (size_t f = 0; f < value_at(node, static_cast<int>(i)).forms.size(); ++f) {
        const Relayout form = value_at(node, static_cast<int>(i)).forms[f];
        offer_reader(placed.operands[i], static_cast<size_t>(placed.readers[i]), form);
      }
    }
  }

  void offer(int node, int port, const Relayout& relayout) {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    if (!is_movable(placed)) return;
    // What an order was made from comes back from its ports' values: it is known already, unless
    // there are several orders that agree at this port.
    const auto agrees = std::ranges::find_if(
        placed.orders, [&](const LoopOrder& order) { return order.at(port).moves_like(relayout); });
    if (!placed.node) {
      if (agrees == placed.orders.end() && can_hold(placed, relayout))
        add_order(node, state_order(relayout));
      return;
    }
    const bool matmul = placed.node->is(Op::matmul);
    if (agrees == placed.orders.begin() && !matmul) return;
    if (agrees != placed.orders.end() && !has_free_ports(*placed.node)) return;
    for (const LoopOrder& order : crossings_.cross(*placed.node, port, relayout))
      add_order(node, order);
  }

  /// Adds orders in which a contraction's ports move for different reasons: like a known order, but
  /// with another port in one of the movements known there. Only known movements are combined:
  /// nothing spreads.
  void join_orders() {
    joining_ = true;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const PlacedNode& placed = problem_.nodes[n];
      const size_t known = placed.orders.size();
      if (!placed.node || info(placed.node->op()).op_class != OpClass::contraction) continue;
      for (size_t k = 1; k < known; ++k) join(static_cast<int>(n), k);
    }
    joining_ = false;
    pending_.clear();
  }

  void join(int node, size_t known) {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    const auto forms = [&](int port) { return value_at(node, port).forms.size(); };
    for (size_t f = 0; f < forms(kResultPort); ++f)
      join(node, known, kResultPort, value_at(node, kResultPort).forms[f]);
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      if (placed.operands[i] < 0) continue;
      const auto port = static_cast<int>(i);
      const auto reader = static_cast<size_t>(placed.readers[i]);
      const Relayout to_root = value_at(node, port).readers[reader].from_root.inverse();
      for (size_t f = 0; f < forms(port); ++f)
        if (auto moved = to_root.then(value_at(node, port).forms[f]))
          join(node, known, port, *moved);
    }
  }

  const PlacedValue& value_at(int node, int port) const {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    const int value =
        port == kResultPort ? placed.result : placed.operands[static_cast<size_t>(port)];
    return problem_.values[static_cast<size_t>(value)];
  }

  void join(int node, size_t known, int port, const Relayout& relayout) {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    if (placed.orders[known].at(port).moves_like(relayout)) return;
    const LoopOrder order = placed.orders[known];
    for (const LoopOrder& joint : crossings_.cross_from(*placed.node, order, port, relayout))
      add_order(node, joint);
  }

  bool fits(const LoopOrder& order) const {
    return order.result.target().size() <= target_.most_axes &&
           std::ranges::all_of(order.operands, [&](const Relayout& operand) {
             return operand.target().size() <= target_.most_axes;
           });
  }

  void add_order(int index, const LoopOrder& order) {
    PlacedNode* node = &problem_.nodes[static_cast<size_t>(index)];
    const bool first = node->orders.empty();
    const size_t most = completing_ ? limits_.all_orders
                        : joining_  ? limits_.joined_orders
                                    : limits_.orders;
    if (!first && (node->orders.size() >= most || !fits(order))) return;
    for (const LoopOrder& known : node->orders)
      if (known.moves_like(order)) return;
    // All forms must be reachable, and few enough, before any is recorded. Those of the source are
    // there however many they are.
    std::vector<std::optional<Relayout>> forms;
    for (size_t i = 0; i < node->operands.size(); ++i) {
      if (node->operands[i] < 0) {
        forms.emplace_back();
        continue;
      }
      const PlacedValue& root = problem_.values[static_cast<size_t>(node->operands[i])];
      auto form =
          root.readers[static_cast<size_t>(node->readers[i])].from_root.then(order.operands[i]);
      if (!form || (!first && !has_room(root, *form))) return;
      forms.push_back(std::move(form));
    }
    if (!first && !has_room(problem_.values[static_cast<size_t>(node->result)], order.result))
      return;
    std::vector<int> reads;
    for (size_t i = 0; i < forms.size(); ++i)
      reads.push_back(forms[i] ? form_index(node->operands[i], *forms[i]) : -1);
    node->reads.push_back(std::move(reads));
    node->writes.push_back(form_index(node->result, order.result));
    Cost cost{0, 0, 0, first ? 0 : 1};
    if (target_.node_cost && node->node)
      cost += target_.node_cost(*node->node, order, target_.moves);
    node->costs.push_back(cost);
    node->orders.push_back(order);
  }

  /// While orders are joined, only further shapes of known movements are new.
  bool has_room(const PlacedValue& value, const Relayout& form) const {
    if (completing_ || std::ranges::find(value.forms, form) != value.forms.end()) return true;
    return value.forms.size() < limits_.forms &&
           (!joining_ || std::ranges::any_of(value.forms, [&](const Relayout& known) {
             return known.moves_like(form);
           }));
  }

  const Graph& graph_;
  const TargetOrders& target_;
  const PlacementLimits& limits_;
  PlacementProblem problem_;
  Crossings crossings_;
  struct Completed {
    PortDigits ports;
    std::vector<LoopOrder> orders;  // known before
    std::vector<int> operands;
    std::optional<std::vector<LoopOrder>> missing;
  };
  std::unordered_multimap<Crossings::Kind, Completed> completed_;
  std::unordered_map<const Value*, int> index_;
  std::deque<std::pair<int, int>> pending_;  // forms to be offered
  std::vector<ValueDigits> digits_;          // once a proof asks for them
  bool joining_ = false;
  bool completing_ = false;
};

Candidates::Candidates(const Graph& graph, const TargetOrders& target,
                       const PlacementLimits& limits)
    : finder_(std::make_unique<Finder>(graph, target, limits)) {
  finder_->find();
}
Candidates::~Candidates() = default;

const PlacementProblem& Candidates::problem() const { return finder_->problem(); }
bool Candidates::complete(int node) { return finder_->complete(node); }
PlacementProblem Candidates::take() { return finder_->take(); }

PlacementProblem Candidates::source(const Graph& graph, const TargetOrders& target) {
  return Finder(graph, target, {}).take();
}

}  // namespace layline

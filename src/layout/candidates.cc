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
      : graph_(graph), target_(target), limits_(limits), crossings_(graph) {
    problem_.nodes.reserve(graph_.node_count());
    problem_.values.reserve(graph_.node_count() + graph_.inputs().size());
    index_.reserve(graph_.node_count() + graph_.inputs().size());
    for (const GraphInput& input : graph_.inputs())
      if (input.value) value_index(input.value);
    add_nodes();
    add_outputs();
  }

  void find() {
    for (NodeIndex n : problem_.nodes.indices()) {
      offer_innermost(n);
      offer_slice_places(n);
    }
    spread();
    join_orders();
  }

  const PlacementProblem& problem() const { return problem_; }
  PlacementProblem take() { return std::move(problem_); }

  /// The forms of its neighbours are offered to the op first, so that it holds its values in the
  /// same shapes. Nothing spreads further: every op that takes part in a proof is completed in its
  /// turn.
  bool complete(NodeIndex node) {
    PlacedNode& placed = problem_.nodes[node];
    if (placed.complete) return true;
    if (cuts_.empty()) cuts_ = find_cuts(problem_);
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
  /// Every op takes part but constants. A relayout takes part only where a reader's path to the
  /// root could not be composed across it.
  void add_nodes() {
    for (Node* node : graph_) {
      if (node->is(Op::constant) || node->is(Op::relayout)) continue;
      add_node(node);
    }
  }

  ValueIndex value_index(Value* value) {
    const auto [entry, added] = index_.emplace(value, problem_.values.next());
    const ValueIndex index = entry->second;
    if (!added) return index;
    problem_.values.push_back({value});
    // A relayout that could not be composed is an op like any other, with one order.
    if (value->def() != nullptr && value->def()->is(Op::relayout)) add_node(value->def());
    form_index(index, Relayout::identity(value->shape()));
    return index;
  }

  FormIndex form_index(ValueIndex value, const Relayout& form) {
    auto& forms = problem_.values[value].forms;
    const auto known = std::ranges::find(forms, form);
    if (known != forms.end()) return FormIndex(static_cast<size_t>(known - forms.begin()));
    const FormIndex added = forms.push_back(form);
    pending_.push_back({value, added});
    return added;
  }

  void add_node(Node* node) {
    const NodeIndex index = problem_.nodes.push_back({});
    PlacedNode placed;
    placed.node = node;
    for (size_t i = 0; i < node->operands().size(); ++i) {
      if (stored_constant(node->operands()[i]))
        placed.operands.emplace_back();
      else
        placed.operands.push_back(add_reader(index, i, trace(node->operands()[i])));
    }
    placed.result = value_index_of_result(node->result());
    problem_.values[placed.result].producer = index;
    problem_.nodes[index] = std::move(placed);
    add_order(index, source_order(*node));
  }

  PlacedOperand add_reader(NodeIndex node, size_t operand, Root root) {
    const ValueIndex value = value_index(root.value);
    auto& readers = problem_.values[value].readers;
    readers.push_back({node, operand, std::move(root.from_root)});
    return {value, readers.size() - 1};
  }

  ValueIndex value_index_of_result(Value* value) {
    const auto [entry, added] = index_.emplace(value, problem_.values.next());
    if (added) {
      problem_.values.push_back({value});
      form_index(entry->second, Relayout::identity(value->shape()));
    }
    return entry->second;
  }

  void add_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Value* output = graph_.outputs()[i].value;
      problem_.outputs.emplace_back();
      if (output == nullptr || stored_constant(output)) continue;
      if (is_free_state(graph_.outputs()[i])) {
        add_state(i);
        continue;
      }
      Root root = trace(output);
      const ValueIndex value = value_index(root.value);
      const FormIndex form = form_index(value, root.from_root);
      problem_.values[value].readers.push_back({std::nullopt, i, std::move(root.from_root)});
      problem_.outputs[i] = {value, form};
    }
  }

  bool is_free_state(const GraphOutput& output) const {
    if (!output.writes) return false;
    const GraphInput& input = graph_.inputs()[*output.writes];
    return input.is_state() && !input.pinned && output.value != input.value;
  }

  void add_state(size_t output) {
    const GraphOutput& written = graph_.outputs()[output];
    Root root = trace(written.value);
    value_index(root.value);  // before the node: a relayout there is a node of its own
    PlacedNode placed;
    placed.state = output;
    placed.moved = graph_.inputs()[*written.writes].relaid;
    placed.result = value_index(graph_.inputs()[*written.writes].value);
    const NodeIndex index = problem_.nodes.next();
    placed.operands = {add_reader(index, 0, std::move(root))};
    problem_.values[placed.result].producer = index;
    problem_.nodes.push_back(std::move(placed));
    add_order(index, state_order(Relayout::identity(written.value->shape())));
  }

  /// A state that has been moved already must still be one relayout away from the model's.
  static bool can_hold(const PlacedNode& state, const Relayout& relayout) {
    return !state.moved || state.moved->then(relayout);
  }

  static LoopOrder state_order(const Relayout& relayout) {
    return {{relayout}, relayout, NoAttrs{}, false};
  }

  /// Kernels like to find the axis that a softmax runs along innermost, though no neighbour may
  /// have it there.
  void offer_innermost(NodeIndex node) {
    if (!problem_.nodes[node].node) return;
    const Node& softmax = *problem_.nodes[node].node;
    if (!softmax.is(Op::softmax)) return;
    const auto axis = softmax.attrs<AxisAttrs>().axis;
    std::vector<int> order;
    for (int i = 0; i < softmax.result()->type().rank(); ++i)
      if (i != axis) order.push_back(i);
    order.push_back(static_cast<int>(axis));
    offer(node, 0, Relayout::permute(softmax.operand(0)->shape(), order));
  }

  /// The neighbours of a sliced axis are those that it has in the slice's root, or further up.
  /// Elementwise ops hold what they read as they write it, for example where quantised numbers are
  /// dequantised first.
  void offer_slice_places(NodeIndex node) {
    const Node* slice = problem_.nodes[node].node;
    if (!slice || !slice->is(Op::slice)) return;
    std::optional<Relayout> from_root = Relayout::identity(slice->operand(0)->shape());
    for (std::optional<NodeIndex> reader = node; reader; reader = elementwise_source(*reader)) {
      const auto operand = only_operand(problem_.nodes[*reader]);
      if (!operand) return;
      from_root = problem_.from_root(*operand).then(*from_root);
      if (!from_root) return;
      for (const Relayout& place : slice_places(*slice, *from_root)) offer(node, 0, place);
    }
  }

  /// The one operand that is not constant; none if there are several, or no such operand.
  static std::optional<PlacedOperand> only_operand(const PlacedNode& placed) {
    std::optional<PlacedOperand> only;
    for (const auto& operand : placed.operands) {
      if (!operand) continue;
      if (only) return std::nullopt;
      only = operand;
    }
    return only;
  }

  /// The elementwise op on one value that computes what a node reads at its only operand.
  std::optional<NodeIndex> elementwise_source(NodeIndex node) const {
    const auto producer = problem_.values[only_operand(problem_.nodes[node])->value].producer;
    if (!producer) return std::nullopt;
    const PlacedNode& source = problem_.nodes[*producer];
    if (!source.node || info(source.node->op()).op_class != OpClass::elementwise)
      return std::nullopt;
    const auto operand = only_operand(source);
    if (!operand) return std::nullopt;
    const size_t number = problem_.values[operand->value].readers[operand->reader].operand;
    const Shape& read = source.node->operands()[number]->shape();
    return read == source.node->result()->shape() ? producer : std::nullopt;
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

  /// A value without elements has no digits to put in an order.
  bool has_elements(ValueIndex value) const {
    return !element_count(problem_.values[value].root->shape()).is_zero();
  }

  std::optional<std::vector<LoopOrder>> missing_orders(const PlacedNode& placed) {
    if (placed.node && placed.node->is(Op::relayout)) return std::vector<LoopOrder>{};
    PortDigits ports;
    for (const auto& operand : placed.operands) {
      ports.emplace_back();
      if (!operand) continue;
      const ValueCuts& value = cuts_[operand->value];
      if (!value.complete || !has_elements(operand->value)) return std::nullopt;
      const Relayout& from_root = problem_.from_root(*operand);
      ports.back() =
          digits_between(moved_cuts(value.cuts, from_root), element_count(from_root.target()));
    }
    const ValueCuts& result = cuts_[placed.result];
    if (!result.complete || !has_elements(placed.result)) return std::nullopt;
    const Shape& shape = problem_.values[placed.result].root->shape();
    ports.push_back(digits_between(result.cuts, element_count(shape)));
    if (placed.node) return missing_orders(placed, std::move(ports));
    return missing_state_orders(placed, shape, ports.back());
  }

  std::optional<std::vector<LoopOrder>> missing_state_orders(const PlacedNode& state,
                                                             const Shape& shape,
                                                             const std::vector<Dims>& digits) {
    std::vector<LoopOrder> missing;
    const auto all = all_movements(shape, digits, limits_);
    if (!all) return std::nullopt;
    for (const Relayout& held : *all)
      if (can_hold(state, held)) missing.push_back(state_order(held));
    return missing;
  }

  /// These orders are worked out once for ops that are alike.
  const std::optional<std::vector<LoopOrder>>& missing_orders(const PlacedNode& placed,
                                                              PortDigits ports) {
    std::vector<bool> constant;
    for (const auto& operand : placed.operands) constant.push_back(!operand);
    const auto [begin, end] = completed_.equal_range(crossings_.kind_of(*placed.node));
    for (auto known = begin; known != end; ++known) {
      const Completed& other = known->second;
      if (other.ports == ports && other.orders == placed.orders && other.constant == constant)
        return other.missing;
    }
    auto missing = all_orders(*placed.node, ports, placed.orders.items(), limits_, crossings_);
    return completed_
        .emplace(
            crossings_.kind_of(*placed.node),
            Completed{std::move(ports), placed.orders, std::move(constant), std::move(missing)})
        ->second.missing;
  }

  /// Lets the producer and the readers of a value try one of its forms. An op that the form comes
  /// from knows it already, and nothing is composed for it.
  void offer(ValueIndex value, FormIndex form) {
    const Relayout relayout = problem_.values[value].forms[form];
    const auto producer = problem_.values[value].producer;
    if (producer && !relayout.is_view()) offer(*producer, kResultPort, relayout);
    const size_t readers = problem_.values[value].readers.size();
    for (size_t i = 0; i < readers; ++i) offer_reader({value, i}, relayout);
  }

  void offer_reader(const PlacedOperand& at, const Relayout& relayout) {
    const auto& reader = problem_.values[at.value].readers[at.reader];
    if (!reader.node || reader.from_root.moves_like(relayout)) return;
    const NodeIndex node = *reader.node;
    const auto port = static_cast<int>(reader.operand);
    if (reader.from_root.is_identity())
      offer(node, port, relayout);
    else if (auto moved = reader.from_root.inverse().then(relayout))
      offer(node, port, *moved);
  }

  /// Calls `visit` with each form of a value, also with those that are added meanwhile.
  template <typename Visit>
  void for_each_form(ValueIndex value, Visit visit) {
    for (FormIndex form; problem_.values[value].forms.contains(form);
         form = FormIndex(form.number() + 1))
      visit(Relayout(problem_.values[value].forms[form]));
  }

  /// Lets an op try all forms of its values.
  void offer_neighbours(NodeIndex node) {
    const PlacedNode& placed = problem_.nodes[node];
    for_each_form(placed.result, [&](const Relayout& form) {
      if (!form.is_view()) offer(node, kResultPort, form);
    });
    for (const auto& operand : placed.operands)
      if (operand)
        for_each_form(operand->value, [&](const Relayout& form) { offer_reader(*operand, form); });
  }

  void offer(NodeIndex node, int port, const Relayout& relayout) {
    const PlacedNode& placed = problem_.nodes[node];
    if (!is_movable(placed)) return;
    // A form from which an order was made comes back from the values of the op's other ports. It is
    // known already, unless several orders agree at this port.
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
  /// with another port in one of the movements that its value has. Only known movements are
  /// combined, so nothing spreads.
  void join_orders() {
    joining_ = true;
    for (NodeIndex n : problem_.nodes.indices()) {
      const PlacedNode& placed = problem_.nodes[n];
      const size_t known = placed.orders.size();
      if (!placed.node || info(placed.node->op()).op_class != OpClass::contraction) continue;
      for (size_t k = 1; k < known; ++k) join(n, OrderIndex(k));
    }
    joining_ = false;
    pending_.clear();
  }

  void join(NodeIndex node, OrderIndex known) {
    const PlacedNode& placed = problem_.nodes[node];
    for_each_form(placed.result,
                  [&](const Relayout& form) { join(node, known, kResultPort, form); });
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      if (!placed.operands[i]) continue;
      const Relayout to_root = problem_.from_root(*placed.operands[i]).inverse();
      for_each_form(placed.operands[i]->value, [&](const Relayout& form) {
        if (auto moved = to_root.then(form)) join(node, known, static_cast<int>(i), *moved);
      });
    }
  }

  void join(NodeIndex node, OrderIndex known, int port, const Relayout& relayout) {
    const PlacedNode& placed = problem_.nodes[node];
    if (placed.orders[known].at(port).moves_like(relayout)) return;
    const LoopOrder order = placed.orders[known];
    for (const LoopOrder& joint : crossings_.cross_from(*placed.node, order, port, relayout))
      add_order(node, joint);
  }

  bool has_few_axes(const LoopOrder& order) const {
    return order.result.target().size() <= target_.most_axes &&
           std::ranges::all_of(order.operands, [&](const Relayout& operand) {
             return operand.target().size() <= target_.most_axes;
           });
  }

  void add_order(NodeIndex index, const LoopOrder& order) {
    PlacedNode& node = problem_.nodes[index];
    const bool first = node.orders.empty();
    const size_t most = completing_ ? limits_.all_orders
                        : joining_  ? limits_.joined_orders
                                    : limits_.orders;
    if (!first && (node.orders.size() >= most || !has_few_axes(order))) return;
    for (const LoopOrder& known : node.orders)
      if (known.moves_like(order)) return;
    // All forms must be reachable, and few enough, before any is recorded. The forms of the source
    // are recorded however many they are.
    std::vector<std::optional<Relayout>> forms;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const auto& operand = node.operands[i];
      if (!operand) {
        forms.emplace_back();
        continue;
      }
      auto form = problem_.from_root(*operand).then(order.operands[i]);
      if (!form || (!first && !has_room(problem_.values[operand->value], *form))) return;
      forms.push_back(std::move(form));
    }
    if (!first && !has_room(problem_.values[node.result], order.result)) return;
    auto& reads = node.reads[node.reads.push_back({})];
    for (size_t i = 0; i < forms.size(); ++i) {
      reads.emplace_back();
      if (forms[i]) reads.back() = form_index(node.operands[i]->value, *forms[i]);
    }
    node.writes.push_back(form_index(node.result, order.result));
    Cost cost{0, 0, 0, first ? 0 : 1};
    if (target_.node_cost && node.node) cost += target_.node_cost(*node.node, order, target_.moves);
    node.costs.push_back(cost);
    node.orders.push_back(order);
  }

  /// Whether a value may have this form. While orders are joined, only further shapes of known
  /// movements are new.
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
    Indexed<OrderIndex, LoopOrder> orders;  // known before
    std::vector<bool> constant;             // for each operand
    std::optional<std::vector<LoopOrder>> missing;
  };
  std::unordered_multimap<Crossings::Kind, Completed> completed_;
  std::unordered_map<const Value*, ValueIndex> index_;
  std::deque<std::pair<ValueIndex, FormIndex>> pending_;  // forms to be offered
  Indexed<ValueIndex, ValueCuts> cuts_;                   // once somebody asks for all orders
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
bool Candidates::complete(NodeIndex node) { return finder_->complete(node); }
PlacementProblem Candidates::take() { return finder_->take(); }

PlacementProblem Candidates::source(const Graph& graph, const TargetOrders& target) {
  return Finder(graph, target, {}).take();
}

}  // namespace layline

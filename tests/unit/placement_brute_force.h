// The cheapest of all legal loop orders of a small graph, by trying them: what placement is judged
// by.
#pragma once

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "layout/placement.h"

namespace layline::brute_force {

using Movement = std::pair<Dims, Permutation>;
inline Movement movement(const Relayout& relayout) {
  return {relayout.factors(), relayout.order()};
}

// ---- All orders of an op ----

/// Every way to write a number as an ordered product of primes.
inline std::vector<Dims> factorisations(int64_t number) {
  if (number == 1) return {{}};
  std::vector<Dims> result;
  for (int64_t prime = 2; prime <= number; ++prime) {
    bool is_prime = number % prime == 0;
    for (int64_t d = 2; d * d <= prime; ++d) is_prime = is_prime && prime % d != 0;
    if (!is_prime) continue;
    for (Dims& rest : factorisations(number / prime)) {
      rest.insert(rest.begin(), prime);
      result.push_back(std::move(rest));
    }
  }
  return result;
}

/// Every movement of the digits of a shape, whatever the factorisation of its dims; each once.
inline std::vector<Relayout> all_movements(const Shape& shape) {
  std::vector<Dims> digits = {{}};
  for (const Dim& dim : shape) {
    std::vector<Dims> longer;
    for (const auto& outer : digits)
      for (const auto& inner : factorisations(dim.value())) {
        longer.push_back(outer);
        longer.back().insert(longer.back().end(), inner.begin(), inner.end());
      }
    digits = std::move(longer);
  }
  std::map<Movement, Relayout> result;
  for (const Dims& factors : digits) {
    Permutation order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      Shape target;
      for (int i : order) target.push_back(factors[static_cast<size_t>(i)]);
      const Relayout relayout = Relayout::from_factors(shape, factors, order, target);
      result.emplace(movement(relayout), relayout);
    } while (std::ranges::next_permutation(order).found);
  }
  std::vector<Relayout> list;
  for (auto& [key, relayout] : result) list.push_back(std::move(relayout));
  return list;
}

using OrderKey = std::vector<Movement>;
inline OrderKey key_of(const LoopOrder& order) {
  OrderKey key = {movement(order.result)};
  for (const Relayout& operand : order.operands) key.push_back(movement(operand));
  return key;
}

class AllOrders {
 public:
  AllOrders(const Node& node, const Indexed<OrderIndex, LoopOrder>& known) : node_(node) {
    for (const LoopOrder& order : known) found_.emplace(key_of(order), order);
    cross_all(source_order(node));
    // The ports of a contraction are ordered independently: both may move.
    if (info(node.op()).op_class == OpClass::contraction) {
      const auto once = found_;
      for (const auto& [key, order] : once) cross_all(order);
    }
  }
  std::map<OrderKey, LoopOrder> take() { return std::move(found_); }

 private:
  /// Crosses every port of the op as it stands in `order`.
  void cross_all(const LoopOrder& order) {
    Graph graph("op");
    std::vector<Value*> operands;
    for (size_t i = 0; i < order.operands.size(); ++i)
      operands.push_back(graph.add_input(
          fmt::format("x{}", i),
          {node_.operand(static_cast<int>(i))->dtype(), order.operands[i].target()}));
    if (order.swapped) std::swap(operands[0], operands[1]);
    const Node& moved = *graph.add(node_.op(), operands, order.attributes, node_.origin())->def();
    for (int port = kResultPort; port < node_.operand_count(); ++port) {
      const int own = port >= 0 && port < 2 && order.swapped ? 1 - port : port;
      if (own != kResultPort && constant_of(node_.operand(own)) != nullptr) continue;
      for (const Relayout& relayout : all_movements(port_shape(moved, port)))
        for (LoopOrder& next : cross(moved, port, relayout)) add(order, std::move(next));
    }
  }

  void add(const LoopOrder& first, LoopOrder second) {
    if (first.swapped) std::swap(second.operands[0], second.operands[1]);
    const auto result = first.result.then(second.result);
    if (!result) return;
    second.result = *result;
    for (size_t i = 0; i < second.operands.size(); ++i) {
      const auto operand = first.operands[i].then(second.operands[i]);
      if (!operand) return;
      second.operands[i] = *operand;
    }
    second.swapped = second.swapped != first.swapped;
    found_.emplace(key_of(second), second);
  }

  const Node& node_;
  std::map<OrderKey, LoopOrder> found_;
};

// ---- The cheapest of all ----

/// What placement promises to minimise; views and reordered ops only break ties.
using Price = std::pair<int64_t, int64_t>;
inline Price price(const Cost& cost) { return {cost.time_ps, cost.permutes}; }
inline Price operator+(Price a, Price b) { return {a.first + b.first, a.second + b.second}; }

/// Depth first over the ops in the order of the graph, cut off where the cost reaches that of the
/// best choice known.
class Search {
 public:
  Search(const PlacementProblem& problem, const TargetOrders& target)
      : problem_(problem),
        target_(target),
        written_(problem.values.size()),
        copies_(problem.values.size()) {
    for (NodeIndex n : problem.nodes.indices()) {
      nodes_.push_back(options(problem.nodes[n]));
      sequence_.push_back(n);
    }
    // The order of the graph: whatever an op reads has been written. What a state holds has been
    // written by the run before.
    Indexed<ValueIndex, bool> done(problem.values.size(), false);
    std::vector<NodeIndex> sorted;
    for (ValueIndex v : problem.values.indices()) {
      done[v] = !problem.values[v].producer;
      written_[v] = Relayout::identity(problem.values[v].root->shape());
    }
    for (NodeIndex n : problem.nodes.indices())
      if (problem.nodes[n].state) {
        sorted.push_back(n);
        done[problem.nodes[n].result] = true;
      }
    while (sorted.size() < sequence_.size())
      for (NodeIndex n : sequence_) {
        const PlacedNode& node = problem.nodes[n];
        const bool ready = std::ranges::all_of(
            node.operands, [&](const auto& operand) { return !operand || done[operand->value]; });
        if (!ready || done[node.result]) continue;
        done[node.result] = true;
        sorted.push_back(n);
      }
    sequence_ = std::move(sorted);
  }

  /// The least price below `limit`, or `limit`; nullopt if the search takes too long.
  std::optional<Price> least(Price limit) {
    best_ = limit;
    visit(0, start());
    if (visits_ > kMostVisits) return std::nullopt;
    return best_;
  }
  /// What a choice among the candidates costs.
  Price price_of(const ChosenOrders& order) {
    Price sum = start();
    for (NodeIndex n : sequence_) {
      const PlacedNode& placed = problem_.nodes[n];
      sum = sum + take(n, option(placed, placed.orders[order[n]]).value());
    }
    return sum;
  }
  /// What the last improvement chose.
  const std::vector<std::pair<const Node*, LoopOrder>>& choice() const { return best_choice_; }

 private:
  static constexpr int64_t kMostVisits = 400'000;

  struct Option {
    LoopOrder order;
    std::vector<std::pair<ValueIndex, Relayout>> reads;  // distinct
    Relayout writes;
    Price price;
  };

  std::vector<Option> options(const PlacedNode& placed) const {
    std::vector<Option> result;
    if (placed.state) {
      for (const Relayout& held : all_movements(problem_.values[placed.result].root->shape()))
        if (auto found = option(placed, {{held}, held, NoAttrs{}, false}))
          result.push_back(*std::move(found));
      return result;
    }
    if (placed.node->is(Op::relayout)) {
      result.push_back(*option(placed, placed.orders[kSourceOrder]));
      return result;
    }
    for (auto& [key, order] : AllOrders(*placed.node, placed.orders).take())
      if (auto found = option(placed, order)) result.push_back(*std::move(found));
    return result;
  }

  std::optional<Option> option(const PlacedNode& placed, const LoopOrder& order) const {
    Option result{order, {}, order.result, {}};
    const auto too_many = [&](const Relayout& r) { return r.target().size() > target_.most_axes; };
    const bool is_source = order.moves_like(placed.orders[kSourceOrder]);
    if (!is_source && (too_many(order.result) || std::ranges::any_of(order.operands, too_many)))
      return std::nullopt;
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      if (!placed.operands[i]) continue;
      const ValueIndex value = placed.operands[i]->value;
      const auto form = problem_.from_root(*placed.operands[i]).then(order.operands[i]);
      if (!form) return std::nullopt;
      const bool twice = std::ranges::any_of(result.reads, [&](const auto& read) {
        return read.first == value && read.second.moves_like(*form);
      });
      if (!twice) result.reads.emplace_back(value, *form);
    }
    if (target_.node_cost != nullptr && placed.node != nullptr) {
      const Cost cost = target_.node_cost(*placed.node, order, target_.moves);
      if (cost.is_forbidden() && !is_source) return std::nullopt;
      result.price = price(cost);
    }
    return result;
  }

  Price conversion(ValueIndex value, const Relayout& to) const {
    const Relayout& from = written_[value];
    if (from.moves_like(to)) return {};
    const DType dtype = problem_.values[value].root->dtype();
    const Relayout back = from.inverse();
    if (const auto both = back.then(to)) return price(move_cost(target_.moves, *both, dtype));
    return price(move_cost(target_.moves, back, dtype)) +
           price(move_cost(target_.moves, to, dtype));
  }

  bool has_copy(ValueIndex value, const Relayout& form) const {
    return std::ranges::any_of(copies_[value],
                               [&](const Relayout& copy) { return copy.moves_like(form); });
  }

  /// Has a copy of the value in this form, and pays for it if it is the first.
  Price keep(ValueIndex value, const Relayout& form) {
    if (written_[value].moves_like(form) || has_copy(value, form)) return {};
    copies_[value].push_back(form);
    return conversion(value, form);
  }

  /// The copies that graph outputs and states need of a value just written.
  Price outputs_price(ValueIndex value) {
    Price result{};
    for (const auto& output : problem_.outputs)
      if (output && output->value == value)
        result = result + keep(value, problem_.values[value].forms[output->form]);
    for (const auto& [written, form] : held_)
      if (written == value) result = result + keep(value, form);
    return result;
  }

  /// What graph inputs cost that are outputs, too.
  Price start() {
    Price result{};
    held_.clear();
    for (auto& copies : copies_) copies.clear();
    for (ValueIndex v : problem_.values.indices())
      if (!problem_.values[v].producer) result = result + outputs_price(v);
    return result;
  }

  /// Runs an op in an order; returns what that costs. A state is read when all has been written.
  Price take(NodeIndex n, const Option& option) {
    const ValueIndex result = problem_.nodes[n].result;
    Price cost = option.price;
    if (problem_.nodes[n].state)
      held_.push_back(option.reads[0]);
    else
      for (const auto& [value, form] : option.reads) cost = cost + keep(value, form);
    written_[result] = option.writes;
    copies_[result].clear();
    return cost + outputs_price(result);
  }

  void visit(size_t depth, Price so_far) {
    if (so_far >= best_ || ++visits_ > kMostVisits) return;
    if (depth == sequence_.size()) {
      best_ = so_far;
      best_choice_.clear();
      for (size_t d = 0; d < depth; ++d)
        best_choice_.emplace_back(problem_.nodes[sequence_[d]].node, chosen_[d]->order);
      return;
    }
    const NodeIndex n = sequence_[depth];
    chosen_.resize(sequence_.size());
    for (const Option& option : nodes_[n]) {
      const auto copies = copies_;
      const auto held = held_;
      const Price cost = so_far + take(n, option);
      chosen_[depth] = &option;
      visit(depth + 1, cost);
      copies_ = copies;
      held_ = held;
    }
  }

  const PlacementProblem& problem_;
  const TargetOrders& target_;
  Indexed<NodeIndex, std::vector<Option>> nodes_;
  std::vector<NodeIndex> sequence_;
  Indexed<ValueIndex, Relayout> written_;
  Indexed<ValueIndex, std::vector<Relayout>> copies_;
  std::vector<std::pair<ValueIndex, Relayout>> held_;  // what states read at the end
  std::vector<const Option*> chosen_;
  std::vector<std::pair<const Node*, LoopOrder>> best_choice_;
  Price best_;
  int64_t visits_ = 0;
};

}  // namespace layline::brute_force

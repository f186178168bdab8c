// Placement against a search through all legal loop orders of small graphs, not only the candidates
// that it was given: a missing candidate shows as a cheaper graph.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <set>

#include "../seeds.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "layout/placement.h"
#include "random_op.h"
#include "targets/xnnpack/rules.h"

namespace layline {
namespace {

using Movement = std::pair<Dims, Permutation>;
Movement movement(const Relayout& relayout) { return {relayout.factors(), relayout.order()}; }

// ---- All orders of an op ----

/// Every way to write a number as an ordered product of primes.
std::vector<Dims> factorisations(int64_t number) {
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
std::vector<Relayout> all_movements(const Shape& shape) {
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
OrderKey key_of(const LoopOrder& order) {
  OrderKey key = {movement(order.result)};
  for (const Relayout& operand : order.operands) key.push_back(movement(operand));
  return key;
}

class AllOrders {
 public:
  AllOrders(const Node& node, const std::vector<LoopOrder>& known) : node_(node) {
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
Price price(const Cost& cost) { return {cost.time_ps, cost.permutes}; }
Price operator+(Price a, Price b) { return {a.first + b.first, a.second + b.second}; }

/// Depth first over the ops in the order of the graph, cut off where the cost reaches that of the
/// best choice known.
class Search {
 public:
  Search(const PlacementProblem& problem, const TargetOrders& target)
      : problem_(problem),
        target_(target),
        written_(problem.values.size()),
        copies_(problem.values.size()) {
    std::map<const Node*, size_t> place;
    for (size_t n = 0; n < problem.nodes.size(); ++n) {
      nodes_.push_back(options(problem.nodes[n]));
      sequence_.push_back(n);
    }
    // The order of the graph: whatever an op reads has been written.
    std::vector<bool> done(problem.values.size(), false);
    for (size_t v = 0; v < problem.values.size(); ++v) {
      done[v] = problem.values[v].producer < 0;
      written_[v] = Relayout::identity(problem.values[v].root->shape());
    }
    std::vector<size_t> sorted;
    while (sorted.size() < sequence_.size())
      for (size_t n : sequence_) {
        const PlacedNode& node = problem.nodes[n];
        const bool ready = std::ranges::all_of(
            node.operands, [&](int v) { return v < 0 || done[static_cast<size_t>(v)]; });
        if (!ready || done[static_cast<size_t>(node.result)]) continue;
        done[static_cast<size_t>(node.result)] = true;
        sorted.push_back(n);
      }
    sequence_ = std::move(sorted);
  }

  /// The least price below `limit`, or `limit`; nullopt if the search takes too long.
  std::optional<Price> least(Price limit) {
    best_ = limit;
    Price start{};
    for (size_t v = 0; v < problem_.values.size(); ++v)
      if (problem_.values[v].producer < 0) start = start + outputs_price(v);
    visit(0, start);
    if (visits_ > kMostVisits) return std::nullopt;
    return best_;
  }
  size_t orders() const {
    size_t count = 0;
    for (const auto& options : nodes_) count += options.size();
    return count;
  }
  /// What the last improvement chose.
  const std::vector<std::pair<const Node*, LoopOrder>>& choice() const { return best_choice_; }

 private:
  static constexpr int64_t kMostVisits = 400'000;

  struct Option {
    LoopOrder order;
    std::vector<std::pair<size_t, Relayout>> reads;  // distinct
    Relayout writes;
    Price price;
  };

  std::vector<Option> options(const PlacedNode& placed) const {
    std::vector<Option> result;
    if (placed.node->is(Op::relayout)) {
      result.push_back(*option(placed, placed.orders[0]));
      return result;
    }
    for (auto& [key, order] : AllOrders(*placed.node, placed.orders).take())
      if (auto found = option(placed, order)) result.push_back(*std::move(found));
    return result;
  }

  std::optional<Option> option(const PlacedNode& placed, const LoopOrder& order) const {
    Option result{order, {}, order.result, {}};
    const auto too_many = [&](const Relayout& r) { return r.target().size() > target_.most_axes; };
    const bool is_source = order.moves_like(placed.orders[0]);
    if (!is_source && (too_many(order.result) || std::ranges::any_of(order.operands, too_many)))
      return std::nullopt;
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      if (placed.operands[i] < 0) continue;
      const auto value = static_cast<size_t>(placed.operands[i]);
      const auto& reader = problem_.values[value].readers[static_cast<size_t>(placed.readers[i])];
      const auto form = reader.from_root.then(order.operands[i]);
      if (!form) return std::nullopt;
      const bool twice = std::ranges::any_of(result.reads, [&](const auto& read) {
        return read.first == value && read.second.moves_like(*form);
      });
      if (!twice) result.reads.emplace_back(value, *form);
    }
    if (target_.node_cost != nullptr) {
      const Cost cost = target_.node_cost(*placed.node, order, target_.moves);
      if (cost.is_forbidden() && !is_source) return std::nullopt;
      result.price = price(cost);
    }
    return result;
  }

  Price conversion(size_t value, const Relayout& to) const {
    const Relayout& from = written_[value];
    if (from.moves_like(to)) return {};
    const DType dtype = problem_.values[value].root->dtype();
    const Relayout back = from.inverse();
    if (const auto both = back.then(to)) return price(move_cost(target_.moves, *both, dtype));
    return price(move_cost(target_.moves, back, dtype)) +
           price(move_cost(target_.moves, to, dtype));
  }

  bool has_copy(size_t value, const Relayout& form) const {
    return std::ranges::any_of(copies_[value],
                               [&](const Relayout& copy) { return copy.moves_like(form); });
  }

  /// The copies that graph outputs need of a value just written; they stay in copies_.
  Price outputs_price(size_t value) {
    Price result{};
    for (const PlacementProblem::Output& output : problem_.outputs) {
      if (output.value != static_cast<int>(value)) continue;
      const Relayout& form = problem_.values[value].forms[static_cast<size_t>(output.form)];
      if (written_[value].moves_like(form) || has_copy(value, form)) continue;
      result = result + conversion(value, form);
      copies_[value].push_back(form);
    }
    return result;
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
    const size_t n = sequence_[depth];
    const auto result = static_cast<size_t>(problem_.nodes[n].result);
    chosen_.resize(sequence_.size());
    for (const Option& option : nodes_[n]) {
      Price cost = so_far + option.price;
      std::vector<size_t> copied;
      for (const auto& [value, form] : option.reads) {
        if (written_[value].moves_like(form) || has_copy(value, form)) continue;
        cost = cost + conversion(value, form);
        copies_[value].push_back(form);
        copied.push_back(value);
      }
      if (cost < best_) {
        written_[result] = option.writes;
        copies_[result].clear();
        cost = cost + outputs_price(result);
        chosen_[depth] = &option;
        visit(depth + 1, cost);
        copies_[result].clear();
      }
      for (size_t value : copied) copies_[value].pop_back();
    }
  }

  const PlacementProblem& problem_;
  const TargetOrders& target_;
  std::vector<std::vector<Option>> nodes_;
  std::vector<size_t> sequence_;
  std::vector<Relayout> written_;
  std::vector<std::vector<Relayout>> copies_;
  std::vector<const Option*> chosen_;
  std::vector<std::pair<const Node*, LoopOrder>> best_choice_;
  Price best_;
  int64_t visits_ = 0;
};

// ---- Small graphs ----

/// Which ops a graph is made of.
enum class Ops {
  whole,  // all tensors of an op have all its loops
  any,
};

class SmallGraph {
 public:
  SmallGraph(uint32_t seed, Ops ops_allowed)
      : random_(seed), ops_(ops_allowed), graph_("small"), build_(graph_, nullptr) {
    for (int64_t i = random_.between(1, 2); i > 0; --i)
      values_.push_back(graph_.add_input(fmt::format("x{}", i), {DType::f32, shape()}));
    const int64_t ops = random_.between(2, 6);
    for (int64_t i = 0; i < ops; ++i) {
      Value* x = pick();
      while (random_.chance(2)) x = relayout(x);
      Value* y = step(x);
      while (random_.chance(3)) y = relayout(y);
      if (element_count(y->shape()).value() <= kMostElements && y->shape().size() <= 5)
        values_.push_back(y);
    }
    for (Value* value : values_)
      if (value->uses().empty() && (value->def() != nullptr || values_.size() == 1)) output(value);
    if (random_.chance(3) || graph_.outputs().empty()) output(values_.back());
  }
  Graph& graph() { return graph_; }

 private:
  static constexpr int64_t kMostElements = 24;

  int64_t size() {
    constexpr int64_t kSizes[] = {1, 2, 2, 2, 3, 4};
    return kSizes[random_.between(0, std::ssize(kSizes) - 1)];
  }
  Shape shape() {
    if (random_.chance(3)) return {1, 2, 2, random_.between(2, 3)};
    Shape result;
    for (int64_t rank = random_.between(1, 3); rank > 0; --rank) result.push_back(size());
    while (element_count(result).value() > kMostElements)
      *std::ranges::max_element(result, {}, &Dim::value) = 2;
    return result;
  }
  Value* pick() {
    const int64_t last = std::ssize(values_) - 1;
    return values_[static_cast<size_t>(random_.chance(3) ? random_.between(0, last) : last)];
  }
  void output(Value* value) {
    graph_.add_output(fmt::format("y{}", graph_.outputs().size()), value);
  }
  Value* weights(const Shape& of) {
    return build_.constant(Constant::owned(
        DType::f32, of,
        std::vector<std::byte>(4 * static_cast<size_t>(element_count(of).value()))));
  }

  Value* relayout(Value* x) {
    if (x->shape().size() == 4 && random_.chance(2))
      return random_.chance(2) ? build_.to_channels_last(x) : build_.from_channels_last(x);
    Dims factors;
    for (const Dim& dim : x->shape()) {
      if (dim == Dim(4) && random_.chance(2))
        factors.insert(factors.end(), {2, 2});
      else
        factors.push_back(dim);
    }
    Permutation order(factors.size());
    std::iota(order.begin(), order.end(), 0);
    if (!random_.chance(4)) random_.shuffle(order);
    Shape target;
    for (int i : order) {
      const Dim factor = factors[static_cast<size_t>(i)];
      if (!target.empty() && random_.chance(4) && target.back() * factor != Dim(6) &&
          (target.back() * factor).value() <= 4)
        target.back() = target.back() * factor;
      else
        target.push_back(factor);
    }
    if (target.size() > 4) return x;
    return build_.relayout(x, Relayout::from_factors(x->shape(), factors, order, target));
  }

  int64_t axis(const Value* x) { return random_.between(0, std::ssize(x->shape()) - 1); }

  Value* step(Value* x) {
    if (x->shape().empty()) return build_.add(Op::neg, {x});
    const int64_t along = axis(x);
    const Dim length = x->shape()[static_cast<size_t>(along)];
    switch (ops_ == Ops::any ? random_.between(0, 12) : random_.between(9, 14)) {
      case 13:
      case 14:
      case 0:
      case 1:
        return binary(x);
      case 2:
        return build_.concat({x, random_.chance(2) ? x : build_.add(Op::neg, {x})}, along);
      case 3:
        return build_.slice(x, along, 0, length.value() > 1 ? length.value() / 2 : 1);
      case 4:
        return build_.add(Op::softmax, {x}, AxisAttrs{along});
      case 5:
        return build_.add(Op::reduce_sum, {x}, AxesAttrs{{along}});
      case 6:
      case 7:
        return build_.add(Op::linear, {x, weights({size(), x->shape().back()})}, LinearAttrs{});
      case 8:
        return matmul(x);
      case 9:
      case 10:
        return conv(x);
      case 11: {
        PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0)};
        pad.high[static_cast<size_t>(along)] = 1;
        return build_.add(Op::pad, {x}, pad);
      }
      default:
        return build_.add(Op::sigmoid, {x});
    }
  }
  Value* binary(Value* x) {
    for (int attempt = 0; attempt < 5; ++attempt) {
      Value* other = pick();
      if (other->shape() == x->shape() ||
          (ops_ == Ops::any && broadcast(x->shape(), other->shape())))
        return build_.add(Op::add, {x, other});
    }
    return build_.add(Op::add, {x, weights({x->shape().back()})});
  }
  Value* matmul(Value* x) {
    if (x->shape().size() < 2) return build_.add(Op::abs, {x});
    for (int attempt = 0; attempt < 5; ++attempt) {
      Value* other = pick();
      if (other->shape().size() != x->shape().size() || other->shape().back() != x->shape().back())
        continue;
      if (!std::equal(x->shape().begin(), x->shape().end() - 2, other->shape().begin())) continue;
      return build_.add(Op::matmul, {x, other}, MatmulAttrs{true});
    }
    return build_.add(Op::matmul, {x, x}, MatmulAttrs{true});
  }
  Value* conv(Value* x) {
    if (x->shape().size() != 4) return build_.add(Op::sigmoid, {x});
    const int64_t kernel = random_.between(1, 2);
    Value* nhwc = build_.to_channels_last(x);
    if (nhwc->shape()[1].value() < kernel || nhwc->shape()[2].value() < kernel) return x;
    Value* y = build_.add(
        Op::conv, {nhwc, weights({random_.between(2, 4), kernel, kernel, nhwc->shape()[3]})},
        ConvAttrs{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}});
    return build_.from_channels_last(y);
  }

  Random random_;
  Ops ops_;
  Graph graph_;
  Builder build_;
  std::vector<Value*> values_;
};

/// Compares on graphs of consecutive seeds; LAYLINE_SEED and LAYLINE_GRAPHS choose others. The cost
/// must be equal whether it is proved or not: no order is missing.
void compare(const TargetOrders& target, Ops ops, uint32_t graphs) {
  const uint32_t first = first_seed();
  const uint32_t count = graph_count(graphs);
  uint32_t unproved = 0, abandoned = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    SmallGraph small(seed, ops);
    const Placement placement = place(small.graph(), target, true);
    const PlacementProblem& problem = placement.problem;
    const Certificate& certificate = placement.certificate;
    EXPECT_LE(price(certificate.bound), price(certificate.cost));
    EXPECT_LE(price(certificate.cost), price(certificate.before));
    unproved += !certificate.optimal();
    Search search(problem, target);
    const auto least = search.least(price(certificate.cost));
    abandoned += !least;
    if (!least || *least == price(certificate.cost)) continue;
    EXPECT_LE(price(certificate.bound), *least);
    std::string report = fmt::format(
        "LAYLINE_SEED={} LAYLINE_GRAPHS=1: {} ps in {} permutes, but {} in {} are possible{}\n{}",
        seed, certificate.cost.time_ps, certificate.cost.permutes, least->first, least->second,
        certificate.optimal() ? "" : " (unproved)",
        print(small.graph(), {.elide_constants = true}));
    for (const auto& [node, order] : search.choice()) {
      report += fmt::format("  {}:", node->result()->name());
      for (const Relayout& operand : order.operands) report += " " + to_string(operand) + " ;";
      report += " gives " + to_string(order.result) + "\n";
    }
    ADD_FAILURE() << report;
  }
  EXPECT_LE(unproved, count / 200);
  EXPECT_LE(abandoned, count / 20);
}

TEST(BruteForce, PlacementIsTheCheapestOfAllOrders) { compare({}, Ops::whole, 1000); }

TEST(BruteForce, PlacementIsTheCheapestWhereOpsLackLoops) { compare({}, Ops::any, 1000); }

TEST(BruteForce, PlacementIsTheCheapestOnXnnpack) {
  compare(xnnpack::rules().orders, Ops::whole, 500);
}

TEST(BruteForce, PlacementIsTheCheapestWhereOpsLackLoopsOnXnnpack) {
  compare(xnnpack::rules().orders, Ops::any, 500);
}

}  // namespace
}  // namespace layline

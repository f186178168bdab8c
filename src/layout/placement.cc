#include "layout/placement.h"

#include <algorithm>
#include <unordered_map>

#include "layout/disjoint_sets.h"
#include "layout/solver.h"

namespace layline {
namespace {

// How often the parts of the graph that a proof looks at may grow, and how many entries of tables
// may be looked at: a small part of a second.
constexpr int kMostRounds = 30;
constexpr size_t kMostWork = 2'000'000;

/// Looks at the parts of the graph in which something is paid. What all choices of all orders of
/// their ops cost at least, whatever the rest of the graph does, is a bound for the whole graph. A
/// part in which less would do than is paid grows by its neighbours, until the bound is reached, or
/// the cheaper orders are found, or it gets too large.
class Proof {
 public:
  Proof(const Graph& graph, const TargetOrders& target)
      : candidates_(graph, target), solver_(candidates_.problem(), target.moves) {}

  void search() {
    choice_ = solver_.cheapest();
    bound_ = solver_.apart();
  }

  void prove_choice() {
    inside_.assign(problem().nodes.size(), false);
    refused_.assign(problem().nodes.size(), false);
    const Cost apart = bound_;
    look_where_paid();
    for (int round = 0; round < kMostRounds; ++round) {
      bound_ = apart;
      growing_.clear();
      if (prove()) {
        choice_.cost = solver_.total(choice_.order);
        known_.clear();
        look_where_paid();
        continue;
      }
      if (work_ >= kMostWork || !grow()) break;
    }
  }

  Placement placement() {
    Placement result;
    Certificate& certificate = result.certificate;
    certificate.cost = choice_.cost;
    certificate.bound = bound_;
    certificate.before = choice_.before;
    certificate.regions = choice_.regions;
    certificate.largest_region = choice_.largest_region;
    certificate.ops = problem().nodes.size();
    for (const PlacedNode& node : problem().nodes) certificate.candidates += node.orders.size();
    result.problem = candidates_.take();
    result.order = std::move(choice_.order);
    return result;
  }

 private:
  const PlacementProblem& problem() const { return candidates_.problem(); }

  void look_where_paid() {
    for (int node : solver_.paying(choice_.order)) look_at(node);
  }

  /// Takes an op into a part, with all its orders.
  void look_at(int node) {
    const auto n = static_cast<size_t>(node);
    if (inside_[n] || refused_[n]) return;
    if (candidates_.complete(node)) {
      inside_[n] = true;
      looked_at_.push_back(node);
    } else {
      refused_[n] = true;
    }
  }

  /// Takes in whatever shares a value with the parts that are to grow. False if nothing is new.
  bool grow() {
    const size_t before = looked_at_.size();
    for (int node : growing_) {
      const PlacedNode& placed = problem().nodes[static_cast<size_t>(node)];
      std::vector<int> values = placed.operands;
      values.push_back(placed.result);
      for (int v : values) {
        if (v < 0) continue;
        const PlacedValue& value = problem().values[static_cast<size_t>(v)];
        if (value.producer >= 0) look_at(value.producer);
        for (const PlacedValue::Reader& reader : value.readers)
          if (reader.node >= 0) look_at(reader.node);
      }
    }
    return looked_at_.size() > before;
  }

  /// The parts: ops that share a value belong together.
  std::vector<std::vector<int>> parts() const {
    DisjointSets sets(problem().nodes.size());
    std::vector<int> first(problem().values.size(), -1);
    auto touch = [&](int value, int node) {
      if (value < 0) return;
      int& known = first[static_cast<size_t>(value)];
      if (known < 0) known = node;
      sets.join(node, known);
    };
    for (int node : looked_at_) {
      const PlacedNode& placed = problem().nodes[static_cast<size_t>(node)];
      touch(placed.result, node);
      for (int value : placed.operands) touch(value, node);
    }
    std::vector<int> place(problem().nodes.size(), -1);
    std::vector<std::vector<int>> result;
    for (int node : looked_at_) {
      int& index = place[static_cast<size_t>(sets.find(node))];
      if (index < 0) {
        index = static_cast<int>(result.size());
        result.emplace_back();
      }
      result[static_cast<size_t>(index)].push_back(node);
    }
    return result;
  }

  /// Sums up the bound. Parts that fall short of the choice are to grow, unless something cheaper
  /// is found there: true if so.
  bool prove() {
    bool improved = false;
    for (const std::vector<int>& part : parts()) {
      Known& known = known_[part[0]];
      if (known.ops != part.size()) {
        if (work_ >= kMostWork) continue;  // it costs no less than nothing
        known = {part.size(), look_closer(part, improved)};
      }
      bound_ += known.cost.least;
      if (!known.cost.reached()) growing_.insert(growing_.end(), part.begin(), part.end());
    }
    return improved;
  }

  PartialCost look_closer(const std::vector<int>& part, bool& improved) {
    PartialCost cost = solver_.part(part, choice_.order, kMostWork - work_);
    work_ += cost.work;
    if (cost.reached()) return cost;
    std::vector<std::pair<int, int>> before;
    const Cost paid = solver_.around(part, choice_.order);
    for (auto [node, order] : cost.cheapest) {
      before.emplace_back(node, choice_.order[static_cast<size_t>(node)]);
      choice_.order[static_cast<size_t>(node)] = order;
    }
    if (solver_.around(part, choice_.order).price() < paid.price())
      improved = true;
    else
      for (auto [node, order] : before) choice_.order[static_cast<size_t>(node)] = order;
    return cost;
  }

  /// What is known of a part, by its first op.
  struct Known {
    size_t ops = 0;
    PartialCost cost;
  };

  Candidates candidates_;
  Solver solver_;
  Choice choice_;
  Cost bound_;
  std::vector<bool> inside_, refused_;  // ops that are looked at, and that have too many orders
  std::vector<int> looked_at_;
  std::vector<int> growing_;
  std::unordered_map<int, Known> known_;
  size_t work_ = 0;
};

}  // namespace

Certificate Certificate::after(const Certificate& earlier) const {
  Certificate both = *this;
  both.before = earlier.before;
  both.absorbed += earlier.absorbed;
  both.candidates = std::max(candidates, earlier.candidates);
  both.regions = std::max(regions, earlier.regions);
  both.largest_region = std::max(largest_region, earlier.largest_region);
  return both;
}

Placement place(const Graph& graph, const TargetOrders& target, bool prove) {
  Proof proof(graph, target);
  proof.search();
  if (prove) proof.prove_choice();
  return proof.placement();
}

}  // namespace layline

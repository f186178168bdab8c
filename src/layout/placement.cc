#include "layout/placement.h"

#include <algorithm>
#include <unordered_map>

#include "layout/disjoint_sets.h"
#include "layout/solver.h"

namespace layline {
namespace {

// To find an order of an op, against looking at an entry of a table.
constexpr size_t kWorkOfOrder = 2'500;

/// Looks at the parts of the graph in which something is paid. What all choices of all orders of
/// their ops cost at least, whatever the rest of the graph does, is a bound for the whole graph. A
/// part in which less would do than is paid grows by its neighbours, until the bound is reached, or
/// the cheaper orders are found, or it gets too large.
class Proof {
 public:
  Proof(const Graph& graph, const TargetOrders& target, const PlacementLimits& limits)
      : limits_(limits),
        candidates_(graph, target, limits),
        solver_(candidates_.problem(), target.moves, limits) {}

  void search(const StartAt& start) {
    choice_ = solver_.cheapest();
    bound_ = solver_.apart();
    if (!start) return;
    choice_.order = start(problem());
    choice_.cost = solver_.total(choice_.order);
  }

  void prove_choice() {
    state_.assign(problem().nodes.size(), State::outside);
    const Cost apart = bound_;
    want_where_paid();
    int grown = 0, steps = 0;
    for (int round = 0; round < limits_.rounds; ++round) {
      bound_ = apart;
      growing_.clear();
      if (prove()) {
        choice_.cost = solver_.total(choice_.order);
        known_.clear();
        want_where_paid();
        continue;
      }
      if (work_left() == 0 || (!provable_ && grown++ == limits_.growth_without_proof) ||
          !grow(provable_ ? ++steps : 1))
        break;
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

  void want_where_paid() {
    for (int node : solver_.paying(choice_.order)) want(node);
  }

  void want(int node) {
    State& state = state_[static_cast<size_t>(node)];
    if (state != State::outside) return;
    state = State::wanted;
    wanted_.push_back(node);
  }

  size_t work_left() const {
    const size_t most = limits_.work + limits_.work_of_op * wanted_.size();
    const size_t left = most - std::min(most, work_);
    return provable_ ? left : std::min(left, limits_.work_of_part_without_proof);
  }

  /// Takes an op into a part, with all its orders.
  void look_at(int node) {
    State& state = state_[static_cast<size_t>(node)];
    if (state != State::wanted) return;
    state = candidates_.complete(node) ? State::inside : State::refused;
    if (state == State::refused && solver_.producing(node, choice_.order).price() > Cost{}.price())
      provable_ = false;
    work_ += problem().nodes[static_cast<size_t>(node)].orders.size() * kWorkOfOrder;
  }

  /// Takes in whatever shares a value with the parts that are to grow, and so on, in as many steps.
  /// False if nothing is new.
  bool grow(int steps) {
    const size_t before = wanted_.size();
    for (; steps > 0; --steps) {
      const auto known = static_cast<std::ptrdiff_t>(wanted_.size());
      for (int node : growing_) want_neighbours(problem().nodes[static_cast<size_t>(node)]);
      growing_.assign(wanted_.begin() + known, wanted_.end());
    }
    return wanted_.size() > before;
  }

  void want_neighbours(const PlacedNode& placed) {
    std::vector<int> values = placed.operands;
    values.push_back(placed.result);
    for (int v : values) {
      if (v < 0) continue;
      const PlacedValue& value = problem().values[static_cast<size_t>(v)];
      if (value.producer >= 0) want(value.producer);
      for (const PlacedValue::Reader& reader : value.readers)
        if (reader.node >= 0) want(reader.node);
    }
  }

  /// Ops that share a value belong together.
  std::vector<std::vector<int>> connected(const std::vector<int>& nodes) const {
    DisjointSets sets(nodes.size());
    std::unordered_map<int, int> first;  // of the ops at a value
    for (size_t i = 0; i < nodes.size(); ++i) {
      const PlacedNode& placed = problem().nodes[static_cast<size_t>(nodes[i])];
      auto touch = [&](int value) {
        const auto at = static_cast<int>(i);
        if (value >= 0) sets.join(at, first.emplace(value, at).first->second);
      };
      touch(placed.result);
      for (int value : placed.operands) touch(value);
    }
    std::vector<int> place(nodes.size(), -1);
    std::vector<std::vector<int>> result;
    for (size_t i = 0; i < nodes.size(); ++i) {
      int& index = place[static_cast<size_t>(sets.find(static_cast<int>(i)))];
      if (index < 0) {
        index = static_cast<int>(result.size());
        result.emplace_back();
      }
      result[static_cast<size_t>(index)].push_back(nodes[i]);
    }
    return result;
  }

  /// Sums up the bound. Parts that fall short of the choice are to grow, unless something cheaper
  /// is found there: true if so. All orders of an op are worked out when its part has its turn, so
  /// that nothing is done for parts that there is no work left for.
  bool prove() {
    bool improved = false;
    for (std::vector<int>& nodes : connected(wanted_)) {
      if (work_left() > 0)
        for (int node : nodes) look_at(node);
      std::erase_if(nodes,
                    [&](int node) { return state_[static_cast<size_t>(node)] != State::inside; });
      for (const std::vector<int>& part : connected(nodes)) add_bound(part, improved);
    }
    return improved;
  }

  void add_bound(const std::vector<int>& part, bool& improved) {
    Known& known = known_[part[0]];
    if (known.ops != part.size()) known = {part.size(), look_closer(part, improved)};
    bound_ += known.cost.least;
    // A part that is too much work is more so with its neighbours.
    if (!known.cost.reached() && (known.cost.decided || provable_))
      growing_.insert(growing_.end(), part.begin(), part.end());
  }

  PartialCost look_closer(const std::vector<int>& part, bool& improved) {
    PartialCost cost = solver_.part(part, choice_.order, work_left());
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

  const PlacementLimits& limits_;
  Candidates candidates_;
  Solver solver_;
  Choice choice_;
  Cost bound_;
  /// Of an op: not of interest, to be looked at, in a part, or out because it has too many orders.
  enum class State : uint8_t { outside, wanted, inside, refused };
  std::vector<State> state_;
  std::vector<int> wanted_;  // all that are not outside, in the order in which they came
  std::vector<int> growing_;
  std::unordered_map<int, Known> known_;
  size_t work_ = 0;
  bool provable_ = true;  // all that is paid belongs to ops that were not refused
};

}  // namespace

Certificate Certificate::after(const Certificate& earlier) const {
  Certificate both = *this;
  both.before += earlier.before - earlier.cost;
  both.absorbed += earlier.absorbed;
  both.candidates = std::max(candidates, earlier.candidates);
  both.regions = std::max(regions, earlier.regions);
  both.largest_region = std::max(largest_region, earlier.largest_region);
  return both;
}

Cost standing_cost(const Graph& graph, const TargetOrders& target) {
  const PlacementProblem problem = Candidates::source(graph, target);
  const PlacementLimits limits;
  return Solver(problem, target.moves, limits).total(std::vector<int>(problem.nodes.size(), 0));
}

Placement place(const Graph& graph, const TargetOrders& target, bool prove,
                const PlacementLimits& limits, const StartAt& start) {
  Proof proof(graph, target, limits);
  proof.search(start);
  if (prove) proof.prove_choice();
  return proof.placement();
}

}  // namespace layline

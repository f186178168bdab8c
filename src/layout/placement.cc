#include "layout/placement.h"

#include <algorithm>
#include <unordered_map>

#include "layout/candidates.h"
#include "layout/solve/disjoint_sets.h"
#include "layout/solve/solver.h"

namespace layline {
namespace {

// What finding an order of an op takes, when looking at an entry of a table is 1.
constexpr size_t kWorkOfOrder = 1'250;

/// Finds a choice, and then looks at the parts of the graph in which something is paid, with all
/// orders of their ops. What a part costs at least, whatever the rest of the graph does, is a bound
/// for the whole graph. A part in which less would do than is paid grows by its neighbours, until
/// the bound is reached, or the cheaper orders are found, or the part gets too large.
class PlacementSearch {
 public:
  PlacementSearch(const Graph& graph, const TargetOrders& target, const PlacementLimits& limits)
      : limits_(limits),
        candidates_(graph, target, limits),
        solver_(candidates_.problem(), target.moves, limits) {}

  void choose_among_candidates(const StartAt& start) {
    choice_ = solver_.cheapest();
    bound_ = solver_.apart();
    if (!start) return;
    choice_.order = start(problem());
    choice_.cost = solver_.total(choice_.order);
  }

  /// Improves the choice, or raises the bound to it, as far as the limits allow.
  void search_parts() {
    state_.assign(problem().nodes.size(), State::outside);
    const Cost apart = bound_;
    Cost best = bound_;  // every round's bound holds, whatever was chosen then
    want_where_paid();
    int grown = 0, steps = 0;
    for (int round = 0; round < limits_.rounds; ++round) {
      bound_ = apart;
      growing_.clear();
      const bool improved = improve_or_bound();
      best = std::max(best, bound_);
      if (improved) {
        choice_.cost = solver_.total(choice_.order);
        effort_ = Effort::until_cheaper;
        known_.clear();
        want_where_paid();
        continue;
      }
      if (work_left() == 0) break;
      const bool may_grow = provable_ || grown++ < limits_.growth_without_proof;
      if (!may_grow || !grow(provable_ ? ++steps : 1)) {
        if (effort_ == Effort::until_bounded) break;
        effort_ = Effort::until_bounded;
        std::erase_if(known_, [](const auto& part) { return part.second.cost.guessed; });
      }
    }
    bound_ = best;
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
  using Part = std::vector<NodeIndex>;

  const PlacementProblem& problem() const { return candidates_.problem(); }

  void want_where_paid() {
    for (NodeIndex node : solver_.paying(choice_.order)) want(node);
  }

  void want(NodeIndex node) {
    if (state_[node] != State::outside) return;
    state_[node] = State::wanted;
    wanted_.push_back(node);
  }

  size_t work_left() const {
    const size_t most = limits_.work + limits_.work_of_op * wanted_.size();
    const size_t left = most - std::min(most, work_);
    return provable_ ? left : std::min(left, limits_.work_of_part_without_proof);
  }

  /// Takes an op into a part, with all its orders.
  void look_at(NodeIndex node) {
    State& state = state_[node];
    if (state != State::wanted) return;
    state = candidates_.complete(node) ? State::inside : State::refused;
    if (state == State::refused && solver_.producing(node, choice_.order).price() > Cost{}.price())
      provable_ = false;
    work_ += problem().nodes[node].orders.size() * kWorkOfOrder;
  }

  /// Takes in whatever shares a value with the parts that are to grow, and so on, in as many steps.
  /// Returns false if nothing is new.
  bool grow(int steps) {
    const size_t before = wanted_.size();
    for (; steps > 0; --steps) {
      const auto known = static_cast<std::ptrdiff_t>(wanted_.size());
      for (NodeIndex node : growing_)
        problem().nodes[node].for_each_value([&](ValueIndex value) {
          problem().values[value].for_each_node([&](NodeIndex neighbour) { want(neighbour); });
        });
      growing_.assign(wanted_.begin() + known, wanted_.end());
    }
    return wanted_.size() > before;
  }

  /// The ops in groups that are connected by values.
  std::vector<Part> connected(const std::vector<NodeIndex>& nodes) const {
    DisjointSets sets(nodes.size());
    std::unordered_map<ValueIndex, size_t> first;  // for each value, the first op at it
    for (size_t i = 0; i < nodes.size(); ++i)
      problem().nodes[nodes[i]].for_each_value(
          [&](ValueIndex value) { sets.join(i, first.emplace(value, i).first->second); });
    std::vector<std::optional<size_t>> place(nodes.size());
    std::vector<Part> result;
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::optional<size_t>& part = place[sets.find(i)];
      if (!part) {
        part = result.size();
        result.emplace_back();
      }
      result[*part].push_back(nodes[i]);
    }
    return result;
  }

  /// Sums up the bound. Parts that fall short of the choice are to grow, unless something cheaper
  /// is found there: returns whether it is. All orders of an op are worked out when its part has
  /// its turn, so that nothing is done for parts that there is no work left for.
  bool improve_or_bound() {
    bool improved = false;
    for (std::vector<NodeIndex>& nodes : connected(wanted_)) {
      if (work_left() > 0)
        for (NodeIndex node : nodes) look_at(node);
      std::erase_if(nodes, [&](NodeIndex node) { return state_[node] != State::inside; });
      for (const Part& part : connected(nodes)) add_bound(part, improved);
    }
    return improved;
  }

  void add_bound(const Part& part, bool& improved) {
    Known& known = known_[part[0]];
    if (known.ops != part.size()) known = {part.size(), look_closer(part, improved)};
    bound_ += known.cost.least;
    // A part that is too much work is more so with its neighbours.
    if (!known.cost.reached() && (known.cost.decided || provable_))
      growing_.insert(growing_.end(), part.begin(), part.end());
  }

  PartialCost look_closer(const Part& part, bool& improved) {
    PartialCost cost = solver_.part(part, choice_.order, work_left(), effort_);
    work_ += cost.work;
    if (cost.reached()) return cost;
    std::vector<std::pair<NodeIndex, OrderIndex>> before;
    const Cost paid = solver_.around(part, choice_.order);
    for (auto [node, order] : cost.cheapest) {
      before.emplace_back(node, choice_.order[node]);
      choice_.order[node] = order;
    }
    if (solver_.around(part, choice_.order).price() < paid.price())
      improved = true;
    else
      for (auto [node, order] : before) choice_.order[node] = order;
    return cost;
  }

  /// What is known of a part.
  struct Known {
    size_t ops = 0;
    PartialCost cost;
  };

  const PlacementLimits& limits_;
  Candidates candidates_;
  Solver solver_;
  Choice choice_;
  Cost bound_;
  /// An op is not of interest, to be looked at, in a part, or out because it has too many orders.
  enum class State : uint8_t { outside, wanted, inside, refused };
  Indexed<NodeIndex, State> state_;
  std::vector<NodeIndex> wanted_;  // all that are not outside, in the sequence in which they came
  std::vector<NodeIndex> growing_;
  std::unordered_map<NodeIndex, Known> known_;  // by the first op of a part
  Effort effort_ = Effort::until_cheaper;       // until no part can grow
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
  return Solver(problem, target.moves, limits)
      .total(ChosenOrders(problem.nodes.size(), kSourceOrder));
}

Placement place(const Graph& graph, const TargetOrders& target, bool prove,
                const PlacementLimits& limits, const StartAt& start) {
  PlacementSearch search(graph, target, limits);
  search.choose_among_candidates(start);
  if (prove) search.search_parts();
  return search.placement();
}

}  // namespace layline

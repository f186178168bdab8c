#include "layout/solve/solver.h"

#include <algorithm>
#include <unordered_map>

#include "layout/solve/disjoint_sets.h"
#include "layout/solve/region_energy.h"

namespace layline {
namespace {

// What working out an entry of a table takes, when looking at an entry is 1.
constexpr size_t kWorkOfEntry = 2;

// The first limit of a search is above what everything costs at least by one in so many parts of
// the gap to the cost of the choice.
constexpr int64_t kShareOfGap = 16;

// Tables that do not decide are tried again so many times as large.
constexpr size_t kLargerTables = 32;

// Kept sets that are told apart in a part that may still grow.
constexpr size_t kFewKeptSets = 1000;

}  // namespace

class Solver::Implementation {
 public:
  Implementation(const PlacementProblem& problem, const MoveCosts& moves,
                 const PlacementLimits& limits)
      : problem_(problem),
        limits_(limits),
        source_orders_(problem.nodes.size(), kSourceOrder),
        inside_(problem.nodes.size(), false),
        choices_(problem, moves) {}

  Choice cheapest() {
    Choice choice;
    choice.order.assign(problem_.nodes.size(), kSourceOrder);
    DisjointSets sets(problem_.nodes.size());
    for (ValueIndex v : problem_.values.indices()) {
      const Ports& ports = choices_.look_at(v);
      for (NodeIndex reader : ports.readers) sets.join(reader.number(), ports.any()->number());
    }
    // Ops and values by region; values without a choice cost what they cost.
    std::unordered_map<size_t, Region> regions;
    for (NodeIndex n : problem_.nodes.indices()) {
      if (problem_.nodes[n].has_choice())
        regions[sets.find(n.number())].nodes.push_back(n);
      else
        choice.cost += problem_.nodes[n].costs[kSourceOrder];
    }
    for (ValueIndex v : problem_.values.indices()) {
      if (const auto member = choices_.ports(v).any())
        regions[sets.find(member->number())].values.push_back(v);
      else
        choice.cost += choices_.cost_of_value(v, choice.order);
    }
    choice.before = choice.cost;
    for (const auto& [root, region] : regions) {
      choice.cost += solve(region, choice.order);
      choice.before += choices_.cost_in(region, source_orders_);
      choice.largest_region = std::max(choice.largest_region, region.nodes.size());
    }
    choice.regions = regions.size();
    return choice;
  }

  std::vector<NodeIndex> paying(const ChosenOrders& order) {
    const auto is_paid = [](const Cost& cost) { return cost.time_ps > 0 || cost.permutes > 0; };
    Indexed<NodeIndex, bool> found(problem_.nodes.size(), false);
    for (NodeIndex n : problem_.nodes.indices())
      found[n] = is_paid(problem_.nodes[n].costs[order[n]]);
    for (ValueIndex v : problem_.values.indices()) {
      const PlacedValue& value = problem_.values[v];
      if (value.forms.size() > 1 && is_paid(full_cost_of_value(v, order)))
        value.for_each_node([&](NodeIndex n) { found[n] = true; });
    }
    std::vector<NodeIndex> nodes;
    for (NodeIndex n : found.indices())
      if (found[n]) nodes.push_back(n);
    return nodes;
  }

  PartialCost part(const std::vector<NodeIndex>& nodes, const ChosenOrders& order, size_t most_work,
                   Effort effort) {
    for (NodeIndex node : nodes) inside_[node] = true;
    PartialCost result;
    Region region;
    region.values = values_at(nodes);
    for (NodeIndex node : nodes) {
      const PlacedNode& placed = problem_.nodes[node];
      if (placed.has_choice())
        region.nodes.push_back(node);
      else
        result.chosen += placed.costs[kSourceOrder];
    }
    std::erase_if(region.values, [&](ValueIndex value) {
      const auto producer = problem_.values[value].producer;
      if (producer && !choices_.is_known(*producer, inside_)) return true;
      if (choices_.look_at(value, &inside_).any()) return false;
      result.chosen += choices_.cost_of_value(value, order);
      return true;
    });
    result.least = result.chosen;
    if (!region.nodes.empty()) search(region, order, most_work, effort, result);
    for (NodeIndex node : nodes) inside_[node] = false;
    return result;
  }

  Cost around(const std::vector<NodeIndex>& nodes, const ChosenOrders& order) {
    Cost cost;
    for (NodeIndex node : nodes) cost += problem_.nodes[node].costs[order[node]];
    for (ValueIndex value : values_at(nodes)) cost += full_cost_of_value(value, order);
    return cost;
  }

  Cost producing(NodeIndex node, const ChosenOrders& order) {
    const PlacedNode& placed = problem_.nodes[node];
    return placed.costs[order[node]] + full_cost_of_value(placed.result, order);
  }

  Cost total(const ChosenOrders& order) {
    Cost cost;
    for (NodeIndex n : problem_.nodes.indices()) cost += problem_.nodes[n].costs[order[n]];
    for (ValueIndex v : problem_.values.indices()) cost += full_cost_of_value(v, order);
    return cost;
  }

  Cost apart() {
    Cost cost;
    for (ValueIndex v : problem_.values.indices()) {
      bool at_node = false;
      problem_.values[v].for_each_node([&](NodeIndex) { at_node = true; });
      if (!at_node) cost += full_cost_of_value(v, source_orders_);
    }
    return cost;
  }

 private:
  /// The values that some ops read or write; each once.
  std::vector<ValueIndex> values_at(const std::vector<NodeIndex>& nodes) const {
    std::vector<ValueIndex> values;
    for (NodeIndex node : nodes)
      problem_.nodes[node].for_each_value([&](ValueIndex value) { values.push_back(value); });
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  /// Looks for something cheaper than a choice in a part of the graph. The lower a limit is, the
  /// fewer orders are left below it and the smaller are the tables. So the search begins below a
  /// limit that is little more than what everything costs at least. Whatever is found there says
  /// that the part is too small to prove anything.
  void search(const Region& region, const ChosenOrders& order, size_t most_work, Effort effort,
              PartialCost& result) {
    const Cost known = choices_.cost_in(region, order), rest = result.least;
    result.chosen += known;
    result.least = result.chosen;
    if (auto below_known = narrow(choices_, region, known)) {
      const int64_t least = below_known->least.time_ps, gap = known.time_ps - least;
      Cost bound;
      if (gap >= kShareOfGap) {
        const Cost limit{least + gap / kShareOfGap, 0, 0, 0};
        if (const auto narrowed = narrow(choices_, region, limit))
          bound = search_below(limit, *narrowed, region, known, most_work, effort, result);
        else
          bound = limit;
      }
      if (result.cheapest.empty()) {
        for (size_t i = 0; i < region.nodes.size(); ++i)
          choices_.left(region.nodes[i]) = std::move(below_known->left[i]);
        bound = std::max(
            bound, search_below(known, *below_known, region, known, most_work, effort, result));
      }
      result.least = rest + bound;
    }
    for (NodeIndex node : region.nodes) choices_.left(node).clear();
  }

  /// What a region costs at least, or the limit if the region costs more. Records the cheapest
  /// orders that are found below the limit.
  Cost search_below(Cost limit, const Narrowed& narrowed, const Region& region, Cost known,
                    size_t most_work, Effort effort, PartialCost& result) {
    const bool small = region.nodes.size() <= limits_.few_ops;
    const auto work_left = [&] { return most_work - std::min(most_work, result.work); };
    const size_t most_entries = work_left() / kWorkOfEntry;
    size_t room = most_entries;
    PlacementLimits limits = limits_;
    if (effort == Effort::until_cheaper)
      limits.kept_sets = std::min(limits.kept_sets, kFewKeptSets);
    result.guessed = limits.kept_sets < limits_.kept_sets;
    auto energy = energy_of(choices_, region, limits, narrowed.most_paid, room);
    result.work += (most_entries - room) * kWorkOfEntry;
    if (!energy) {
      result.decided = false;
      result.work = most_work;
      return {};
    }
    const bool possible = std::ranges::find(energy->domain, size_t{0}) == energy->domain.end();
    if (effort == Effort::until_cheaper && possible) {
      // Small tables find a cheaper choice nearly always, if there is one.
      const Minimum guess = minimise(*energy, limits_.small_tables, work_left());
      result.work += guess.work;
      if (guess.cost.price() < known.price()) {
        result.guessed = true;
        for (size_t i = 0; i < region.nodes.size(); ++i)
          result.cheapest.emplace_back(region.nodes[i],
                                       choices_.left_at(region.nodes[i], guess.choice[i]));
        return std::min(guess.bound, limit);  // nothing dearer than the limit is in the tables
      }
    }
    const Pruned pruned = prune(*std::move(energy), limit, work_left());
    result.work += pruned.work;
    if (pruned.empty) return limit;
    Minimum minimum = minimise(pruned.energy, limits_.small_tables, work_left());
    result.work += minimum.work;
    const auto decided = [&] {
      return minimum.cost.price() < known.price() || minimum.bound.price() >= limit.price();
    };
    const size_t most_entries_of_table = small ? limits_.few_ops_tables : limits_.part_tables;
    for (size_t entries = limits_.small_tables; !decided() && entries < most_entries_of_table;) {
      entries = std::min(entries * kLargerTables, most_entries_of_table);
      Minimum next = minimise(pruned.energy, entries, work_left());
      result.work += next.work;
      next.bound = std::max(next.bound, minimum.bound);
      minimum = std::move(next);
    }
    result.decided = decided();
    if (minimum.bound.price() >= limit.price()) return limit;
    for (size_t i = 0; i < region.nodes.size(); ++i)
      result.cheapest.emplace_back(
          region.nodes[i], choices_.left_at(region.nodes[i], pruned.left[i][minimum.choice[i]]));
    return minimum.bound;
  }

  /// Chooses the orders of a region's ops. Returns what they cost.
  Cost solve(const Region& region, ChosenOrders& chosen) {
    size_t room = std::numeric_limits<size_t>::max();
    const Energy energy = energy_of(choices_, region, limits_, {}, room).value();
    Minimum minimum = minimise(energy, limits_.small_tables);
    if (!minimum.exact()) minimum = minimise(energy, limits_.large_tables);
    for (size_t i = 0; i < region.nodes.size(); ++i)
      chosen[region.nodes[i]] = OrderIndex(minimum.choice[i]);
    // Kept sets are told apart only while they are few, so the choice may cost more than the
    // minimum.
    const Cost cost = choices_.cost_in(region, chosen);
    // A choice that is not proved to be the cheapest may cost more than the orders of the source.
    const Cost in_source = choices_.cost_in(region, source_orders_);
    if (cost <= in_source) return cost;
    for (NodeIndex node : region.nodes) chosen[node] = kSourceOrder;
    return in_source;
  }

  /// The cost of a value in the whole graph, whatever part was looked at before.
  Cost full_cost_of_value(ValueIndex value, const ChosenOrders& order) {
    choices_.look_at(value);
    return choices_.cost_of_value(value, order);
  }

  const PlacementProblem& problem_;
  const PlacementLimits& limits_;
  const ChosenOrders source_orders_;
  Indexed<NodeIndex, bool> inside_;  // the ops of a part of the graph
  Choices choices_;
};

Solver::Solver(const PlacementProblem& problem, const MoveCosts& moves,
               const PlacementLimits& limits)
    : implementation_(std::make_unique<Implementation>(problem, moves, limits)) {}
Solver::~Solver() = default;

Choice Solver::cheapest() { return implementation_->cheapest(); }
std::vector<NodeIndex> Solver::paying(const ChosenOrders& order) {
  return implementation_->paying(order);
}
PartialCost Solver::part(const std::vector<NodeIndex>& nodes, const ChosenOrders& order,
                         size_t most_work, Effort effort) {
  return implementation_->part(nodes, order, most_work, effort);
}
Cost Solver::around(const std::vector<NodeIndex>& nodes, const ChosenOrders& order) {
  return implementation_->around(nodes, order);
}
Cost Solver::producing(NodeIndex node, const ChosenOrders& order) {
  return implementation_->producing(node, order);
}
Cost Solver::total(const ChosenOrders& order) { return implementation_->total(order); }
Cost Solver::apart() { return implementation_->apart(); }

}  // namespace layline

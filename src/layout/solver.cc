#include "layout/solver.h"

#include <algorithm>
#include <unordered_map>

#include "layout/disjoint_sets.h"
#include "layout/region_energy.h"

namespace layline {
namespace {

// Working out an entry of a table, against looking at it when variables are eliminated.
constexpr size_t kWorkOfEntry = 2;

// Something cheaper than a choice is first looked for in this part of what lies between the cost of
// the choice and what everything costs at least.
constexpr int64_t kShareOfGap = 16;

}  // namespace

class Solver::Implementation {
 public:
  Implementation(const PlacementProblem& problem, const MoveCosts& moves,
                 const PlacementLimits& limits)
      : problem_(problem),
        limits_(limits),
        source_orders_(problem.nodes.size(), 0),
        inside_(problem.nodes.size(), false),
        choices_(problem, moves) {}

  Choice cheapest() {
    Choice choice;
    choice.order.assign(problem_.nodes.size(), 0);
    DisjointSets sets(problem_.nodes.size());
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const Ports& ports = choices_.look_at(static_cast<int>(v));
      for (int reader : ports.readers) sets.join(reader, ports.any());
    }
    // Ops and values by region; values without a choice cost what they cost.
    std::unordered_map<int, Region> regions;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      if (choices_.has_choice(static_cast<int>(n)))
        regions[sets.find(static_cast<int>(n))].nodes.push_back(static_cast<int>(n));
      else
        choice.cost += problem_.nodes[n].costs[0];
    }
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const int member = choices_.ports(static_cast<int>(v)).any();
      if (member >= 0)
        regions[sets.find(member)].values.push_back(static_cast<int>(v));
      else
        choice.cost += choices_.cost_of_value(static_cast<int>(v), choice.order);
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

  std::vector<int> paying(const std::vector<int>& order) {
    std::vector<bool> found(problem_.nodes.size(), false);
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const Cost& cost = problem_.nodes[n].costs[static_cast<size_t>(order[n])];
      found[n] = cost.time_ps > 0 || cost.permutes > 0;
    }
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const PlacedValue& value = problem_.values[v];
      if (value.forms.size() == 1) continue;
      const Cost cost = full_cost_of_value(static_cast<int>(v), order);
      if (cost.time_ps == 0 && cost.permutes == 0) continue;
      if (value.producer >= 0) found[static_cast<size_t>(value.producer)] = true;
      for (const PlacedValue::Reader& reader : value.readers)
        if (reader.node >= 0) found[static_cast<size_t>(reader.node)] = true;
    }
    std::vector<int> nodes;
    for (size_t n = 0; n < found.size(); ++n)
      if (found[n]) nodes.push_back(static_cast<int>(n));
    return nodes;
  }

  PartialCost part(const std::vector<int>& nodes, const std::vector<int>& order, size_t most_work) {
    for (int node : nodes) inside_[static_cast<size_t>(node)] = true;
    PartialCost result;
    Region region;
    for (int node : nodes) {
      const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
      if (choices_.has_choice(node))
        region.nodes.push_back(node);
      else
        result.chosen += placed.costs[0];
      region.values.push_back(placed.result);
      for (int value : placed.operands)
        if (value >= 0) region.values.push_back(value);
    }
    std::ranges::sort(region.values);
    region.values.erase(std::unique(region.values.begin(), region.values.end()),
                        region.values.end());
    std::erase_if(region.values, [&](int value) {
      const PlacedValue& placed = problem_.values[static_cast<size_t>(value)];
      if (placed.producer >= 0 && !choices_.is_known(placed.producer, inside_)) return true;
      if (choices_.look_at(value, &inside_).any() >= 0) return false;
      result.chosen += choices_.cost_of_value(value, order);
      return true;
    });
    result.least = result.chosen;
    if (!region.nodes.empty()) search(region, order, most_work, result);
    for (int node : nodes) inside_[static_cast<size_t>(node)] = false;
    return result;
  }

  Cost around(const std::vector<int>& nodes, const std::vector<int>& order) {
    Cost cost;
    std::vector<int> values;
    for (int node : nodes) {
      const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
      cost += placed.costs[static_cast<size_t>(order[static_cast<size_t>(node)])];
      values.push_back(placed.result);
      for (int value : placed.operands)
        if (value >= 0) values.push_back(value);
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (int value : values) cost += full_cost_of_value(value, order);
    return cost;
  }

  Cost producing(int node, const std::vector<int>& order) {
    const PlacedNode& placed = problem_.nodes[static_cast<size_t>(node)];
    return placed.costs[static_cast<size_t>(order[static_cast<size_t>(node)])] +
           full_cost_of_value(placed.result, order);
  }

  Cost total(const std::vector<int>& order) {
    Cost cost;
    for (size_t n = 0; n < problem_.nodes.size(); ++n)
      cost += problem_.nodes[n].costs[static_cast<size_t>(order[n])];
    for (size_t v = 0; v < problem_.values.size(); ++v)
      cost += full_cost_of_value(static_cast<int>(v), order);
    return cost;
  }

  Cost apart() {
    Cost cost;
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const PlacedValue& value = problem_.values[v];
      if (value.producer < 0 &&
          std::ranges::all_of(value.readers, [](const auto& reader) { return reader.node < 0; }))
        cost += full_cost_of_value(static_cast<int>(v), source_orders_);
    }
    return cost;
  }

 private:
  /// Looks for something cheaper than a choice in a part of the graph. The lower a limit is, the
  /// fewer orders are left below it and the smaller are the tables: so first below one that is
  /// little more than what everything costs at least. Whatever is found there says that the part
  /// is too small to prove anything.
  void search(const Region& region, const std::vector<int>& order, size_t most_work,
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
          bound = search_below(limit, *narrowed, region, known, most_work, result);
        else
          bound = limit;
      }
      if (result.cheapest.empty()) {
        for (size_t i = 0; i < region.nodes.size(); ++i)
          choices_.left(region.nodes[i]) = std::move(below_known->left[i]);
        bound =
            std::max(bound, search_below(known, *below_known, region, known, most_work, result));
      }
      result.least = rest + bound;
    }
    for (int node : region.nodes) choices_.left(node).clear();
  }

  /// What a region costs at least, or the limit if that is more. Takes over the cheapest orders
  /// that are found if they cost less than is known.
  Cost search_below(Cost limit, const Narrowed& narrowed, const Region& region, Cost known,
                    size_t most_work, PartialCost& result) {
    const bool small = region.nodes.size() <= limits_.few_ops;
    const auto work_left = [&] { return most_work - std::min(most_work, result.work); };
    const size_t most_entries = work_left() / kWorkOfEntry;
    size_t room = most_entries;
    auto energy = energy_of(choices_, region, limits_, narrowed.most_paid, room);
    result.work += (most_entries - room) * kWorkOfEntry;
    if (!energy) {
      result.decided = false;
      result.work = most_work;
      return {};
    }
    const Pruned pruned = prune(*std::move(energy), limit, work_left());
    result.work += pruned.work;
    if (pruned.empty) return limit;
    Minimum minimum = minimise(pruned.energy, limits_.small_tables, work_left());
    result.work += minimum.work;
    const auto decided = [&] {
      return minimum.cost.price() < known.price() || minimum.bound.price() >= limit.price();
    };
    if (!decided()) {
      minimum = minimise(pruned.energy, small ? limits_.few_ops_tables : limits_.part_tables,
                         work_left());
      result.work += minimum.work;
    }
    result.decided = decided();
    if (minimum.bound.price() >= limit.price()) return limit;
    for (size_t i = 0; i < region.nodes.size(); ++i)
      result.cheapest.emplace_back(
          region.nodes[i],
          choices_.order_at(region.nodes[i],
                            pruned.kept[i][static_cast<size_t>(minimum.choice[i])]));
    return minimum.bound;
  }

  /// Chooses the orders of a region's ops. Returns what they cost.
  Cost solve(const Region& region, std::vector<int>& chosen) {
    size_t room = std::numeric_limits<size_t>::max();
    const Energy energy = energy_of(choices_, region, limits_, {}, room).value();
    Minimum minimum = minimise(energy, limits_.small_tables);
    if (!minimum.exact()) minimum = minimise(energy, limits_.large_tables);
    for (size_t i = 0; i < region.nodes.size(); ++i)
      chosen[static_cast<size_t>(region.nodes[i])] = minimum.choice[i];
    // Kept copies are told apart only as far as they are few: what is chosen may cost more.
    const Cost cost = choices_.cost_in(region, chosen);
    // A choice that is not proved best may be worse than none.
    const Cost in_source = choices_.cost_in(region, source_orders_);
    if (cost <= in_source) return cost;
    for (int node : region.nodes) chosen[static_cast<size_t>(node)] = 0;
    return in_source;
  }

  /// Whatever part of the graph was looked at before.
  Cost full_cost_of_value(int value, const std::vector<int>& order) {
    choices_.look_at(value);
    return choices_.cost_of_value(value, order);
  }

  const PlacementProblem& problem_;
  const PlacementLimits& limits_;
  const std::vector<int> source_orders_;
  std::vector<bool> inside_;  // the ops of a part of the graph
  Choices choices_;
};

Solver::Solver(const PlacementProblem& problem, const MoveCosts& moves,
               const PlacementLimits& limits)
    : implementation_(std::make_unique<Implementation>(problem, moves, limits)) {}
Solver::~Solver() = default;

Choice Solver::cheapest() { return implementation_->cheapest(); }
std::vector<int> Solver::paying(const std::vector<int>& order) {
  return implementation_->paying(order);
}
PartialCost Solver::part(const std::vector<int>& nodes, const std::vector<int>& order,
                         size_t most_work) {
  return implementation_->part(nodes, order, most_work);
}
Cost Solver::around(const std::vector<int>& nodes, const std::vector<int>& order) {
  return implementation_->around(nodes, order);
}
Cost Solver::producing(int node, const std::vector<int>& order) {
  return implementation_->producing(node, order);
}
Cost Solver::total(const std::vector<int>& order) { return implementation_->total(order); }
Cost Solver::apart() { return implementation_->apart(); }

}  // namespace layline

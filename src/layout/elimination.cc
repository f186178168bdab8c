#include "layout/elimination.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>

#include "base/error.h"
#include "layout/shift_costs.h"
#include "layout/table_entries.h"

namespace layline {
namespace {

/// to[k] = a[k] + b[k * stride]
void add(const PackedCost* a, const PackedCost* b, size_t stride, std::span<PackedCost> to) {
  for (PackedCost& total : to) {
    total = *a++ + *b;
    b += stride;
  }
}

/// The least a[k] + b[k * stride].
PackedCost least_sum(std::span<const PackedCost> a, const PackedCost* b, size_t stride) {
  PackedCost least = a[0] + *b;
  for (PackedCost cost : a) {
    least = std::min(least, cost + *b);
    b += stride;
  }
  return least;
}

/// How far apart the entries of a table over `scope` are for two neighbouring choices of a
/// variable; 0 if the table does not depend on it.
size_t stride_of(const std::vector<int>& domain, const std::vector<int>& scope, int variable) {
  size_t stride = 1;
  for (size_t i = scope.size(); i-- > 0;) {
    if (scope[i] == variable) return stride;
    stride *= static_cast<size_t>(domain[static_cast<size_t>(scope[i])]);
  }
  return 0;
}

/// Where the entry for a choice of all variables is in a table over `scope`.
size_t position_in(const std::vector<int>& domain, const std::vector<int>& scope,
                   const std::vector<int>& choice) {
  size_t position = 0;
  for (int variable : scope)
    position = position * static_cast<size_t>(domain[static_cast<size_t>(variable)]) +
               static_cast<size_t>(choice[static_cast<size_t>(variable)]);
  return position;
}

size_t entries(const std::vector<int>& domain, const std::vector<int>& scope, size_t limit) {
  size_t count = 1;
  for (int variable : scope) {
    count *= static_cast<size_t>(domain[static_cast<size_t>(variable)]);
    if (count > limit) return limit + 1;
  }
  return count;
}

std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
  for (int variable : b)
    if (std::ranges::find(a, variable) == a.end()) a.push_back(variable);
  return a;
}

/// How far the entries of a table over `scope` are from its first, for all choices of `variables`,
/// the last fastest.
std::vector<size_t> offsets(const std::vector<int>& domain, const std::vector<int>& scope,
                            std::span<const int> variables) {
  std::vector<size_t> result = {0};
  for (int variable : variables) {
    const auto size = static_cast<size_t>(domain[static_cast<size_t>(variable)]);
    const size_t stride = stride_of(domain, scope, variable);
    std::vector<size_t> further;
    further.reserve(result.size() * size);
    for (size_t offset : result)
      for (size_t choice = 0; choice < size; ++choice) further.push_back(offset + choice * stride);
    result = std::move(further);
  }
  return result;
}

/// The least sums of some tables over one of their variables, as a table over the others. These are
/// taken in two parts, outer and inner: tables that depend on one part only are added up for
/// themselves, and most do.
class LeastSums {
 public:
  LeastSums(const std::vector<int>& domain, std::span<const int> scope, int variable,
            const std::vector<const Factor*>& tables)
      : choices_(static_cast<size_t>(domain[static_cast<size_t>(variable)])) {
    const auto count = [&](std::span<const int> variables) {
      size_t choices = 1;
      for (int other : variables)
        choices *= static_cast<size_t>(domain[static_cast<size_t>(other)]);
      return choices;
    };
    // As many choices inside as outside, about.
    const size_t all = count(scope);
    size_t split = scope.size();
    for (size_t inner = 1; split > 0; --split) {
      inner *= static_cast<size_t>(domain[static_cast<size_t>(scope[split - 1])]);
      if (inner * inner > all && split < scope.size()) break;
    }
    const auto outer = scope.first(split), inner = scope.subspan(split);
    outer_ = count(outer);
    inner_sums_.resize(count(inner) * choices_);
    for (const Factor* table : tables) {
      const auto depends = [&](int other) {
        return std::ranges::find(table->scope, other) != table->scope.end();
      };
      const bool on_inner = std::ranges::any_of(inner, depends);
      Part part{table->table.data(), stride_of(domain, table->scope, variable), {}, {}};
      if (on_inner) part.inner = offsets(domain, table->scope, inner);
      if (!on_inner || std::ranges::any_of(outer, depends)) {
        part.outer = offsets(domain, table->scope, outer);
        (on_inner ? mixed_parts_ : outer_parts_).push_back(std::move(part));
        continue;
      }
      for (size_t i = 0; i < part.inner.size(); ++i) {
        PackedCost* sums = &inner_sums_[i * choices_];
        add(sums, part.entries + part.inner[i], part.stride, {sums, choices_});
      }
    }
  }

  std::vector<PackedCost> table() const {
    std::vector<PackedCost> result(outer_ * inner_sums_.size() / choices_);
    auto entry = result.begin();
    std::vector<PackedCost> outer_sums(choices_), sums(choices_);
    for (size_t o = 0; o < outer_; ++o) {
      std::ranges::fill(outer_sums, PackedCost{});
      for (const Part& part : outer_parts_)
        add(outer_sums.data(), part.entries + part.outer[o], part.stride, outer_sums);
      for (size_t i = 0; i * choices_ < inner_sums_.size(); ++i) {
        const PackedCost* last = &inner_sums_[i * choices_];
        size_t stride = 1;
        std::span<const PackedCost> others = outer_sums;
        for (const Part& part : mixed_parts_) {
          add(others.data(), last, stride, sums);
          others = sums;
          last = part.entries + part.outer[o] + part.inner[i];
          stride = part.stride;
        }
        *entry++ = least_sum(others, last, stride);
      }
    }
    return result;
  }

 private:
  struct Part {
    const PackedCost* entries;
    size_t stride;  // of the variable
    std::vector<size_t> outer, inner;
  };

  const size_t choices_;
  size_t outer_ = 0;
  std::vector<PackedCost>
      inner_sums_;  // for each choice of the inner variables, then of the variable
  std::vector<Part> outer_parts_, mixed_parts_;
};

/// Numbers of permutes, views and reordered ops must fit what a packed cost has for them.
void check_ties(const Energy& energy) {
  Cost most;
  for (const Factor& factor : energy.factors) {
    uint64_t any = 0;  // no number in the factor is larger than its bits in any
    for (PackedCost cost : factor.table) any |= cost.ties();
    most += PackedCost::of_ties(any).unpacked();
  }
  if (std::max({most.permutes, most.views, most.reordered}) > PackedCost::kMostTies)
    throw UserError("the graph is too large for layouts to be placed; disable place_layouts");
}

class Elimination {
 public:
  Elimination(const Energy& energy, size_t most_entries, size_t most_work)
      : domain_(energy.domain),
        most_entries_(most_entries),
        most_work_(most_work),
        of_variable_(domain_.size()),
        neighbours_(domain_.size()),
        buckets_(domain_.size()) {
    check_ties(energy);
    for (const Factor& factor : energy.factors) attach(&factor);
  }

  Minimum run(const Energy& energy) {
    using Entry = std::pair<size_t, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (size_t v = 0; v < domain_.size(); ++v)
      queue.push({neighbours_[v].size(), static_cast<int>(v)});
    std::vector<bool> done(domain_.size(), false);
    std::vector<int> order;
    while (!queue.empty()) {
      const auto [degree, variable] = queue.top();
      queue.pop();
      const auto v = static_cast<size_t>(variable);
      if (done[v] || degree != neighbours_[v].size()) continue;
      done[v] = true;
      order.push_back(variable);
      const std::vector<int> touched = neighbours_[v];
      eliminate(variable);
      for (int other : touched) queue.push({neighbours_[static_cast<size_t>(other)].size(), other});
    }
    Minimum minimum;
    minimum.work = work_;
    minimum.bound = constant_.unpacked();
    minimum.choice.assign(domain_.size(), 0);
    for (size_t i = order.size(); i-- > 0;) choose(order[i], minimum.choice);
    minimum.cost = cost_of(energy, minimum.choice);
    return minimum;
  }

 private:
  void attach(const Factor* added) {
    const auto index = static_cast<int>(tables_.size());
    const Factor& table = *tables_.emplace_back(added);
    if (table.scope.empty()) {
      constant_ += table.table[0];
      return;
    }
    for (int variable : table.scope) {
      of_variable_[static_cast<size_t>(variable)].push_back(index);
      auto& adjacent = neighbours_[static_cast<size_t>(variable)];
      for (int other : table.scope)
        if (other != variable && std::ranges::find(adjacent, other) == adjacent.end())
          adjacent.push_back(other);
    }
  }

  void eliminate(int variable) {
    const auto v = static_cast<size_t>(variable);
    buckets_[v] = std::move(of_variable_[v]);
    for (int other : neighbours_[v]) {
      std::erase(neighbours_[static_cast<size_t>(other)], variable);
      auto& list = of_variable_[static_cast<size_t>(other)];
      std::erase_if(list,
                    [&](int f) { return std::ranges::find(buckets_[v], f) != buckets_[v].end(); });
    }
    // Groups of factors whose joint table stays small; one group is the exact step.
    const size_t limit = std::min(most_entries_, most_work_ - std::min(most_work_, work_));
    std::vector<std::vector<int>> groups;
    std::vector<std::vector<int>> scopes;
    for (int f : buckets_[v]) {
      bool placed = false;
      for (size_t g = 0; g < groups.size() && !placed; ++g) {
        std::vector<int> scope = joined(scopes[g], tables_[static_cast<size_t>(f)]->scope);
        if (entries(domain_, scope, limit) > limit) continue;
        groups[g].push_back(f);
        scopes[g] = std::move(scope);
        placed = true;
      }
      if (placed) continue;
      groups.push_back({f});
      scopes.push_back(tables_[static_cast<size_t>(f)]->scope);
    }
    for (size_t g = 0; g < groups.size(); ++g) minimise_out(variable, groups[g], scopes[g]);
    neighbours_[v].clear();
  }

  /// Adds the minimum over `variable` of the sum of some tables, as a new table.
  void minimise_out(int variable, const std::vector<int>& group, std::vector<int> scope) {
    std::erase(scope, variable);
    std::vector<const Factor*> parts;
    for (int table : group) parts.push_back(tables_[static_cast<size_t>(table)]);
    std::vector<PackedCost> least = LeastSums(domain_, scope, variable, parts).table();
    work_ += least.size() * static_cast<size_t>(domain_[static_cast<size_t>(variable)]);
    attach(&made_.emplace_back(std::move(scope), std::move(least)));
  }

  /// The best choice of a variable when everything eliminated after it has been chosen.
  void choose(int variable, std::vector<int>& choice) const {
    const auto v = static_cast<size_t>(variable);
    PackedCost best;
    int best_choice = 0;
    for (int k = 0; k < domain_[v]; ++k) {
      choice[v] = k;
      PackedCost total;
      for (int f : buckets_[v]) {
        const Factor& table = *tables_[static_cast<size_t>(f)];
        total += table.table[position_in(domain_, table.scope, choice)];
      }
      if (k == 0 || total < best) {
        best = total;
        best_choice = k;
      }
    }
    choice[v] = best_choice;
  }

  const std::vector<int>& domain_;
  const size_t most_entries_, most_work_;
  std::vector<const Factor*> tables_;  // those that were given, then those that were made
  std::deque<Factor> made_;
  std::vector<std::vector<int>> of_variable_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<std::vector<int>> buckets_;
  PackedCost constant_;
  size_t work_ = 0;
};

// Moving costs between tables, for each variable, against looking at an entry.
constexpr size_t kWorkOfShift = 4;

/// For each choice of the variable at `place` in a factor's scope, the least entry that goes with
/// it.
std::vector<PackedCost> least_with(const std::vector<int>& domain, const Factor& factor,
                                   size_t place) {
  const auto choices = static_cast<size_t>(domain[static_cast<size_t>(factor.scope[place])]);
  std::vector<PackedCost> least(choices, Cost::forbidden());
  for_each_entry(domain, factor.scope, place, factor.table, [&](PackedCost entry, size_t choice) {
    least[choice] = std::min(least[choice], entry);
  });
  return least;
}

/// For each choice of each variable, what everything costs at least: the sum of the least entries
/// of all factors that go with it.
std::vector<std::vector<PackedCost>> least_with(const Energy& energy) {
  std::vector<std::vector<PackedCost>> result;  // first, how much more than with the best choices
  for (int choices : energy.domain) result.emplace_back(static_cast<size_t>(choices));
  PackedCost all;
  for (const Factor& factor : energy.factors) {
    const PackedCost any = *std::ranges::min_element(factor.table);
    all += any;
    for (size_t i = 0; i < factor.scope.size(); ++i) {
      const auto least = least_with(energy.domain, factor, i);
      auto& with = result[static_cast<size_t>(factor.scope[i])];
      for (size_t k = 0; k < least.size(); ++k) with[k] += least[k] - any;
    }
  }
  for (auto& with : result)
    for (PackedCost& cost : with) cost += all;
  return result;
}

/// The factors over what is kept of each variable.
Energy restricted(Energy energy, const std::vector<std::vector<int>>& kept) {
  const auto is_whole = [&](int variable) {
    const auto v = static_cast<size_t>(variable);
    return kept[v].size() == static_cast<size_t>(energy.domain[v]);
  };
  for (Factor& factor : energy.factors) {
    if (std::ranges::all_of(factor.scope, is_whole)) continue;
    std::vector<size_t> positions = {0};  // of what is kept
    for (int variable : factor.scope) {
      const auto v = static_cast<size_t>(variable);
      std::vector<size_t> further;
      further.reserve(positions.size() * kept[v].size());
      for (size_t position : positions)
        for (int choice : kept[v])
          further.push_back(position * static_cast<size_t>(energy.domain[v]) +
                            static_cast<size_t>(choice));
      positions = std::move(further);
    }
    // What is kept comes no later than before.
    for (size_t i = 0; i < positions.size(); ++i) factor.table[i] = factor.table[positions[i]];
    factor.table.resize(positions.size());
  }
  for (size_t v = 0; v < kept.size(); ++v) energy.domain[v] = static_cast<int>(kept[v].size());
  return energy;
}

}  // namespace

Cost cost_of(const Energy& energy, const std::vector<int>& choice) {
  PackedCost cost;
  for (const Factor& factor : energy.factors)
    cost += factor.table[position_in(energy.domain, factor.scope, choice)];
  return cost.unpacked();
}

Pruned prune(Energy energy, Cost limit, size_t most_work) {
  check_ties(energy);
  const auto most = PackedCost(limit).price();
  Pruned result{std::move(energy), {}};
  for (int choices : result.energy.domain) {
    result.kept.emplace_back(static_cast<size_t>(choices));
    std::iota(result.kept.back().begin(), result.kept.back().end(), 0);
  }
  size_t before = std::numeric_limits<size_t>::max();
  while (true) {
    result.empty = std::ranges::any_of(result.kept, [](const auto& kept) { return kept.empty(); });
    size_t entries = 0, work = 0;
    for (const Factor& factor : result.energy.factors) {
      entries += factor.table.size();
      work += factor.table.size() * (1 + kWorkOfShift * factor.scope.size());
    }
    // What does not get much smaller is better left to elimination.
    const bool stuck = entries >= before - before / 4;
    if (result.empty || stuck || result.work + work > most_work) return result;
    before = entries;
    result.work += work;
    shift_costs(result.energy);
    const auto least = least_with(result.energy);
    std::vector<std::vector<int>> left(least.size()), original(least.size());
    for (size_t v = 0; v < least.size(); ++v)
      for (size_t k = 0; k < least[v].size(); ++k) {
        if (least[v][k].price() >= most) continue;
        left[v].push_back(static_cast<int>(k));
        original[v].push_back(result.kept[v][k]);
      }
    result.energy = restricted(std::move(result.energy), left);
    result.kept = std::move(original);
  }
}

Minimum minimise(const Energy& energy, size_t most_entries, size_t most_work) {
  return Elimination(energy, most_entries, most_work).run(energy);
}

}  // namespace layline

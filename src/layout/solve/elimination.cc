#include "layout/solve/elimination.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>
#include <ranges>
#include <span>

#include "base/error.h"
#include "layout/solve/shift_costs.h"
#include "layout/solve/table_entries.h"

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
size_t stride_of(const std::vector<size_t>& domain, const std::vector<size_t>& scope,
                 size_t variable) {
  size_t stride = 1;
  for (size_t i = scope.size(); i-- > 0;) {
    if (scope[i] == variable) return stride;
    stride *= domain[scope[i]];
  }
  return 0;
}

/// Where the entry for a choice of all variables is in a table over `scope`.
size_t position_in(const std::vector<size_t>& domain, const std::vector<size_t>& scope,
                   const std::vector<size_t>& choice) {
  size_t position = 0;
  for (size_t variable : scope) position = position * domain[variable] + choice[variable];
  return position;
}

size_t entries(const std::vector<size_t>& domain, const std::vector<size_t>& scope, size_t limit) {
  size_t count = 1;
  for (size_t variable : scope) {
    count *= domain[variable];
    if (count > limit) return limit + 1;
  }
  return count;
}

std::vector<size_t> joined(std::vector<size_t> a, const std::vector<size_t>& b) {
  for (size_t variable : b)
    if (std::ranges::find(a, variable) == a.end()) a.push_back(variable);
  return a;
}

/// How far the entries of a table over `scope` are from its first, for all choices of `variables`,
/// the last fastest.
std::vector<size_t> offsets(const std::vector<size_t>& domain, const std::vector<size_t>& scope,
                            std::span<const size_t> variables) {
  std::vector<size_t> result = {0};
  for (size_t variable : variables) {
    const size_t size = domain[variable];
    const size_t stride = stride_of(domain, scope, variable);
    std::vector<size_t> further;
    further.reserve(result.size() * size);
    for (size_t offset : result)
      for (size_t choice = 0; choice < size; ++choice) further.push_back(offset + choice * stride);
    result = std::move(further);
  }
  return result;
}

/// The least sums of some tables over one of their variables, as a table over the others. The
/// others are taken in two halves, outer and inner: tables that depend on one half only, as most
/// do, are added up by themselves.
class LeastSums {
 public:
  LeastSums(const std::vector<size_t>& domain, std::span<const size_t> scope, size_t variable,
            const std::vector<const Table*>& tables)
      : choices_(domain[variable]) {
    const auto count = [&](std::span<const size_t> variables) {
      size_t choices = 1;
      for (size_t other : variables) choices *= domain[other];
      return choices;
    };
    // The inner half gets about as many choices as the outer half.
    const size_t all = count(scope);
    size_t split = scope.size();
    for (size_t inner = 1; split > 0; --split) {
      inner *= domain[scope[split - 1]];
      if (inner * inner > all && split < scope.size()) break;
    }
    const auto outer = scope.first(split), inner = scope.subspan(split);
    outer_ = count(outer);
    inner_sums_.resize(count(inner) * choices_);
    for (const Table* table : tables) {
      const auto depends = [&](size_t other) {
        return std::ranges::find(table->scope, other) != table->scope.end();
      };
      const bool on_inner = std::ranges::any_of(inner, depends);
      Term term{table->entries.data(), stride_of(domain, table->scope, variable), {}, {}};
      if (on_inner) term.inner = offsets(domain, table->scope, inner);
      if (!on_inner || std::ranges::any_of(outer, depends)) {
        term.outer = offsets(domain, table->scope, outer);
        (on_inner ? mixed_terms_ : outer_terms_).push_back(std::move(term));
        continue;
      }
      for (size_t i = 0; i < term.inner.size(); ++i) {
        PackedCost* sums = &inner_sums_[i * choices_];
        add(sums, term.entries + term.inner[i], term.stride, {sums, choices_});
      }
    }
  }

  std::vector<PackedCost> entries() const {
    std::vector<PackedCost> result(outer_ * inner_sums_.size() / choices_);
    auto entry = result.begin();
    std::vector<PackedCost> outer_sums(choices_), sums(choices_);
    for (size_t o = 0; o < outer_; ++o) {
      std::ranges::fill(outer_sums, PackedCost{});
      for (const Term& term : outer_terms_)
        add(outer_sums.data(), term.entries + term.outer[o], term.stride, outer_sums);
      for (size_t i = 0; i * choices_ < inner_sums_.size(); ++i) {
        const PackedCost* last = &inner_sums_[i * choices_];
        size_t stride = 1;
        std::span<const PackedCost> others = outer_sums;
        for (const Term& term : mixed_terms_) {
          add(others.data(), last, stride, sums);
          others = sums;
          last = term.entries + term.outer[o] + term.inner[i];
          stride = term.stride;
        }
        *entry++ = least_sum(others, last, stride);
      }
    }
    return result;
  }

 private:
  struct Term {
    const PackedCost* entries;
    size_t stride;  // between the variable's choices
    std::vector<size_t> outer, inner;
  };

  const size_t choices_;
  size_t outer_ = 0;
  std::vector<PackedCost>
      inner_sums_;  // for each choice of the inner variables, then of the variable
  std::vector<Term> outer_terms_, mixed_terms_;
};

/// Refuses an energy whose permutes, views or reordered ops are too many for a packed cost.
void check_ties(const Energy& energy) {
  Cost most;
  for (const Table& table : energy.tables) {
    uint64_t any = 0;  // the bits of all entries: no number is larger
    for (PackedCost cost : table.entries) any |= cost.ties();
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
    for (const Table& table : energy.tables) attach(&table);
  }

  Minimum run(const Energy& energy) {
    using Entry = std::pair<size_t, size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (size_t v = 0; v < domain_.size(); ++v) queue.push({neighbours_[v].size(), v});
    std::vector<bool> done(domain_.size(), false);
    std::vector<size_t> sequence;
    while (!queue.empty()) {
      const auto [degree, variable] = queue.top();
      queue.pop();
      if (done[variable] || degree != neighbours_[variable].size()) continue;
      done[variable] = true;
      sequence.push_back(variable);
      const std::vector<size_t> touched = neighbours_[variable];
      eliminate(variable);
      for (size_t other : touched) queue.push({neighbours_[other].size(), other});
    }
    Minimum minimum;
    minimum.work = work_;
    minimum.bound = constant_.unpacked();
    minimum.choice.assign(domain_.size(), 0);
    for (size_t variable : std::views::reverse(sequence)) choose(variable, minimum.choice);
    minimum.cost = cost_of(energy, minimum.choice);
    return minimum;
  }

 private:
  void attach(const Table* added) {
    const size_t index = tables_.size();
    const Table& table = *tables_.emplace_back(added);
    if (table.scope.empty()) {
      constant_ += table.entries[0];
      return;
    }
    for (size_t variable : table.scope) {
      of_variable_[variable].push_back(index);
      auto& adjacent = neighbours_[variable];
      for (size_t other : table.scope)
        if (other != variable && std::ranges::find(adjacent, other) == adjacent.end())
          adjacent.push_back(other);
    }
  }

  void eliminate(size_t variable) {
    std::vector<size_t>& bucket = buckets_[variable] = std::move(of_variable_[variable]);
    for (size_t other : neighbours_[variable]) {
      std::erase(neighbours_[other], variable);
      std::erase_if(of_variable_[other],
                    [&](size_t t) { return std::ranges::find(bucket, t) != bucket.end(); });
    }
    // Groups of tables whose joint table stays small; one group is the exact step.
    const size_t limit = std::min(most_entries_, most_work_ - std::min(most_work_, work_));
    std::vector<std::vector<size_t>> groups;
    std::vector<std::vector<size_t>> scopes;
    for (size_t t : bucket) {
      bool placed = false;
      for (size_t g = 0; g < groups.size() && !placed; ++g) {
        std::vector<size_t> scope = joined(scopes[g], tables_[t]->scope);
        if (entries(domain_, scope, limit) > limit) continue;
        groups[g].push_back(t);
        scopes[g] = std::move(scope);
        placed = true;
      }
      if (placed) continue;
      groups.push_back({t});
      scopes.push_back(tables_[t]->scope);
    }
    for (size_t g = 0; g < groups.size(); ++g) minimise_out(variable, groups[g], scopes[g]);
    neighbours_[variable].clear();
  }

  /// Adds the minimum over `variable` of the sum of some tables, as a new table.
  void minimise_out(size_t variable, const std::vector<size_t>& group, std::vector<size_t> scope) {
    std::erase(scope, variable);
    std::vector<const Table*> summed;
    for (size_t t : group) summed.push_back(tables_[t]);
    std::vector<PackedCost> least = LeastSums(domain_, scope, variable, summed).entries();
    work_ += least.size() * domain_[variable];
    attach(&made_.emplace_back(std::move(scope), std::move(least)));
  }

  /// The best choice of a variable when everything eliminated after it has been chosen.
  void choose(size_t variable, std::vector<size_t>& choice) const {
    PackedCost best;
    size_t best_choice = 0;
    for (size_t k = 0; k < domain_[variable]; ++k) {
      choice[variable] = k;
      PackedCost total;
      for (size_t t : buckets_[variable]) {
        const Table& table = *tables_[t];
        total += table.entries[position_in(domain_, table.scope, choice)];
      }
      if (k == 0 || total < best) {
        best = total;
        best_choice = k;
      }
    }
    choice[variable] = best_choice;
  }

  const std::vector<size_t>& domain_;
  const size_t most_entries_, most_work_;
  std::vector<const Table*> tables_;  // those that were given, then those that were made
  std::deque<Table> made_;
  // For each variable: the tables that have it in their scope and are not summed up yet, the
  // variables that share one of them with it, and the tables that were summed up to eliminate it.
  std::vector<std::vector<size_t>> of_variable_;
  std::vector<std::vector<size_t>> neighbours_;
  std::vector<std::vector<size_t>> buckets_;
  PackedCost constant_;
  size_t work_ = 0;
};

// What moving an entry's cost takes, for each variable, when looking at an entry is 1.
constexpr size_t kWorkOfShift = 4;

/// For each choice of the variable at `place` in a table's scope, the least entry with it.
std::vector<PackedCost> least_with(const std::vector<size_t>& domain, const Table& table,
                                   size_t place) {
  std::vector<PackedCost> least(domain[table.scope[place]], Cost::forbidden());
  for_each_entry(domain, table, place, [&](PackedCost entry, size_t choice) {
    least[choice] = std::min(least[choice], entry);
  });
  return least;
}

/// For each choice of each variable, what everything costs at least with it: the sum of the least
/// entries of all tables with it.
std::vector<std::vector<PackedCost>> least_with(const Energy& energy) {
  std::vector<std::vector<PackedCost>> result;  // first, how much more than with the best choices
  for (size_t choices : energy.domain) result.emplace_back(choices);
  PackedCost all;
  for (const Table& table : energy.tables) {
    const PackedCost any = *std::ranges::min_element(table.entries);
    all += any;
    for (size_t i = 0; i < table.scope.size(); ++i) {
      const auto least = least_with(energy.domain, table, i);
      auto& with = result[table.scope[i]];
      for (size_t k = 0; k < least.size(); ++k) with[k] += least[k] - any;
    }
  }
  for (auto& with : result)
    for (PackedCost& cost : with) cost += all;
  return result;
}

/// The tables over what is left of each variable.
Energy restricted(Energy energy, const std::vector<std::vector<size_t>>& left) {
  const auto is_whole = [&](size_t variable) {
    return left[variable].size() == energy.domain[variable];
  };
  for (Table& table : energy.tables) {
    if (std::ranges::all_of(table.scope, is_whole)) continue;
    std::vector<size_t> positions = {0};  // of the entries that are left
    for (size_t variable : table.scope) {
      std::vector<size_t> further;
      further.reserve(positions.size() * left[variable].size());
      for (size_t position : positions)
        for (size_t choice : left[variable])
          further.push_back(position * energy.domain[variable] + choice);
      positions = std::move(further);
    }
    // An entry that is left comes no later than before, so it may overwrite.
    for (size_t i = 0; i < positions.size(); ++i) table.entries[i] = table.entries[positions[i]];
    table.entries.resize(positions.size());
  }
  for (size_t v = 0; v < left.size(); ++v) energy.domain[v] = left[v].size();
  return energy;
}

}  // namespace

Cost cost_of(const Energy& energy, const std::vector<size_t>& choice) {
  PackedCost cost;
  for (const Table& table : energy.tables)
    cost += table.entries[position_in(energy.domain, table.scope, choice)];
  return cost.unpacked();
}

Pruned prune(Energy energy, Cost limit, size_t most_work) {
  check_ties(energy);
  const auto most = PackedCost(limit).price();
  Pruned result{std::move(energy), {}};
  for (size_t choices : result.energy.domain) {
    result.left.emplace_back(choices);
    std::iota(result.left.back().begin(), result.left.back().end(), size_t{0});
  }
  size_t before = std::numeric_limits<size_t>::max();
  while (true) {
    result.empty = std::ranges::any_of(result.left, [](const auto& left) { return left.empty(); });
    size_t entries = 0, work = 0;
    for (const Table& table : result.energy.tables) {
      entries += table.entries.size();
      work += table.entries.size() * (1 + kWorkOfShift * table.scope.size());
    }
    // Elimination is better than pruning at an energy that does not get much smaller.
    const bool stuck = entries >= before - before / 4;
    if (result.empty || stuck || result.work + work > most_work) return result;
    before = entries;
    result.work += work;
    shift_costs(result.energy);
    const auto least = least_with(result.energy);
    std::vector<std::vector<size_t>> left(least.size()), original(least.size());
    for (size_t v = 0; v < least.size(); ++v)
      for (size_t k = 0; k < least[v].size(); ++k) {
        if (least[v][k].price() >= most) continue;
        left[v].push_back(k);
        original[v].push_back(result.left[v][k]);
      }
    result.energy = restricted(std::move(result.energy), left);
    result.left = std::move(original);
  }
}

Minimum minimise(const Energy& energy, size_t most_entries, size_t most_work) {
  return Elimination(energy, most_entries, most_work).run(energy);
}

}  // namespace layline

#include "layout/elimination.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>

#include "base/error.h"

namespace layline {
namespace {

/// A cost as one number, with time in its upper word: adding and comparing costs is what
/// eliminating variables takes its time for.
__extension__ using Packed = unsigned __int128;

constexpr int kWord = 64;
constexpr int kTieBits = 21;  // for permutes, views and reordered ops each: none exceeds kMostTies
constexpr int64_t kMostTies = (int64_t{1} << kTieBits) - 1;

Packed packed(const Cost& cost) {
  const int64_t ties =
      (cost.permutes << (2 * kTieBits)) + (cost.views << kTieBits) + cost.reordered;
  return (Packed{static_cast<uint64_t>(cost.time_ps)} << kWord) + static_cast<uint64_t>(ties);
}

Cost unpacked(Packed cost) {
  const auto ties = static_cast<int64_t>(cost);
  return {static_cast<int64_t>(cost >> kWord), ties >> (2 * kTieBits),
          (ties >> kTieBits) & kMostTies, ties & kMostTies};
}

/// As the sum of costs: what is forbidden stays so.
Packed sum(Packed a, Packed b) {
  const Packed both = a + b;
  const auto time = std::min(static_cast<uint64_t>(both >> kWord), uint64_t{Cost::kForbiddenTime});
  return (Packed{time} << kWord) + static_cast<uint64_t>(both);
}

/// to[k] = a[k] + b[k * stride]
void add(const Packed* a, const Packed* b, size_t stride, std::span<Packed> to) {
  for (Packed& total : to) {
    total = sum(*a++, *b);
    b += stride;
  }
}

/// The least a[k] + b[k * stride].
Packed least_sum(std::span<const Packed> a, const Packed* b, size_t stride) {
  Packed least = ~Packed{0};
  for (Packed cost : a) {
    least = std::min(least, sum(cost, *b));
    b += stride;
  }
  return least;
}

/// A factor during elimination.
struct Table {
  std::vector<int> scope;
  std::vector<Packed> entries;
};

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
            const std::vector<const Table*>& tables)
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
    for (const Table* table : tables) {
      const auto depends = [&](int other) {
        return std::ranges::find(table->scope, other) != table->scope.end();
      };
      const bool on_inner = std::ranges::any_of(inner, depends);
      Part part{table->entries.data(), stride_of(domain, table->scope, variable), {}, {}};
      if (on_inner) part.inner = offsets(domain, table->scope, inner);
      if (!on_inner || std::ranges::any_of(outer, depends)) {
        part.outer = offsets(domain, table->scope, outer);
        (on_inner ? mixed_parts_ : outer_parts_).push_back(std::move(part));
        continue;
      }
      for (size_t i = 0; i < part.inner.size(); ++i) {
        Packed* sums = &inner_sums_[i * choices_];
        add(sums, part.entries + part.inner[i], part.stride, {sums, choices_});
      }
    }
  }

  std::vector<Packed> table() const {
    std::vector<Packed> result(outer_ * inner_sums_.size() / choices_);
    auto entry = result.begin();
    std::vector<Packed> outer_sums(choices_), sums(choices_);
    for (size_t o = 0; o < outer_; ++o) {
      std::ranges::fill(outer_sums, 0);
      for (const Part& part : outer_parts_)
        add(outer_sums.data(), part.entries + part.outer[o], part.stride, outer_sums);
      for (size_t i = 0; i * choices_ < inner_sums_.size(); ++i) {
        const Packed* last = &inner_sums_[i * choices_];
        size_t stride = 1;
        std::span<const Packed> others = outer_sums;
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
    const Packed* entries;
    size_t stride;  // of the variable
    std::vector<size_t> outer, inner;
  };

  const size_t choices_;
  size_t outer_ = 0;
  std::vector<Packed> inner_sums_;  // for each choice of the inner variables, then of the variable
  std::vector<Part> outer_parts_, mixed_parts_;
};

class Elimination {
 public:
  Elimination(const Energy& energy, size_t most_entries, size_t most_work)
      : domain_(energy.domain),
        most_entries_(most_entries),
        most_work_(most_work),
        of_variable_(domain_.size()),
        neighbours_(domain_.size()),
        buckets_(domain_.size()) {
    Cost most;
    for (const Factor& factor : energy.factors) {
      Table table{factor.scope, {}};
      table.entries.reserve(factor.table.size());
      Cost largest;
      for (const Cost& cost : factor.table) {
        table.entries.push_back(packed(cost));
        largest.permutes = std::max(largest.permutes, cost.permutes);
        largest.views = std::max(largest.views, cost.views);
        largest.reordered = std::max(largest.reordered, cost.reordered);
      }
      most += largest;
      attach(std::move(table));
    }
    if (std::max({most.permutes, most.views, most.reordered}) > kMostTies)
      throw UserError("the graph is too large for layouts to be placed; disable place_layouts");
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
    minimum.bound = unpacked(constant_);
    minimum.choice.assign(domain_.size(), 0);
    for (size_t i = order.size(); i-- > 0;) choose(order[i], minimum.choice);
    minimum.cost = cost_of(energy, minimum.choice);
    return minimum;
  }

 private:
  void attach(Table made) {
    const auto index = static_cast<int>(tables_.size());
    const Table& table = tables_.emplace_back(std::move(made));
    if (table.scope.empty()) {
      constant_ = sum(constant_, table.entries[0]);
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
        std::vector<int> scope = joined(scopes[g], tables_[static_cast<size_t>(f)].scope);
        if (entries(domain_, scope, limit) > limit) continue;
        groups[g].push_back(f);
        scopes[g] = std::move(scope);
        placed = true;
      }
      if (placed) continue;
      groups.push_back({f});
      scopes.push_back(joined({variable}, tables_[static_cast<size_t>(f)].scope));
    }
    for (size_t g = 0; g < groups.size(); ++g) minimise_out(variable, groups[g], scopes[g]);
    neighbours_[v].clear();
  }

  /// Adds the minimum over `variable` of the sum of some tables, as a new table.
  void minimise_out(int variable, const std::vector<int>& group, std::vector<int> scope) {
    std::erase(scope, variable);
    std::vector<const Table*> parts;
    for (int table : group) parts.push_back(&tables_[static_cast<size_t>(table)]);
    std::vector<Packed> least = LeastSums(domain_, scope, variable, parts).table();
    work_ += least.size() * static_cast<size_t>(domain_[static_cast<size_t>(variable)]);
    attach({std::move(scope), std::move(least)});
  }

  /// The best choice of a variable when everything eliminated after it has been chosen.
  void choose(int variable, std::vector<int>& choice) const {
    const auto v = static_cast<size_t>(variable);
    Packed best = 0;
    int best_choice = 0;
    for (int k = 0; k < domain_[v]; ++k) {
      choice[v] = k;
      Packed total = 0;
      for (int f : buckets_[v]) {
        const Table& table = tables_[static_cast<size_t>(f)];
        total = sum(total, table.entries[position_in(domain_, table.scope, choice)]);
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
  std::deque<Table> tables_;  // those that were given, then those that were made
  std::vector<std::vector<int>> of_variable_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<std::vector<int>> buckets_;
  Packed constant_ = 0;
  size_t work_ = 0;
};

/// For each choice of each variable, what it costs at least: the sum over its factors of the least
/// entry that goes with it.
std::vector<std::vector<Cost>> least_with(const Energy& energy) {
  std::vector<std::vector<Cost>> result;
  for (int choices : energy.domain) result.emplace_back(static_cast<size_t>(choices));
  for (const Factor& factor : energy.factors) {
    std::vector<std::vector<Cost>> least;
    for (int variable : factor.scope)
      least.emplace_back(static_cast<size_t>(energy.domain[static_cast<size_t>(variable)]),
                         Cost::forbidden());
    for (size_t entry = 0; entry < factor.table.size(); ++entry) {
      size_t rest = entry;
      for (size_t i = factor.scope.size(); i-- > 0;) {
        const size_t choices = least[i].size();
        Cost& known = least[i][rest % choices];
        known = std::min(known, factor.table[entry]);
        rest /= choices;
      }
    }
    for (size_t i = 0; i < factor.scope.size(); ++i)
      for (size_t k = 0; k < least[i].size(); ++k)
        result[static_cast<size_t>(factor.scope[i])][k] += least[i][k];
  }
  return result;
}

/// The factors over what is kept of each variable.
Energy restricted(const Energy& energy, const std::vector<std::vector<int>>& kept) {
  Energy result;
  for (const std::vector<int>& choices : kept)
    result.domain.push_back(static_cast<int>(choices.size()));
  for (const Factor& factor : energy.factors) {
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
    Factor part{factor.scope, {}};
    part.table.reserve(positions.size());
    for (size_t position : positions) part.table.push_back(factor.table[position]);
    result.factors.push_back(std::move(part));
  }
  return result;
}

}  // namespace

Cost cost_of(const Energy& energy, const std::vector<int>& choice) {
  Cost cost;
  for (const Factor& factor : energy.factors) {
    cost += factor.table[position_in(energy.domain, factor.scope, choice)];
  }
  return cost;
}

Pruned prune(Energy energy, Cost limit) {
  Pruned result{std::move(energy), {}, false};
  for (int choices : result.energy.domain) {
    result.kept.emplace_back(static_cast<size_t>(choices));
    std::iota(result.kept.back().begin(), result.kept.back().end(), 0);
  }
  while (true) {
    const auto least = least_with(result.energy);
    bool smaller = false;
    std::vector<std::vector<int>> left(least.size()), original(least.size());
    for (size_t v = 0; v < least.size(); ++v) {
      for (size_t k = 0; k < least[v].size(); ++k) {
        if (least[v][k].price() >= limit.price()) continue;
        left[v].push_back(static_cast<int>(k));
        original[v].push_back(result.kept[v][k]);
      }
      smaller = smaller || left[v].size() < least[v].size();
      result.empty = result.empty || left[v].empty();
    }
    if (result.empty || !smaller) return result;
    result.energy = restricted(result.energy, left);
    result.kept = std::move(original);
  }
}

Minimum minimise(const Energy& energy, size_t most_entries, size_t most_work) {
  return Elimination(energy, most_entries, most_work).run(energy);
}

}  // namespace layline

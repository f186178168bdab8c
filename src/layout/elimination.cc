#include "layout/elimination.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>

#include "base/error.h"

namespace layline {
namespace {

/// How far apart the entries of a factor's table are for two neighbouring choices of a variable; 0
/// if the factor does not depend on it.
size_t stride_of(const std::vector<int>& domain, const Factor& factor, int variable) {
  size_t stride = 1;
  for (size_t i = factor.scope.size(); i-- > 0;) {
    if (factor.scope[i] == variable) return stride;
    stride *= static_cast<size_t>(domain[static_cast<size_t>(factor.scope[i])]);
  }
  return 0;
}

/// Steps through all choices of a list of variables, the last fastest, and keeps track of where
/// that is in the tables of factors, at the first choice of all other variables.
class Walk {
 public:
  Walk(const std::vector<int>& domain, const std::vector<int>& scope,
       const std::vector<const Factor*>& factors)
      : choice_(scope.size(), 0), position_(factors.size(), 0), strides_(scope.size()) {
    for (size_t i = 0; i < scope.size(); ++i) {
      sizes_.push_back(domain[static_cast<size_t>(scope[i])]);
      for (size_t f = 0; f < factors.size(); ++f)
        if (const size_t stride = stride_of(domain, *factors[f], scope[i]); stride > 0)
          strides_[i].push_back({f, stride});
    }
  }

  const std::vector<size_t>& position() const { return position_; }
  const std::vector<int>& choice() const { return choice_; }
  /// How many of the first variables the last step left alone; none before the first step.
  size_t unchanged() const { return unchanged_; }

  bool next() {
    for (size_t i = sizes_.size(); i-- > 0;) {
      if (++choice_[i] < sizes_[i]) {
        for (auto [factor, stride] : strides_[i]) position_[factor] += stride;
        unchanged_ = i;
        return true;
      }
      choice_[i] = 0;
      for (auto [factor, stride] : strides_[i])
        position_[factor] -= stride * static_cast<size_t>(sizes_[i] - 1);
    }
    return false;
  }

 private:
  struct Step {
    size_t factor, stride;
  };
  std::vector<int> sizes_;
  std::vector<int> choice_;
  std::vector<size_t> position_;
  std::vector<std::vector<Step>> strides_;  // for each variable, of the factors that depend on it
  size_t unchanged_ = 0;
};

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

class Elimination {
 public:
  Elimination(const Energy& energy, size_t most_entries)
      : domain_(energy.domain),
        limit_(most_entries),
        of_variable_(domain_.size()),
        neighbours_(domain_.size()),
        buckets_(domain_.size()) {
    for (const Factor& factor : energy.factors) {
      factors_.push_back(&factor);
      attach(static_cast<int>(factors_.size()) - 1);
    }
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
    minimum.bound = constant_;
    minimum.choice.assign(domain_.size(), 0);
    for (size_t i = order.size(); i-- > 0;) choose(order[i], minimum.choice);
    minimum.cost = cost_of(energy, minimum.choice);
    return minimum;
  }

 private:
  void attach(int index) {
    const Factor& factor = *factors_[static_cast<size_t>(index)];
    if (factor.scope.empty()) {
      constant_ += factor.table[0];
      return;
    }
    for (int variable : factor.scope) {
      of_variable_[static_cast<size_t>(variable)].push_back(index);
      auto& adjacent = neighbours_[static_cast<size_t>(variable)];
      for (int other : factor.scope)
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
    std::vector<std::vector<int>> groups;
    std::vector<std::vector<int>> scopes;
    for (int f : buckets_[v]) {
      bool placed = false;
      for (size_t g = 0; g < groups.size() && !placed; ++g) {
        std::vector<int> scope = joined(scopes[g], factors_[static_cast<size_t>(f)]->scope);
        if (entries(domain_, scope, limit_) > limit_) continue;
        groups[g].push_back(f);
        scopes[g] = std::move(scope);
        placed = true;
      }
      if (placed) continue;
      groups.push_back({f});
      scopes.push_back(joined({variable}, factors_[static_cast<size_t>(f)]->scope));
    }
    for (size_t g = 0; g < groups.size(); ++g) minimise_out(variable, groups[g], scopes[g]);
    neighbours_[v].clear();
  }

  /// Adds the minimum over `variable` of the sum of some factors, as a new factor.
  void minimise_out(int variable, const std::vector<int>& group, std::vector<int> scope) {
    std::erase(scope, variable);
    const auto choices = static_cast<size_t>(domain_[static_cast<size_t>(variable)]);
    std::vector<const Factor*> parts;
    for (int f : group) parts.push_back(factors_[static_cast<size_t>(f)]);
    // A part is added where the last of its variables is chosen, and not again while only further
    // ones change.
    struct Part {
      size_t index, stride;
    };
    std::vector<std::vector<Part>> added(std::max<size_t>(scope.size(), 1));
    for (size_t i = 0; i < parts.size(); ++i) {
      size_t last = added.size() - 1;
      while (last > 0 && stride_of(domain_, *parts[i], scope[last]) == 0) --last;
      added[last].push_back({i, stride_of(domain_, *parts[i], variable)});
    }
    std::vector<Cost> sums((added.size() + 1) * choices);  // none, and up to each variable
    std::vector<Cost> table;
    table.reserve(entries(domain_, scope, limit_));
    Walk walk(domain_, scope, parts);
    do {
      for (size_t i = walk.unchanged(); i < added.size(); ++i) {
        const Cost* before = &sums[i * choices];
        Cost* sum = &sums[(i + 1) * choices];
        for (size_t k = 0; k < choices; ++k) {
          sum[k] = before[k];
          for (const Part& part : added[i])
            sum[k] += parts[part.index]->table[walk.position()[part.index] + k * part.stride];
        }
      }
      table.push_back(*std::min_element(&sums[added.size() * choices], sums.data() + sums.size()));
    } while (walk.next());
    work_ += table.size() * choices;
    factors_.push_back(&made_.emplace_back(Factor{std::move(scope), std::move(table)}));
    attach(static_cast<int>(factors_.size()) - 1);
  }

  /// The best choice of a variable when everything eliminated after it has been chosen.
  void choose(int variable, std::vector<int>& choice) const {
    const auto v = static_cast<size_t>(variable);
    Cost best = Cost::forbidden();
    int best_choice = 0;
    for (int k = 0; k < domain_[v]; ++k) {
      choice[v] = k;
      Cost sum;
      for (int f : buckets_[v]) {
        const Factor& factor = *factors_[static_cast<size_t>(f)];
        size_t position = 0;
        for (int other : factor.scope)
          position = position * static_cast<size_t>(domain_[static_cast<size_t>(other)]) +
                     static_cast<size_t>(choice[static_cast<size_t>(other)]);
        sum += factor.table[position];
      }
      if (k == 0 || sum < best) {
        best = sum;
        best_choice = k;
      }
    }
    choice[v] = best_choice;
  }

  const std::vector<int>& domain_;
  size_t limit_;
  std::vector<const Factor*> factors_;  // those that were given, then those that were made
  std::deque<Factor> made_;
  std::vector<std::vector<int>> of_variable_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<std::vector<int>> buckets_;
  Cost constant_;
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
    Factor part{factor.scope, {}};
    size_t entries = 1;
    for (int variable : factor.scope) entries *= kept[static_cast<size_t>(variable)].size();
    part.table.reserve(entries);
    Walk walk(result.domain, factor.scope, {});
    do {
      size_t position = 0;
      for (size_t i = 0; i < factor.scope.size(); ++i) {
        const auto variable = static_cast<size_t>(factor.scope[i]);
        position = position * static_cast<size_t>(energy.domain[variable]) +
                   static_cast<size_t>(kept[variable][static_cast<size_t>(walk.choice()[i])]);
      }
      part.table.push_back(factor.table[position]);
    } while (walk.next());
    result.factors.push_back(std::move(part));
  }
  return result;
}

}  // namespace

Cost cost_of(const Energy& energy, const std::vector<int>& choice) {
  Cost cost;
  for (const Factor& factor : energy.factors) {
    size_t position = 0;
    for (int variable : factor.scope)
      position = position * static_cast<size_t>(energy.domain[static_cast<size_t>(variable)]) +
                 static_cast<size_t>(choice[static_cast<size_t>(variable)]);
    cost += factor.table[position];
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

Minimum minimise(const Energy& energy, size_t most_entries) {
  return Elimination(energy, most_entries).run(energy);
}

}  // namespace layline

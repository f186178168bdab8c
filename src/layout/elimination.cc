#include "layout/elimination.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/error.h"

namespace layline {
namespace {

/// Steps through all choices of a list of variables, the last fastest, and keeps track of where
/// that is in the tables of factors over subsets of them.
class Walk {
 public:
  Walk(const std::vector<int>& domain, std::vector<int> scope,
       const std::vector<const Factor*>& factors)
      : scope_(std::move(scope)), choice_(scope_.size(), 0), position_(factors.size(), 0) {
    for (int variable : scope_) sizes_.push_back(domain[static_cast<size_t>(variable)]);
    for (const Factor* factor : factors) {
      std::vector<size_t> strides(scope_.size(), 0);
      size_t stride = 1;
      for (size_t i = factor->scope.size(); i-- > 0;) {
        const auto place = std::ranges::find(scope_, factor->scope[i]) - scope_.begin();
        strides[static_cast<size_t>(place)] = stride;
        stride *= static_cast<size_t>(domain[static_cast<size_t>(factor->scope[i])]);
      }
      strides_.push_back(std::move(strides));
    }
  }

  const std::vector<size_t>& position() const { return position_; }
  const std::vector<int>& choice() const { return choice_; }

  bool next() {
    for (size_t i = scope_.size(); i-- > 0;) {
      ++choice_[i];
      for (size_t f = 0; f < position_.size(); ++f) position_[f] += strides_[f][i];
      if (choice_[i] < sizes_[i]) return true;
      for (size_t f = 0; f < position_.size(); ++f)
        position_[f] -= strides_[f][i] * static_cast<size_t>(sizes_[i]);
      choice_[i] = 0;
    }
    return false;
  }

 private:
  std::vector<int> scope_;
  std::vector<int> sizes_;
  std::vector<int> choice_;
  std::vector<size_t> position_;
  std::vector<std::vector<size_t>> strides_;
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
        factors_(energy.factors.begin(), energy.factors.end()),
        of_variable_(domain_.size()),
        neighbours_(domain_.size()),
        buckets_(domain_.size()) {
    for (size_t f = 0; f < factors_.size(); ++f) attach(static_cast<int>(f));
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
    const Factor& factor = factors_[static_cast<size_t>(index)];
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
        std::vector<int> scope = joined(scopes[g], factors_[static_cast<size_t>(f)].scope);
        if (entries(domain_, scope, limit_) > limit_) continue;
        groups[g].push_back(f);
        scopes[g] = std::move(scope);
        placed = true;
      }
      if (placed) continue;
      groups.push_back({f});
      scopes.push_back(joined({variable}, factors_[static_cast<size_t>(f)].scope));
    }
    for (size_t g = 0; g < groups.size(); ++g) minimise_out(variable, groups[g], scopes[g]);
    neighbours_[v].clear();
  }

  /// Adds the minimum over `variable` of the sum of some factors, as a new factor.
  void minimise_out(int variable, const std::vector<int>& group, std::vector<int> scope) {
    std::erase(scope, variable);
    std::vector<int> all = scope;
    all.push_back(variable);
    std::vector<const Factor*> parts;
    for (int f : group) parts.push_back(&factors_[static_cast<size_t>(f)]);
    Factor result{std::move(scope), {}};
    const int choices = domain_[static_cast<size_t>(variable)];
    Walk walk(domain_, all, parts);
    int k = 0;
    Cost best;
    do {
      Cost sum;
      for (size_t i = 0; i < parts.size(); ++i) sum += parts[i]->table[walk.position()[i]];
      ++work_;
      best = k == 0 ? sum : std::min(best, sum);
      if (++k == choices) {
        result.table.push_back(best);
        k = 0;
      }
    } while (walk.next());
    factors_.push_back(std::move(result));
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
        const Factor& factor = factors_[static_cast<size_t>(f)];
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
  std::vector<Factor> factors_;
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

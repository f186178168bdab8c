#include "layout/shift_costs.h"

#include <algorithm>

#include "layout/table_entries.h"

namespace layline {
namespace {

class Shifting {
 public:
  explicit Shifting(Energy& energy) : energy_(energy), at_(energy.domain.size()) {
    for (size_t f = 0; f < energy_.factors.size(); ++f) {
      const auto& scope = energy_.factors[f].scope;
      for (size_t place = 0; place < scope.size(); ++place)
        at_[static_cast<size_t>(scope[place])].push_back({f, place});
    }
    arrange();
  }

  void run() {
    for (int variable : order_) gather(variable, 1);
    for (size_t i = order_.size(); i-- > 0;) gather(order_[i], -1);
  }

 private:
  struct Place {
    size_t factor;
    size_t place;  // in its scope
  };

  /// Variables next to each other come one soon after the other.
  void arrange() {
    rank_.assign(energy_.domain.size(), -1);
    for (size_t first = 0; first < rank_.size(); ++first) {
      take(static_cast<int>(first));
      for (size_t i = order_.size() - 1; i < order_.size(); ++i)
        for (const Place& at : at_[static_cast<size_t>(order_[i])])
          for (int other : energy_.factors[at.factor].scope) take(other);
    }
  }

  void take(int variable) {
    int& rank = rank_[static_cast<size_t>(variable)];
    if (rank >= 0) return;
    rank = static_cast<int>(order_.size());
    order_.push_back(variable);
  }

  /// Collects what the choices of a variable cost at least from all its factors, and deals it out
  /// to those that lead on.
  void gather(int variable, int direction) {
    const auto& places = at_[static_cast<size_t>(variable)];
    const auto choices = static_cast<size_t>(energy_.domain[static_cast<size_t>(variable)]);
    std::vector<std::vector<int64_t>> least;
    std::vector<int64_t> all(choices, 0);
    std::vector<bool> leads_on;
    int64_t forward = 0, backward = 0;
    for (const Place& at : places) {
      const Factor& factor = energy_.factors[at.factor];
      auto& of_factor = least.emplace_back(choices, Cost::kForbiddenTime);
      for_each_entry(energy_.domain, factor.scope, at.place, factor.table,
                     [&](PackedCost entry, size_t choice) {
                       of_factor[choice] = std::min(of_factor[choice], entry.time_ps());
                     });
      for (size_t k = 0; k < choices; ++k)
        all[k] = std::min(all[k] + of_factor[k], Cost::kForbiddenTime);
      bool on = false, back = false;
      for (int other : factor.scope) {
        const int ahead =
            direction * (rank_[static_cast<size_t>(other)] - rank_[static_cast<size_t>(variable)]);
        on = on || ahead > 0;
        back = back || ahead < 0;
      }
      leads_on.push_back(on);
      forward += on;
      backward += back;
    }
    if (places.size() < 2) return;
    const int64_t shares = std::max<int64_t>({forward, backward, 1});
    // What is not dealt out stays with the others.
    const auto others = static_cast<int64_t>(places.size()) - forward;
    for (size_t i = 0; i < places.size(); ++i) {
      std::vector<int64_t> more(choices);
      for (size_t k = 0; k < choices; ++k) {
        if (all[k] >= Cost::kForbiddenTime) continue;
        const int64_t dealt = all[k] / shares, rest = all[k] - dealt * forward;
        more[k] = (leads_on[i] ? dealt : rest / others) - least[i][k];
        if (i == 0) more[k] += others == 0 ? rest : rest % others;
      }
      if (std::ranges::all_of(more, [](int64_t time) { return time == 0; })) continue;
      Factor& factor = energy_.factors[places[i].factor];
      for_each_entry(energy_.domain, factor.scope, places[i].place, factor.table,
                     [&](PackedCost& entry, size_t choice) {
                       if (entry.time_ps() < Cost::kForbiddenTime) entry.add_time(more[choice]);
                     });
    }
  }

  Energy& energy_;
  std::vector<std::vector<Place>> at_;  // of each variable
  std::vector<int> order_, rank_;
};

}  // namespace

void shift_costs(Energy& energy) { Shifting(energy).run(); }

}  // namespace layline

#include "layout/solve/shift_costs.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "layout/solve/table_entries.h"

namespace layline {
namespace {

class Shifting {
 public:
  explicit Shifting(Energy& energy) : energy_(energy), at_(energy.domain.size()) {
    for (size_t t = 0; t < energy_.tables.size(); ++t) {
      const auto& scope = energy_.tables[t].scope;
      for (size_t place = 0; place < scope.size(); ++place) at_[scope[place]].push_back({t, place});
    }
    arrange();
  }

  void run() {
    for (size_t variable : sequence_) gather(variable, Direction::on);
    for (size_t variable : std::views::reverse(sequence_)) gather(variable, Direction::back);
  }

 private:
  enum class Direction { on, back };

  /// Where a variable is in a table.
  struct Place {
    size_t table;
    size_t place;  // in its scope
  };

  /// Puts the variables in a sequence in which neighbours come one soon after the other.
  void arrange() {
    rank_.resize(energy_.domain.size());
    for (size_t first = 0; first < rank_.size(); ++first) {
      take(first);
      for (size_t i = sequence_.size() - 1; i < sequence_.size(); ++i)
        for (const Place& at : at_[sequence_[i]])
          for (size_t other : energy_.tables[at.table].scope) take(other);
    }
  }

  void take(size_t variable) {
    if (rank_[variable]) return;
    rank_[variable] = sequence_.size();
    sequence_.push_back(variable);
  }

  /// Collects what the choices of a variable cost at least in all its tables, and deals it out to
  /// the tables that lead on in this direction.
  void gather(size_t variable, Direction direction) {
    const auto& places = at_[variable];
    const size_t choices = energy_.domain[variable];
    std::vector<std::vector<int64_t>> least;
    std::vector<int64_t> all(choices, 0);
    std::vector<bool> leads_on;
    int64_t ahead = 0, behind = 0;  // tables that lead on, and that lead back
    for (const Place& at : places) {
      const Table& table = energy_.tables[at.table];
      auto& of_table = least.emplace_back(choices, Cost::kForbiddenTime);
      for_each_entry(energy_.domain, table, at.place, [&](PackedCost entry, size_t choice) {
        of_table[choice] = std::min(of_table[choice], entry.time_ps());
      });
      for (size_t k = 0; k < choices; ++k)
        all[k] = std::min(all[k] + of_table[k], Cost::kForbiddenTime);
      bool leads_back = false, leads_ahead = false;
      for (size_t other : table.scope) {
        leads_back = leads_back || rank_[other] < rank_[variable];
        leads_ahead = leads_ahead || rank_[other] > rank_[variable];
      }
      if (direction == Direction::back) std::swap(leads_back, leads_ahead);
      leads_on.push_back(leads_ahead);
      ahead += leads_ahead;
      behind += leads_back;
    }
    if (places.size() < 2) return;
    const int64_t shares = std::max<int64_t>({ahead, behind, 1});
    // The rest that is not dealt out stays with the other tables.
    const auto others = static_cast<int64_t>(places.size()) - ahead;
    for (size_t i = 0; i < places.size(); ++i) {
      std::vector<int64_t> more(choices);
      for (size_t k = 0; k < choices; ++k) {
        if (all[k] >= Cost::kForbiddenTime) continue;
        const int64_t dealt = all[k] / shares, rest = all[k] - dealt * ahead;
        more[k] = (leads_on[i] ? dealt : rest / others) - least[i][k];
        if (i == 0) more[k] += others == 0 ? rest : rest % others;
      }
      if (std::ranges::all_of(more, [](int64_t time) { return time == 0; })) continue;
      Table& table = energy_.tables[places[i].table];
      for_each_entry(energy_.domain, table, places[i].place, [&](PackedCost& entry, size_t choice) {
        if (entry.time_ps() < Cost::kForbiddenTime) entry.add_time(more[choice]);
      });
    }
  }

  Energy& energy_;
  std::vector<std::vector<Place>> at_;  // for each variable
  std::vector<size_t> sequence_;
  std::vector<std::optional<size_t>> rank_;  // for each variable, its place in the sequence
};

}  // namespace

void shift_costs(Energy& energy) { Shifting(energy).run(); }

}  // namespace layline

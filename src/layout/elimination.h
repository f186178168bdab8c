// Minimising a sum of small tables over discrete variables, by eliminating one variable after the
// other (bucket elimination: R. Dechter, Artificial Intelligence 113, 1999).
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "layout/packed_cost.h"

namespace layline {

/// A cost for every choice of the variables in its scope: row-major, the last variable fastest.
struct Factor {
  std::vector<int> scope;
  std::vector<PackedCost> table;
};

struct Energy {
  std::vector<int> domain;  // how many choices each variable has
  std::vector<Factor> factors;
};

struct Minimum {
  std::vector<int> choice;
  Cost cost;        // of the choice
  Cost bound;       // no choice costs less
  size_t work = 0;  // entries of tables that were looked at
  bool exact() const { return cost == bound; }
};

/// The energy without those choices of single variables that cannot be part of anything cheaper
/// than `limit`; kept[v] lists what is left of variable v. A variable that nothing is left of
/// proves that nothing is cheaper.
struct Pruned {
  Energy energy;
  std::vector<std::vector<int>> kept;
  bool empty = false;
  size_t work = 0;  // entries of tables that were looked at
};
/// Stops looking for more when that would take more than `most_work`.
Pruned prune(Energy energy, Cost limit, size_t most_work = std::numeric_limits<size_t>::max());

Cost cost_of(const Energy& energy, const std::vector<int>& choice);

/// Exact while no table would exceed `most_entries` and all of them `most_work`; beyond that a
/// variable's factors are minimised in groups (mini-buckets), which gives a choice and a bound that
/// may differ. Linear in the number of variables for graphs of bounded width, such as chains with
/// residuals.
Minimum minimise(const Energy& energy, size_t most_entries = size_t{1} << 16,
                 size_t most_work = std::numeric_limits<size_t>::max());

}  // namespace layline

// Minimising a sum of small tables over discrete variables, by eliminating one variable after the
// other (bucket elimination: R. Dechter, Artificial Intelligence 113, 1999). Variables, and the
// choices of each, are numbered from 0.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "layout/solve/packed_cost.h"

namespace layline {

/// A cost for every choice of the variables in its scope: row-major, the last variable fastest.
struct Table {
  std::vector<size_t> scope;
  std::vector<PackedCost> entries;
};

/// The cost of a choice is the sum of the entries for it, one of each table.
///
///   {.domain = {2, 3}, .tables = {{{0}, {5, 0}}, {{0, 1}, {1, 2, 3, 4, 5, 6}}}}
///   Choosing 1 for variable 0 and 2 for variable 1 costs 0 + 6.
struct Energy {
  std::vector<size_t> domain;  // how many choices each variable has
  std::vector<Table> tables;
};

struct Minimum {
  std::vector<size_t> choice;  // for each variable
  Cost cost;                   // of the choice
  Cost bound;                  // no choice costs less
  size_t work = 0;             // entries of tables that were looked at
  bool exact() const { return cost == bound; }
};

/// An energy without those choices of single variables that cannot be part of anything cheaper than
/// a limit. A variable with no choice left proves that nothing is cheaper.
struct Pruned {
  Energy energy;
  std::vector<std::vector<size_t>> left;  // for each variable, the choices that it still has
  bool empty = false;                     // a variable has none
  size_t work = 0;                        // entries of tables that were looked at
};
/// Every choice that costs less than `limit` is left, and costs what it did. Stops looking for more
/// when that would take more than `most_work`.
Pruned prune(Energy energy, Cost limit, size_t most_work = std::numeric_limits<size_t>::max());

Cost cost_of(const Energy& energy, const std::vector<size_t>& choice);

/// Exact while no table would exceed `most_entries` and all of them `most_work`. Beyond that a
/// variable's tables are minimised in groups (mini-buckets), which gives a choice and a bound that
/// may differ. Linear in the number of variables for graphs of bounded width, such as chains with
/// residuals.
Minimum minimise(const Energy& energy, size_t most_entries = size_t{1} << 16,
                 size_t most_work = std::numeric_limits<size_t>::max());

}  // namespace layline

// Walking a table along one of its variables.
#pragma once

#include <cstddef>
#include <vector>

namespace layline {

/// Calls `visit(entry, choice)` for all entries of a table, with the choice that they are for of
/// the variable at `place` in the table's scope. `domain` says how many choices each variable has.
template <typename Table, typename Visit>
void for_each_entry(const std::vector<size_t>& domain, Table& table, size_t place, Visit visit) {
  size_t stride = 1;
  for (size_t i = place + 1; i < table.scope.size(); ++i) stride *= domain[table.scope[i]];
  const size_t choices = domain[table.scope[place]];
  auto entry = table.entries.begin();
  if (stride == 1) {
    while (entry != table.entries.end())
      for (size_t choice = 0; choice < choices; ++choice) visit(*entry++, choice);
    return;
  }
  while (entry != table.entries.end())
    for (size_t choice = 0; choice < choices; ++choice)
      for (const auto end = entry + static_cast<std::ptrdiff_t>(stride); entry != end; ++entry)
        visit(*entry, choice);
}

}  // namespace layline

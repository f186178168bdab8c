// Walking the table of a factor along one of its variables.
#pragma once

#include <cstddef>
#include <vector>

namespace layline {

/// Calls `visit(entry, choice)` for all entries of a table over `scope`, with the choice of the
/// variable at `place` there.
template <typename Table, typename Visit>
void for_each_entry(const std::vector<int>& domain, const std::vector<int>& scope, size_t place,
                    Table& table, Visit visit) {
  size_t stride = 1;
  for (size_t i = place + 1; i < scope.size(); ++i)
    stride *= static_cast<size_t>(domain[static_cast<size_t>(scope[i])]);
  const auto choices = static_cast<size_t>(domain[static_cast<size_t>(scope[place])]);
  auto entry = table.begin();
  if (stride == 1) {
    while (entry != table.end())
      for (size_t choice = 0; choice < choices; ++choice) visit(*entry++, choice);
    return;
  }
  while (entry != table.end())
    for (size_t choice = 0; choice < choices; ++choice)
      for (const auto end = entry + static_cast<std::ptrdiff_t>(stride); entry != end; ++entry)
        visit(*entry, choice);
}

}  // namespace layline

#include "layout/limits.h"

#include <algorithm>

namespace layline {

PlacementLimits PlacementLimits::for_seconds(double seconds) {
  PlacementLimits limits;
  if (!(seconds > 0)) return limits;
  constexpr double kWorkOfSecond = 3e8, kMostSeconds = 1e6;
  limits.work += static_cast<size_t>(std::min(seconds, kMostSeconds) * kWorkOfSecond);
  limits.work_of_part_without_proof = limits.work;
  limits.all_orders = 720;
  limits.digits = 6;
  limits.kept_sets = 8000;
  limits.entries_of_own_copies = limits.part_tables = limits.few_ops_tables = size_t{1} << 22;
  limits.rounds = 100;
  return limits;
}

}  // namespace layline

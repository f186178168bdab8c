// What it costs to move data, and how costs are compared.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "algebra/relayout.h"
#include "ir/type.h"

namespace layline {

/// Costs are exact integers, so that sums do not depend on their order and "equal" means equal.
/// Time first; at equal time fewer permutes, then fewer views, then fewer ops that leave the order
/// in which the model has them.
struct Cost {
  int64_t time_ps = 0;
  int64_t permutes = 0;
  int64_t views = 0;
  int64_t reordered = 0;

  /// Forbidden stays forbidden: sums saturate.
  friend Cost operator+(Cost a, Cost b) {
    return {std::min(a.time_ps + b.time_ps, kForbiddenTime), a.permutes + b.permutes,
            a.views + b.views, a.reordered + b.reordered};
  }
  Cost& operator+=(Cost other) { return *this = *this + other; }
  auto operator<=>(const Cost&) const = default;

  static constexpr int64_t kForbiddenTime = int64_t{1} << 61;
  static Cost forbidden() { return {kForbiddenTime, 0, 0, 0}; }
  bool is_forbidden() const { return time_ps >= kForbiddenTime; }
};

/// What a target pays for a relayout at run time.
struct MoveCosts {
  int64_t call_ps = 0;      // for each permute
  int64_t byte_ps = 1;      // for each byte that it moves
  size_t most_factors = 6;  // more need a second permute
};

/// The cost of converting a value of this dtype: nothing but a view where the bytes stay in place.
Cost move_cost(const MoveCosts& costs, const Relayout& relayout, DType dtype);

}  // namespace layline

// What it costs to move data, and how costs are compared.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "algebra/relayout.h"
#include "ir/type.h"

namespace layline {

/// Costs are exact integers, so that sums do not depend on their sequence and "equal" means equal.
/// Time is compared first; at equal time permutes, then views, then ops that leave the order in
/// which the model has them.
struct Cost {
  int64_t time_ps = 0;
  int64_t permutes = 0;
  int64_t views = 0;
  int64_t reordered = 0;

  /// Sums saturate, so that a forbidden cost stays forbidden.
  friend Cost operator+(Cost a, Cost b) {
    return {std::min(a.time_ps + b.time_ps, kForbiddenTime), a.permutes + b.permutes,
            a.views + b.views, a.reordered + b.reordered};
  }
  /// Takes back a term that was added before.
  friend Cost operator-(Cost a, Cost b) {
    return {a.time_ps - b.time_ps, a.permutes - b.permutes, a.views - b.views,
            a.reordered - b.reordered};
  }
  Cost& operator+=(Cost other) { return *this = *this + other; }
  auto operator<=>(const Cost&) const = default;

  static constexpr int64_t kForbiddenTime = int64_t{1} << 61;
  static Cost forbidden() { return {kForbiddenTime, 0, 0, 0}; }
  bool is_forbidden() const { return time_ps >= kForbiddenTime; }

  /// Placement promises to minimise this. The rest breaks ties.
  std::pair<int64_t, int64_t> price() const { return {time_ps, permutes}; }
};

/// What a contiguous run of bytes costs to copy, by its length.
struct RunCosts {
  struct Point {
    int64_t bytes;
    int64_t ps;
    bool operator==(const Point&) const = default;
  };
  /// At least one point, by growing length. A run no longer than the first point costs what that
  /// does. Between two points the cost is linear, and after the last it is in proportion to the
  /// length.
  std::vector<Point> points = {{1, 1}};

  int64_t ps(int64_t run_bytes) const;
  /// The cost of copying `bytes` in runs of `run_bytes` each. Neither is negative.
  int64_t copy_ps(int64_t bytes, int64_t run_bytes) const;
  bool operator==(const RunCosts&) const = default;
};

/// What it costs to transpose matrices. They are read and written in pieces of a row. A piece is as
/// long as a vector, or what is left of the row: short rows make a transpose slow.
struct TransposeCosts {
  int64_t piece = 1;    // elements in a piece, at most
  int64_t read_ps = 0;  // for each piece
  int64_t write_ps = 4;
  int64_t matrix_ps = 0;

  int64_t ps(int64_t elements, int64_t source_row, int64_t target_row) const;
  bool operator==(const TransposeCosts&) const = default;
};

/// What a target pays at run time for moving data, in the time of one thread. Kernels that move
/// data scale alike, so which of two is cheaper does not depend on the number of threads.
///
/// A permute that keeps the innermost factor in its place copies runs of that factor. Any other
/// permute transposes matrices: their rows are the innermost factor of the source, and their
/// columns the innermost factor of the target.
struct MoveCosts {
  int64_t call_ps = 0;    // for each node that moves data
  int64_t margin_ps = 0;  // what a permute must save, beyond its cost, to be worth its place
  int64_t byte_ps = 0;    // for each byte that it writes
  TransposeCosts transpose;
  TransposeCosts transpose_bytes;  // for elements of one byte, which have kernels of their own
  RunCosts permute;
  RunCosts slice;
  RunCosts concat;
  size_t most_factors = 6;  // more need a second permute
  /// The sizes of the graph's symbols. Costs are compared at the upper bounds of dynamic sizes.
  std::vector<int64_t> symbol_sizes;

  /// A size as a number. A size without a bound is a number larger than every tensor.
  int64_t size(const Dim& dim) const;
  /// The product of two sizes, saturated at the largest size.
  static int64_t product(int64_t a, int64_t b);
  bool operator==(const MoveCosts&) const = default;
};

/// What a permute's cost depends on.
struct Movement {
  int64_t elements = 0;
  size_t factors = 1;
  int64_t source_row = 1;  // the innermost factor of the source
  bool keeps_row = false;  // that factor is innermost in the target, too
  int64_t target_row = 1;  // otherwise the innermost factor of the target
};
Cost move_cost(const MoveCosts& costs, const Movement& movement, DType dtype);

/// The cost of converting a value of this dtype: nothing but a view where the bytes stay in place.
Cost move_cost(const MoveCosts& costs, const Relayout& relayout, DType dtype);

}  // namespace layline

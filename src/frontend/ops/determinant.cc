#include "frontend/ops/determinant.h"

#include <bit>
#include <vector>

#include "frontend/ops/shapes.h"

namespace layline::ops {

/// Expands along the rows from the last to the first: minors[set] is the determinant of the last
/// rows in the columns of the set, as many as it has.
Value* determinant(const Builder& build, Value* x) {
  constexpr int64_t kLargest = 8;
  const int64_t rank = x->type().rank();
  if (rank < 2) build.fail("takes no {}", to_string(x->type()));
  const int64_t n = static_length(build, x, rank - 1);
  if (n != static_length(build, x, rank - 2) || n < 1 || n > kLargest)
    build.fail("takes square matrices of up to {} rows, but has {}", kLargest,
               to_string(x->type()));
  auto element = [&](int64_t row, int64_t column) {
    Value* at = build.slice(build.slice(x, rank - 2, row, 1), rank - 1, column, 1);
    return without_axes(build, at, {rank - 2, rank - 1});
  };
  const size_t sets = size_t{1} << n;
  std::vector<Value*> minors(sets, nullptr);
  for (size_t set = 1; set < sets; ++set) {
    const int64_t row = n - std::popcount(set);
    bool minus = false;
    for (int64_t column = 0; column < n; ++column) {
      const size_t bit = size_t{1} << column;
      if ((set & bit) == 0) continue;
      Value* term = element(row, column);
      if (minors[set ^ bit] != nullptr) term = build.add(Op::mul, {term, minors[set ^ bit]});
      if (minors[set] == nullptr)
        minors[set] = term;
      else
        minors[set] = build.add(minus ? Op::sub : Op::add, {minors[set], term});
      minus = !minus;
    }
  }
  return minors.back();
}

}  // namespace layline::ops

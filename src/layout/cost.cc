#include "layout/cost.h"

namespace layline {
namespace {

// Beyond every real cost, and small enough that two of them can be added.
constexpr int64_t kMostPs = Cost::kForbiddenTime / 4;

__extension__ using Wide = __int128;

int64_t saturated(Wide ps) { return ps < kMostPs ? static_cast<int64_t>(ps) : kMostPs; }

/// count * ps
int64_t times(int64_t count, int64_t ps) { return saturated(Wide{count} * ps); }

}  // namespace

int64_t TransposeCosts::ps(int64_t elements, int64_t source_row, int64_t target_row) const {
  const auto pieces = [&](int64_t row) {
    return Wide{elements / row} * (row / piece + (row % piece != 0));
  };
  return saturated(pieces(source_row) * read_ps + pieces(target_row) * write_ps +
                   Wide{elements / source_row / target_row} * matrix_ps);
}

int64_t RunCosts::ps(int64_t run_bytes) const {
  if (run_bytes <= points.front().bytes) return points.front().ps;
  const auto after =
      std::ranges::find_if(points, [&](const Point& point) { return run_bytes < point.bytes; });
  const Point& low = *(after - 1);
  if (after == points.end()) return saturated(Wide{run_bytes} * low.ps / low.bytes);
  return low.ps + static_cast<int64_t>(Wide{run_bytes - low.bytes} * (after->ps - low.ps) /
                                       (after->bytes - low.bytes));
}

int64_t RunCosts::copy_ps(int64_t bytes, int64_t run_bytes) const {
  return run_bytes == 0 ? 0 : times(bytes / run_bytes, ps(run_bytes));
}

int64_t MoveCosts::product(int64_t a, int64_t b) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return static_cast<int64_t>(std::min(Wide{a} * b, Wide{kMost}));
}

int64_t MoveCosts::size(const Dim& dim) const {
  int64_t number = dim.coefficient();
  for (const SymbolId id : dim.symbols())
    number = product(number, id <= symbol_sizes.size() ? symbol_sizes[id - 1u] : 1);
  return number;
}

Cost move_cost(const MoveCosts& costs, const Movement& movement, DType dtype) {
  const auto element = static_cast<int64_t>(byte_size(dtype));
  const int64_t bytes = times(movement.elements, element);
  const TransposeCosts& transpose = element == 1 ? costs.transpose_bytes : costs.transpose;
  const int64_t moved_ps =
      movement.keeps_row
          ? costs.permute.copy_ps(bytes, times(movement.source_row, element))
          : transpose.ps(movement.elements, movement.source_row, movement.target_row);
  const int64_t calls = movement.factors > costs.most_factors ? 2 : 1;
  return {calls * saturated(Wide{costs.call_ps} + costs.margin_ps + moved_ps +
                            times(bytes, costs.byte_ps)),
          calls, 0, 0};
}

Cost move_cost(const MoveCosts& costs, const Relayout& relayout, DType dtype) {
  if (relayout.is_identity()) return {};
  if (relayout.is_view()) return {0, 0, 1, 0};
  const Dims& factors = relayout.factors();
  const auto target_row = static_cast<size_t>(relayout.order().back());
  return move_cost(costs,
                   Movement{.elements = costs.size(element_count(relayout.source())),
                            .factors = factors.size(),
                            .source_row = costs.size(factors.back()),
                            .keeps_row = target_row + 1 == factors.size(),
                            .target_row = costs.size(factors[target_row])},
                   dtype);
}

}  // namespace layline

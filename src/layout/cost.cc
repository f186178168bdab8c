#include "layout/cost.h"

namespace layline {

Cost move_cost(const MoveCosts& costs, const Relayout& relayout, DType dtype) {
  if (relayout.is_identity()) return {};
  if (relayout.is_view()) return {0, 0, 1, 0};
  // A dynamic size counts by its static part: every alternative is compared at the same size.
  const int64_t elements = element_count(relayout.source()).coefficient();
  const auto bytes = elements * static_cast<int64_t>(byte_size(dtype));
  const int64_t calls = relayout.factors().size() > costs.most_factors ? 2 : 1;
  return {calls * (costs.call_ps + bytes * costs.byte_ps), calls, 0, 0};
}

}  // namespace layline

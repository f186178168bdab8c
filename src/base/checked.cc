#include "base/checked.h"

#include <algorithm>

namespace layline {

std::optional<int64_t> checked_product(std::span<const int64_t> factors) {
  if (std::ranges::any_of(factors, [](int64_t f) { return f < 0; })) return std::nullopt;
  if (std::ranges::find(factors, 0) != factors.end()) return 0;
  int64_t product = 1;
  for (int64_t factor : factors) {
    const auto next = checked_mul(product, factor);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

std::optional<uint64_t> checked_align(uint64_t value, uint64_t alignment) {
  const auto raised = checked_add(value, alignment - 1);
  if (!raised) return std::nullopt;
  return *raised & ~(alignment - 1);
}

}  // namespace layline

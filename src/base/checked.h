// Integer arithmetic that reports overflow instead of wrapping: every size and offset that comes
// from a file goes through here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace layline {

/// The exact result, or nothing if it does not fit.
template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// The product of non-negative factors (1 for none). Nothing if a factor is negative or the product
/// does not fit; a zero factor makes the product zero however large the others are.
[[nodiscard]] std::optional<int64_t> checked_product(std::span<const int64_t> factors);

/// Rounds up to a multiple of `alignment`, a power of two.
[[nodiscard]] std::optional<uint64_t> checked_align(uint64_t value, uint64_t alignment);

}  // namespace layline

// Sizes of dimensions, static or symbolic, and the shapes made of them.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/few.h"

namespace layline {

/// Names one unknown positive integer, such as a batch size; 0 names nothing.
using SymbolId = uint16_t;

/// The size of a dimension: a monomial `coefficient * s_a * s_b ...`.
///
/// Relayouts only ever multiply and divide sizes, so monomials are closed under all that the
/// algebra does, equality of the representation is equality for every value of the symbols, and
/// no simplifier is needed. A sum such as `s1 + 1` is simply a symbol of its own.
class Dim {
 public:
  static constexpr int kMaxSymbols = 4;

  constexpr Dim() = default;  // 1, the empty product
  /// A static size; throws UserError if it is negative. Implicit: a number is a size.
  Dim(int64_t size) : coefficient_(size) {
    if (size < 0) refuse(size);
  }
  static Dim symbol(SymbolId id);

  bool is_static() const { return symbols_[0] == 0; }
  bool is_one() const { return coefficient_ == 1 && is_static(); }
  bool is_zero() const { return coefficient_ == 0; }
  /// The size as a number. Requires is_static().
  int64_t value() const {
    if (!is_static()) refuse_symbols();
    return coefficient_;
  }
  int64_t coefficient() const { return coefficient_; }
  /// The symbols, ascending; a symbol that occurs squared stands twice.
  std::span<const SymbolId> symbols() const;
  /// Equal sizes have equal hashes.
  size_t hash() const { return static_cast<size_t>(coefficient_) ^ (symbol_bits() << 20); }

  /// Exact; throws UserError if the product exceeds 63 bits or kMaxSymbols. 0 * s1 is 0.
  friend Dim operator*(Dim a, Dim b) {
    Dim result;
    if (!a.is_static() || !b.is_static() ||
        __builtin_mul_overflow(a.coefficient_, b.coefficient_, &result.coefficient_))
      return multiply(a, b);
    return result;
  }
  /// The q with q * b == a for every value of the symbols; nullopt if there is none, and for
  /// b == 0. divide(6*s1, 2) == 3*s1; divide(s1, 2) and divide(s1, s2) are nullopt.
  friend std::optional<Dim> divide(Dim a, Dim b) {
    if (b.is_zero() || a.coefficient_ % b.coefficient_ != 0) return std::nullopt;
    if (!a.is_static() || !b.is_static()) return divide_symbols(a, b);
    Dim quotient;
    quotient.coefficient_ = a.coefficient_ / b.coefficient_;
    return quotient;
  }

  friend bool operator==(const Dim& a, const Dim& b) {
    return a.coefficient_ == b.coefficient_ && a.symbol_bits() == b.symbol_bits();
  }
  /// Some total order, for use as a key; not the order of the sizes.
  friend std::strong_ordering operator<=>(const Dim&, const Dim&) = default;

 private:
  [[noreturn]] static void refuse(int64_t negative_size);
  [[noreturn]] void refuse_symbols() const;
  /// All symbols as one number.
  uint64_t symbol_bits() const { return std::bit_cast<uint64_t>(symbols_); }
  /// The product of sizes that are not both static, or whose product overflows.
  static Dim multiply(Dim a, Dim b);
  /// The quotient. Requires that b's coefficient divides that of a.
  static std::optional<Dim> divide_symbols(Dim a, Dim b);

  int64_t coefficient_ = 1;
  std::array<SymbolId, kMaxSymbols> symbols_{};  // ascending, then zeros; all zeros if static
};
static_assert(sizeof(Dim) == 16);

std::optional<Dim> divide(Dim a, Dim b);

// Arithmetic on sizes that throws UserError where the result does not fit.
int64_t exact_add(int64_t a, int64_t b);
int64_t exact_mul(int64_t a, int64_t b);

/// Sizes, the outermost first. The list itself has room for five: images have four. A relayout has
/// three such lists, and is then one block of 320 bytes, a size that allocators have.
using Dims = Few<Dim, 5>;
using Shape = Dims;

/// The product of the sizes; 1 for the empty list.
Dim product(std::span<const Dim> sizes);
inline Dim element_count(const Shape& shape) { return product(shape); }

bool is_static(const Shape& shape);
/// The shape as numbers. Requires is_static(shape).
std::vector<int64_t> static_dims(const Shape& shape);

/// "3", "s1", "2*s1*s2". parse_dim reads it back and throws UserError on any other text.
std::string to_string(Dim dim);
Dim parse_dim(std::string_view text);

/// "[1,3,2*s1]", "[]". parse_shape reads it back (blanks are allowed around a size).
std::string to_string(const Shape& shape);
Shape parse_shape(std::string_view text);

}  // namespace layline

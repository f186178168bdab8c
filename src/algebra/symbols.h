// The symbols of a graph: sizes that are known only when it runs. A free symbol has a range; a
// derived one has a formula over others, such as (s1+1)//2. docs/layout.md, "Symbolic dims".
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/dim.h"

namespace layline {

/// An integer expression: a sum of numbers times monomials. Unlike a Dim it may be negative.
class Sum {
 public:
  Sum() = default;  // 0
  explicit Sum(const Dim& dim);
  static Sum number(int64_t value);

  /// Each monomial, with coefficient 1, and the number that multiplies it, which is never 0. The
  /// number that stands alone belongs to the empty monomial.
  const std::map<Dim, int64_t>& terms() const { return terms_; }
  int64_t constant() const;
  bool is_number() const { return terms_.empty() || (terms_.size() == 1 && constant() != 0); }

  friend Sum operator+(Sum a, const Sum& b);
  friend Sum operator-(Sum a, const Sum& b);
  friend Sum operator*(const Sum& a, const Sum& b);
  friend auto operator<=>(const Sum&, const Sum&) = default;
  friend bool operator==(const Sum&, const Sum&) = default;

 private:
  void add(const Dim& monomial, int64_t coefficient);

  std::map<Dim, int64_t> terms_;
};

/// What a derived symbol stands for.
struct Formula {
  enum class Kind : uint8_t { free, sum, quotient, maximum, minimum };
  Kind kind = Kind::free;
  std::vector<Sum> arguments;  // one for a sum or quotient, several for a maximum or minimum
  int64_t divisor = 1;         // for a quotient, which is rounded down

  friend auto operator<=>(const Formula&, const Formula&) = default;
  friend bool operator==(const Formula&, const Formula&) = default;
};

/// A range that reaches up to kUnbounded has no upper bound.
struct Symbol {
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
  std::string name;  // only for a free symbol
  int64_t min = 1;
  int64_t max = kUnbounded;
  Formula formula = {};
};

/// Equal expressions give equal Dims. Sums of monomials are brought to a normal form: a symbol
/// stands for a sum only if the sum is no monomial, after dividing by the factors that all its
/// terms share; and for a quotient only if the divisor divides nothing out.
///
///   add(s1, s1) == 2*s1        (2*s1+3)//2 == s1+1        ((s1+1)//2+1)//2 == (s1+3)//4
class SymbolTable {
 public:
  /// Adds a free symbol.
  SymbolId add(Symbol symbol);
  /// Symbol k is all()[k - 1].
  std::span<const Symbol> all() const { return symbols_; }

  /// The size as a sum in which no symbol is itself a sum.
  Sum expand(const Dim& dim) const;
  /// The size that the sum is; throws UserError if it is a negative number.
  Dim dim(const Sum& sum);
  Dim add(const Dim& a, const Dim& b) {
    if (a.is_static() && b.is_static()) return exact_add(a.value(), b.value());
    return dim(expand(a) + expand(b));
  }
  Dim subtract(const Dim& a, const Dim& b) { return dim(expand(a) - expand(b)); }
  /// The quotient, rounded down; the divisor must be positive.
  Sum quotient(const Sum& dividend, int64_t divisor);
  Sum maximum(std::vector<Sum> values) { return extremum(Formula::Kind::maximum, values); }
  Sum minimum(std::vector<Sum> values) { return extremum(Formula::Kind::minimum, values); }

  /// Bounds that hold for all values of the free symbols; not always the closest.
  struct Range {
    int64_t min, max;
  };
  Range range(const Sum& sum) const;
  int64_t least(const Dim& dim) const { return range(Sum(dim)).min; }
  int64_t greatest(const Dim& dim) const { return range(Sum(dim)).max; }
  /// Each size at its upper bound.
  Shape greatest(const Shape& shape) const;

  /// dim == factor * symbol + offset, with a free symbol.
  struct Linear {
    SymbolId symbol;
    int64_t factor;
    int64_t offset;
  };
  std::optional<Linear> as_linear(const Dim& dim) const;

  /// The size that a formula stands for, in the form that to_string writes.
  Dim parse(std::string_view formula);

 private:
  Dim symbol(Formula formula, Range range);
  Sum extremum(Formula::Kind kind, const std::vector<Sum>& values);

  std::vector<Symbol> symbols_;
  std::map<Formula, SymbolId> derived_;
};

/// The values of free symbols, from which those of all others follow.
class SymbolValues {
 public:
  explicit SymbolValues(const SymbolTable& table) : table_(&table) {}

  void set(SymbolId symbol, int64_t value) { values_[symbol] = value; }
  bool knows(SymbolId symbol) const { return values_.contains(symbol); }
  /// Learns a free symbol that is not known yet from the size of an input, if that tells its value.
  void learn(const Dim& dim, int64_t size);
  /// The size; throws UserError if a symbol in it is not known or the size is negative.
  int64_t operator()(const Dim& dim) const;
  Shape operator()(const Shape& shape) const;

 private:
  int64_t value(const Sum& sum) const;
  int64_t value(SymbolId symbol) const;

  const SymbolTable* table_;
  std::map<SymbolId, int64_t> values_;
};

/// "s1*s2+2*s1-1"; "0" for nothing.
std::string to_string(const Sum& sum);
/// "s1+1", "(s1+1)//2", "max(s1,3)".
std::string to_string(const Formula& formula);

}  // namespace layline

#include "algebra/symbols.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"

namespace layline {
namespace {

__extension__ using Wide = __int128;

int64_t saturated(Wide value) {
  constexpr int64_t kMost = Symbol::kUnbounded;
  return value > kMost ? kMost : value < -kMost ? -kMost : static_cast<int64_t>(value);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Dim without_coefficient(const Dim& dim) {
  Dim monomial;
  for (const SymbolId id : dim.symbols()) monomial = monomial * Dim::symbol(id);
  return monomial;
}

/// The symbols that both have.
Dim common(const Dim& a, const Dim& b) {
  std::vector<SymbolId> shared;
  std::ranges::set_intersection(a.symbols(), b.symbols(), std::back_inserter(shared));
  Dim result;
  for (const SymbolId id : shared) result = result * Dim::symbol(id);
  return result;
}

}  // namespace

// ---- Sums ----

Sum::Sum(const Dim& dim) { add(without_coefficient(dim), dim.coefficient()); }

Sum Sum::number(int64_t value) {
  Sum sum;
  sum.add(Dim(1), value);
  return sum;
}

int64_t Sum::constant() const {
  const auto term = terms_.find(Dim(1));
  return term == terms_.end() ? 0 : term->second;
}

void Sum::add(const Dim& monomial, int64_t coefficient) {
  if (coefficient == 0) return;
  int64_t& total = terms_[monomial];
  total = exact_add(total, coefficient);
  if (total == 0) terms_.erase(monomial);
}

Sum operator+(Sum a, const Sum& b) {
  for (const auto& [monomial, coefficient] : b.terms_) a.add(monomial, coefficient);
  return a;
}

Sum operator-(Sum a, const Sum& b) {
  for (const auto& [monomial, coefficient] : b.terms_) a.add(monomial, exact_mul(coefficient, -1));
  return a;
}

Sum operator*(const Sum& a, const Sum& b) {
  Sum result;
  for (const auto& [left, x] : a.terms_)
    for (const auto& [right, y] : b.terms_) result.add(left * right, exact_mul(x, y));
  return result;
}

std::string to_string(const Sum& sum) {
  std::string text;
  auto append = [&](const Dim& monomial, int64_t coefficient) {
    if (coefficient > 0 && !text.empty()) text += '+';
    if (monomial.is_one())
      text += fmt::format("{}", coefficient);
    else if (coefficient == -1)
      text += "-" + to_string(monomial);
    else
      text += (coefficient == 1 ? "" : fmt::format("{}*", coefficient)) + to_string(monomial);
  };
  for (const auto& [monomial, coefficient] : sum.terms())
    if (!monomial.is_one()) append(monomial, coefficient);
  if (sum.constant() != 0) append(Dim(1), sum.constant());
  return text.empty() ? "0" : text;
}

std::string to_string(const Formula& formula) {
  switch (formula.kind) {
    case Formula::Kind::free:
      return {};
    case Formula::Kind::sum:
      return to_string(formula.arguments[0]);
    case Formula::Kind::quotient:
      return fmt::format("({})//{}", to_string(formula.arguments[0]), formula.divisor);
    case Formula::Kind::maximum:
    case Formula::Kind::minimum:
      break;
  }
  std::string text = formula.kind == Formula::Kind::maximum ? "max(" : "min(";
  for (const Sum& argument : formula.arguments)
    text += (text.ends_with('(') ? "" : ",") + to_string(argument);
  return text + ")";
}

// ---- The table ----

SymbolId SymbolTable::add(Symbol symbol) {
  if (symbols_.size() == std::numeric_limits<SymbolId>::max())
    throw UserError("more than {} symbolic sizes", symbols_.size());
  symbols_.push_back(std::move(symbol));
  return static_cast<SymbolId>(symbols_.size());
}

Dim SymbolTable::symbol(Formula formula, Range range) {
  range.min = std::max<int64_t>(range.min, 0);
  if (range.min == range.max) return range.min;
  const auto known = derived_.find(formula);
  if (known != derived_.end()) return Dim::symbol(known->second);
  const SymbolId id = add({{}, range.min, range.max, formula});
  derived_.emplace(std::move(formula), id);
  return Dim::symbol(id);
}

Sum SymbolTable::expand(const Dim& dim) const {
  Sum result = Sum::number(dim.coefficient());
  for (const SymbolId id : dim.symbols()) {
    const Formula& formula = symbols_[id - 1u].formula;
    const bool is_sum = formula.kind == Formula::Kind::sum;
    result = result * (is_sum ? formula.arguments[0] : Sum(Dim::symbol(id)));
  }
  return result;
}

Dim SymbolTable::dim(const Sum& sum) {
  const auto& terms = sum.terms();
  if (terms.empty()) return 0;
  Dim shared = terms.begin()->first;
  int64_t factor = 0;
  for (const auto& [monomial, coefficient] : terms) {
    shared = common(shared, monomial);
    factor = std::gcd(factor, coefficient);
  }
  Sum rest;
  for (const auto& [monomial, coefficient] : terms)
    rest = rest + Sum(*divide(monomial, shared)) * Sum::number(coefficient / factor);
  if (terms.size() == 1) {
    if (terms.begin()->second < 0) throw UserError("the size {} is negative", to_string(sum));
    return shared * Dim(factor);
  }
  const Range bounds = range(rest);
  if (bounds.max < 0) throw UserError("the size {} is negative", to_string(sum));
  return symbol({Formula::Kind::sum, {std::move(rest)}, 1}, bounds) * shared * Dim(factor);
}

Sum SymbolTable::quotient(const Sum& dividend, int64_t divisor) {
  LAYLINE_ASSERT(divisor > 0, "a size divided by {}", divisor);
  // What the divisor divides goes out, and what is left of each coefficient is from 0 to divisor-1.
  Sum outside, inside;
  int64_t factor = divisor;  // divides the divisor and all that is left but the number
  for (const auto& [monomial, coefficient] : dividend.terms()) {
    const int64_t whole = floor_div(coefficient, divisor);
    const int64_t left = coefficient - whole * divisor;
    outside = outside + Sum(monomial) * Sum::number(whole);
    inside = inside + Sum(monomial) * Sum::number(left);
    if (!monomial.is_one()) factor = std::gcd(factor, left);
  }
  if (inside.is_number()) return outside;
  if (factor > 1) {
    // floor((f*a + n) / (f*d)) == floor((a + floor(n/f)) / d)
    Sum reduced = Sum::number(inside.constant() / factor);
    for (const auto& [monomial, coefficient] : inside.terms())
      if (!monomial.is_one()) reduced = reduced + Sum(monomial) * Sum::number(coefficient / factor);
    return outside + quotient(reduced, divisor / factor);
  }
  // floor((floor(a/c) + n) / d) == floor((a + n*c) / (c*d))
  const Sum movable = inside - Sum::number(inside.constant());
  const auto& [monomial, coefficient] = *movable.terms().begin();
  if (movable.terms().size() == 1 && coefficient == 1 && monomial.symbols().size() == 1) {
    const Formula inner = symbols_[monomial.symbols()[0] - 1u].formula;
    if (inner.kind == Formula::Kind::quotient)
      return outside +
             quotient(inner.arguments[0] + Sum::number(exact_mul(inside.constant(), inner.divisor)),
                      exact_mul(inner.divisor, divisor));
  }
  const Range bounds = range(inside);
  const auto divided = [&](int64_t bound) {
    return bound == Symbol::kUnbounded ? bound : floor_div(bound, divisor);
  };
  const Range result{divided(bounds.min), divided(bounds.max)};
  if (result.min == result.max) return outside + Sum::number(result.min);
  return outside + Sum(symbol({Formula::Kind::quotient, {inside}, divisor}, result));
}

Sum SymbolTable::extremum(Formula::Kind kind, const std::vector<Sum>& values) {
  // A value that another is never worse than is left out.
  auto beats = [&](const Sum& a, const Sum& b) {
    return range(kind == Formula::Kind::maximum ? a - b : b - a).min >= 0;
  };
  std::vector<Sum> kept;
  for (const Sum& value : values) {
    if (std::ranges::any_of(kept, [&](const Sum& other) { return beats(other, value); })) continue;
    std::erase_if(kept, [&](const Sum& other) { return beats(value, other); });
    kept.push_back(value);
  }
  LAYLINE_ASSERT(!kept.empty(), "the greatest of no sizes");
  if (kept.size() == 1) return kept[0];
  Range bounds = range(kept[0]);
  for (const Sum& value : kept) {
    const auto [min, max] = range(value);
    const bool greatest = kind == Formula::Kind::maximum;
    bounds = {greatest ? std::max(bounds.min, min) : std::min(bounds.min, min),
              greatest ? std::max(bounds.max, max) : std::min(bounds.max, max)};
  }
  if (bounds.min == bounds.max) return Sum::number(bounds.min);
  // Symbols are sizes, and not negative: what may be is counted from its least value.
  const int64_t shift = std::min<int64_t>(bounds.min, 0);
  if (shift == -Symbol::kUnbounded) throw UserError("a size may be negative without bound");
  for (Sum& value : kept) value = value - Sum::number(shift);
  std::ranges::sort(kept);
  return Sum(symbol({kind, std::move(kept), 1},
                    {bounds.min - shift, saturated(Wide{bounds.max} - shift)})) +
         Sum::number(shift);
}

SymbolTable::Range SymbolTable::range(const Sum& sum) const {
  Range total{0, 0};
  for (const auto& [monomial, coefficient] : sum.terms()) {
    int64_t low = 1, high = 1;
    for (const SymbolId id : monomial.symbols()) {
      const Symbol& symbol = symbols_[id - 1u];
      low = saturated(Wide{low} * symbol.min);
      high = symbol.max == Symbol::kUnbounded ? symbol.max : saturated(Wide{high} * symbol.max);
    }
    const int64_t a = saturated(Wide{coefficient} * low), b = saturated(Wide{coefficient} * high);
    total = {saturated(Wide{total.min} + std::min(a, b)),
             saturated(Wide{total.max} + std::max(a, b))};
  }
  return total;
}

Shape SymbolTable::greatest(const Shape& shape) const {
  Shape result;
  for (const Dim& dim : shape) result.push_back(dim.is_static() ? dim : Dim(greatest(dim)));
  return result;
}

std::optional<SymbolTable::Linear> SymbolTable::as_linear(const Dim& dim) const {
  const Sum sum = expand(dim);
  std::optional<Linear> result;
  for (const auto& [monomial, coefficient] : sum.terms()) {
    if (monomial.is_one()) continue;
    if (result || monomial.symbols().size() != 1) return std::nullopt;
    result = {monomial.symbols()[0], coefficient, sum.constant()};
  }
  if (!result || symbols_[result->symbol - 1u].formula.kind != Formula::Kind::free)
    return std::nullopt;
  return result;
}

// ---- Reading formulas ----

namespace {

[[noreturn]] void not_a_formula(std::string_view text) {
  throw UserError("'{}' is not a size (such as s1+1, (s1+1)//2 or max(s1,3))", text);
}

/// Reads "2*s1-s2+1", whose symbols are in the table.
Sum parse_sum(const SymbolTable& table, std::string_view text) {
  Sum result;
  for (size_t begin = 0; begin < text.size() || begin == 0;) {
    const bool negative = text.substr(begin).starts_with('-');
    if (negative || (begin > 0 && text[begin] == '+')) ++begin;
    const size_t end = std::min(text.find_first_of("+-", begin), text.size());
    const Dim term = parse_dim(text.substr(begin, end - begin));
    for (const SymbolId id : term.symbols())
      if (id > table.all().size()) throw UserError("the symbol s{} is not defined", id);
    result = negative ? result - table.expand(term) : result + table.expand(term);
    begin = end;
    if (begin == text.size()) break;
  }
  return result;
}

}  // namespace

Dim SymbolTable::parse(std::string_view text) {
  if (text.empty()) not_a_formula(text);
  if (text.starts_with('(')) {
    const size_t close = text.find(")//");
    int64_t divisor = 0;
    if (close == std::string_view::npos) not_a_formula(text);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + close + 3, end, divisor);
    if (error != std::errc() || stop != end || divisor < 1) not_a_formula(text);
    return dim(quotient(parse_sum(*this, text.substr(1, close - 1)), divisor));
  }
  const bool maximum = text.starts_with("max(");
  if (!maximum && !text.starts_with("min(")) return dim(parse_sum(*this, text));
  if (!text.ends_with(')')) not_a_formula(text);
  std::vector<Sum> values;
  std::string_view rest = text.substr(4, text.size() - 5);
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    values.push_back(parse_sum(*this, rest.substr(0, comma)));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  return dim(extremum(maximum ? Formula::Kind::maximum : Formula::Kind::minimum, values));
}

// ---- Bindings ----

void SymbolValues::learn(const Dim& dim, int64_t size) {
  const auto linear = table_->as_linear(dim);
  if (!linear || knows(linear->symbol)) return;
  if ((size - linear->offset) % linear->factor == 0)
    set(linear->symbol, (size - linear->offset) / linear->factor);
}

int64_t SymbolValues::value(SymbolId symbol) const {
  const auto known = values_.find(symbol);
  if (known != values_.end()) return known->second;
  const Formula& formula = table_->all()[symbol - 1u].formula;
  switch (formula.kind) {
    case Formula::Kind::free:
      throw UserError("the size s{} does not follow from the inputs", symbol);
    case Formula::Kind::sum:
      return value(formula.arguments[0]);
    case Formula::Kind::quotient:
      return floor_div(value(formula.arguments[0]), formula.divisor);
    case Formula::Kind::maximum:
    case Formula::Kind::minimum:
      break;
  }
  int64_t best = value(formula.arguments[0]);
  for (const Sum& argument : formula.arguments)
    best = formula.kind == Formula::Kind::maximum ? std::max(best, value(argument))
                                                  : std::min(best, value(argument));
  return best;
}

int64_t SymbolValues::value(const Sum& sum) const {
  int64_t total = 0;
  for (const auto& [monomial, coefficient] : sum.terms()) {
    int64_t term = coefficient;
    for (const SymbolId id : monomial.symbols()) term = exact_mul(term, value(id));
    total = exact_add(total, term);
  }
  return total;
}

int64_t SymbolValues::operator()(const Dim& dim) const {
  if (dim.is_static()) return dim.value();
  const int64_t size = value(Sum(dim));
  if (size < 0) throw UserError("the size {} would be {}", to_string(dim), size);
  return size;
}

Shape SymbolValues::operator()(const Shape& shape) const {
  Shape bound;
  for (const Dim& dim : shape) bound.push_back((*this)(dim));
  return bound;
}

}  // namespace layline

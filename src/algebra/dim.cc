#include "algebra/dim.h"

#include <algorithm>
#include <charconv>

#include "base/checked.h"
#include "base/error.h"

namespace layline {
namespace {

/// Reads all of `text` as decimal digits.
template <typename Integer>
std::optional<Integer> parse_digits(std::string_view text) {
  Integer value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool complete = error == std::errc() && stop == end && text[0] != '-';
  return complete ? std::optional(value) : std::nullopt;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Calls `visit` on each of the parts that `separator` separates; an empty text is one empty part.
template <typename Visit>
void for_each_part(std::string_view text, char separator, Visit visit) {
  for (size_t end; (end = text.find(separator)) != std::string_view::npos;) {
    visit(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  visit(text);
}

}  // namespace

void Dim::refuse(int64_t negative_size) {
  throw UserError("dimension {} is negative", negative_size);
}

Dim Dim::symbol(SymbolId id) {
  LAYLINE_ASSERT(id != 0, "symbol 0 names nothing");
  Dim dim;
  dim.symbols_[0] = id;
  return dim;
}

void Dim::refuse_symbols() const {
  throw InternalError(fmt::format("the size {} is not static", to_string(*this)));
}

std::span<const SymbolId> Dim::symbols() const {
  const auto end = std::ranges::find(symbols_, SymbolId{0});
  return {symbols_.begin(), end};
}

int64_t exact_add(int64_t a, int64_t b) {
  if (const auto result = checked_add(a, b)) return *result;
  throw UserError("{} + {} is too large for a size", a, b);
}

int64_t exact_mul(int64_t a, int64_t b) {
  if (const auto result = checked_mul(a, b)) return *result;
  throw UserError("{} * {} is too large for a size", a, b);
}

Dim Dim::multiply(Dim a, Dim b) {
  Dim result;
  if (__builtin_mul_overflow(a.coefficient_, b.coefficient_, &result.coefficient_))
    throw UserError("dimension product overflows: {} * {}", to_string(a), to_string(b));
  if (result.is_zero()) return result;
  if (a.symbols().size() + b.symbols().size() > Dim::kMaxSymbols)
    throw UserError("dimension product has more than {} symbols: {} * {}", Dim::kMaxSymbols,
                    to_string(a), to_string(b));
  std::ranges::merge(a.symbols(), b.symbols(), result.symbols_.begin());
  return result;
}

std::optional<Dim> Dim::divide_symbols(Dim a, Dim b) {
  if (a.is_zero()) return Dim(0);
  if (!std::ranges::includes(a.symbols(), b.symbols())) return std::nullopt;
  Dim quotient = a.coefficient_ / b.coefficient_;
  std::ranges::set_difference(a.symbols(), b.symbols(), quotient.symbols_.begin());
  return quotient;
}

Dim product(std::span<const Dim> sizes) {
  // An empty tensor is valid however large its other dims are.
  if (std::ranges::any_of(sizes, [](const Dim& size) { return size.is_zero(); })) return 0;
  Dim result;
  for (const Dim size : sizes) result = result * size;
  return result;
}

bool is_static(const Shape& shape) { return std::ranges::all_of(shape, &Dim::is_static); }

std::vector<int64_t> static_dims(const Shape& shape) {
  std::vector<int64_t> sizes;
  sizes.reserve(shape.size());
  for (const Dim dim : shape) sizes.push_back(dim.value());
  return sizes;
}

std::string to_string(Dim dim) {
  std::string text;
  if (dim.is_static() || dim.coefficient() != 1) text = fmt::format("{}", dim.coefficient());
  for (const SymbolId id : dim.symbols()) text += fmt::format("{}s{}", text.empty() ? "" : "*", id);
  return text;
}

Dim parse_dim(std::string_view text) {
  Dim result;
  for_each_part(text, '*', [&](std::string_view factor) {
    if (factor.starts_with('s')) {
      const auto id = parse_digits<SymbolId>(factor.substr(1));
      if (!id || *id == 0) throw UserError("'{}' is not a symbol (s1, s2, ...)", factor);
      result = result * Dim::symbol(*id);
    } else {
      const auto size = parse_digits<int64_t>(factor);
      if (!size) throw UserError("'{}' is not a dimension (such as 3, s1 or 2*s1)", text);
      result = result * Dim(*size);
    }
  });
  return result;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim dim : shape) text += (text.size() > 1 ? "," : "") + to_string(dim);
  return text + "]";
}

Shape parse_shape(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']'))
    throw UserError("'{}' is not a shape (such as [1,3,s1])", text);
  const std::string_view inside = trim(text.substr(1, text.size() - 2));
  Shape shape;
  if (inside.empty()) return shape;
  for_each_part(inside, ',',
                [&](std::string_view part) { shape.push_back(parse_dim(trim(part))); });
  return shape;
}

}  // namespace layline

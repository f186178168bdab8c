#include <cstdint>
#include <utility>

#include "algebra/relayout.h"
#include "base/error.h"

namespace layline {
namespace {

/// Consumes the pieces of a relayout's text from the front; blanks separate them.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), rest_(text) {}

  [[noreturn]] void fail(std::string_view reason) const {
    throw UserError("'{}' is not a relayout: {}", text_, reason);
  }

  bool accept(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}' before '{}'", token, rest_));
  }

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

  Shape shape() { return parse_shape(list('[', ']')); }

  Dims factors() {
    const std::string_view text = list('(', ')');
    return parse_shape(fmt::format("[{}]", text.substr(1, text.size() - 2)));
  }

  Permutation order() {
    Permutation result;
    for (const Dim index : factors()) {
      if (!index.is_static() || index.value() > INT16_MAX) fail("the order is no permutation");
      result.push_back(static_cast<int>(index.value()));
    }
    return result;
  }

 private:
  void skip_blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  std::string_view list(char open, char close) {
    skip_blanks();
    const size_t end = rest_.find(close);
    if (!rest_.starts_with(open) || end == std::string_view::npos)
      fail(fmt::format("expected '{}...{}' before '{}'", open, close, rest_));
    const std::string_view result = rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    return result;
  }

  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

std::string to_string(const Relayout& relayout) {
  const std::string source = to_string(relayout.source());
  const std::string target = to_string(relayout.target());
  if (relayout.is_view()) return source + " -> " + target;
  std::string factors, order;
  for (const Dim factor : relayout.factors())
    factors += (factors.empty() ? "" : ",") + to_string(factor);
  for (const int index : relayout.order())
    order += (order.empty() ? "" : ",") + std::to_string(index);
  return fmt::format("{} ({})->({}) {}", source, factors, order, target);
}

Relayout parse_relayout(std::string_view text) {
  Reader reader(text);
  Shape source = reader.shape();
  Dims factors{element_count(source)};
  Permutation order{0};
  if (!reader.accept("->")) {
    factors = reader.factors();
    reader.expect("->");
    order = reader.order();
  }
  Shape target = reader.shape();
  if (!reader.at_end()) reader.fail("text follows the target shape");
  const Dim count = element_count(source);
  if (element_count(target) != count) reader.fail("the shapes differ in their element counts");
  if (product(factors) != count) reader.fail("the factors do not multiply to the element count");
  std::vector<bool> seen(factors.size(), false);
  for (const int index : order) {
    if (index >= std::ssize(factors) || seen[index]) reader.fail("the order is no permutation");
    seen[index] = true;
  }
  if (order.size() != factors.size()) reader.fail("the order is no permutation");
  return Relayout::from_factors(std::move(source), std::move(factors), std::move(order),
                                std::move(target));
}

}  // namespace layline

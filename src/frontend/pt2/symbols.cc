#include "frontend/pt2/symbols.h"

#include "base/error.h"

namespace layline::pt2 {

Dim Symbols::symbol(const std::string& name) {
  if (auto known = ids_.find(name); known != ids_.end()) return Dim::symbol(known->second);
  Symbol symbol{name};
  if (auto range = program_.ranges.find(name); range != program_.ranges.end()) {
    symbol.min = range->second.min.value_or(symbol.min);
    symbol.max = range->second.max.value_or(symbol.max);
  }
  const SymbolId id = graph_.add_symbol(std::move(symbol));
  ids_.emplace(name, id);
  return Dim::symbol(id);
}

Dim Symbols::dim(const Expr& expr) {
  if (expr.is_integer()) return Dim(expr.value);
  if (expr.is_symbol()) return symbol(expr.name);
  if (expr.head == "Mul") {
    Dim product = 1;
    for (const Expr& factor : expr.args) product = product * dim(factor);
    return product;
  }
  return symbol(to_string(expr));
}

Dim Symbols::dim(const SymInt& size) {
  if (!size.is_literal()) return dim(*size.expr);
  LAYLINE_ASSERT(size.value.has_value(), "a literal size without a value");
  return Dim(*size.value);
}

}  // namespace layline::pt2

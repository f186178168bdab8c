#include "frontend/pt2/symbols.h"

#include <algorithm>

#include "base/error.h"
#include "frontend/ops/creation.h"

namespace layline::pt2 {
namespace {

/// Whether it is one of the expressions that torch writes for quotients of sizes; some round, some
/// are exact.
bool is_quotient(const Expr& expr) {
  return expr.args.size() == 2 &&
         (expr.head.ends_with("FloorDiv") || expr.head.ends_with("CleanDiv") ||
          expr.head.ends_with("IntTrueDiv"));
}

bool is_remainder(const Expr& expr) {
  return expr.args.size() == 2 && (expr.head.ends_with("Mod"));
}

[[noreturn]] void unsupported(const Expr& expr) {
  throw UserError("the size {} is more than sums, products and quotients by a number",
                  to_string(expr));
}

}  // namespace

Sum Symbols::symbol(const std::string& name) {
  if (auto known = ids_.find(name); known != ids_.end()) return Sum(Dim::symbol(known->second));
  if (read_.contains(name))
    throw UserError("the size {} depends on the data, which layline does not support", name);
  Symbol symbol;
  symbol.name = name;
  if (auto range = program_.ranges.find(name); range != program_.ranges.end()) {
    symbol.min = range->second.min.value_or(symbol.min);
    symbol.max = range->second.max.value_or(symbol.max);
  }
  if (symbol.min < 0) throw UserError("the size {} may be negative", name);
  if (symbol.min == symbol.max) return Sum::number(symbol.min);
  // torch simplifies every expression as if sizes were positive, even where the range begins at 0,
  // which it does if Dim is given no min. So what it records for 0 elements may be wrong.
  symbol.min = std::max<int64_t>(symbol.min, 1);
  const SymbolId id = table_.add(std::move(symbol));
  ids_.emplace(name, id);
  return Sum(Dim::symbol(id));
}

Sum Symbols::sum(const Expr& expr) {
  if (expr.is_integer()) return Sum::number(expr.value);
  if (expr.is_symbol()) return symbol(expr.name);
  if (expr.head == "Add" || expr.head == "Mul") {
    Sum result = Sum::number(expr.head == "Add" ? 0 : 1);
    for (const Expr& argument : expr.args)
      result = expr.head == "Add" ? result + sum(argument) : result * sum(argument);
    return result;
  }
  if (expr.head == "Pow" && expr.args.size() == 2 && expr.args[1].is_integer() &&
      expr.args[1].value >= 0 && expr.args[1].value <= Dim::kMaxSymbols) {
    Sum result = Sum::number(1);
    for (int64_t i = 0; i < expr.args[1].value; ++i) result = result * sum(expr.args[0]);
    return result;
  }
  if (is_quotient(expr) || is_remainder(expr)) {
    const Sum divisor = sum(expr.args[1]);
    if (!divisor.is_number() || divisor.constant() < 1) unsupported(expr);
    const Sum dividend = sum(expr.args[0]);
    const Sum quotient = table_.quotient(dividend, divisor.constant());
    return is_quotient(expr) ? quotient : dividend - quotient * divisor;
  }
  if ((expr.head == "Max" || expr.head == "Min") && !expr.args.empty()) {
    std::vector<Sum> values;
    for (const Expr& argument : expr.args) values.push_back(sum(argument));
    return expr.head == "Max" ? table_.maximum(std::move(values))
                              : table_.minimum(std::move(values));
  }
  unsupported(expr);
}

Sum Symbols::sum(const SymInt& size) {
  if (!size.is_literal()) return sum(*size.expr);
  LAYLINE_ASSERT(size.value.has_value(), "a literal size without a value");
  return Sum::number(*size.value);
}

Dim Symbols::dim(const SymInt& size) { return table_.dim(sum(size)); }

// ---- Numbers that are read from tensors ----

void Symbols::read_from(const SymInt& number, Value* tensor) {
  // A check in the model may have told torch what the number is: a literal, or a known size.
  if (number.is_literal() || !number.expr->is_symbol() || ids_.contains(number.expr->name)) return;
  read_.emplace(number.expr->name, tensor);
}

bool Symbols::reads_data(const Expr& expr) const {
  return expr.is_symbol() ? read_.contains(expr.name)
                          : std::ranges::any_of(expr.args, [this](const Expr& argument) {
                              return reads_data(argument);
                            });
}

bool Symbols::reads_data(const SymInt& number) const {
  return !number.is_literal() && reads_data(*number.expr);
}

Value* Symbols::value(const Builder& build, const Expr& expr) {
  if (!reads_data(expr)) return ops::number(build, sum(expr));
  if (expr.is_symbol()) return read_.at(expr.name);
  struct Row {
    std::string_view head;
    Op op;
  };
  static constexpr Row kRows[] = {{"Add", Op::add},
                                  {"Mul", Op::mul},
                                  {"Max", Op::maximum},
                                  {"Min", Op::minimum},
                                  {"FloorDiv", Op::floor_div},
                                  {"Mod", Op::remainder}};
  const auto* row =
      std::ranges::find_if(kRows, [&](const Row& each) { return expr.head.ends_with(each.head); });
  if (row == std::end(kRows)) unsupported(expr);
  Value* result = value(build, expr.args.front());
  for (size_t i = 1; i < expr.args.size(); ++i)
    result = build.add(row->op, {result, value(build, expr.args[i])});
  return result;
}

Value* Symbols::value(const Builder& build, const SymInt& number) {
  return number.is_literal() ? ops::number(build, sum(number)) : value(build, *number.expr);
}

}  // namespace layline::pt2

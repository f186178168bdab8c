// Symbolic expressions of torch.export: sympy's srepr text, such as
// `Mul(Integer(2), Symbol('s27', positive=True, integer=True))`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace layline::pt2 {

/// A call tree. `Integer(2)` is {head "Integer", value 2}; `Symbol('s27', ...)` is {head "Symbol",
/// name "s27"}, its assumptions dropped; every other call, known or not, keeps its arguments:
/// {head "Mul", args {...}}. Bare numbers, also inside `Rational(1, 2)`, are Integers; a bare word
/// (`true`, `int_oo`) is a head without arguments. `Float('0.5', precision=53)` has name "0.5".
struct Expr {
  std::string head;
  std::vector<Expr> args;
  int64_t value = 0;
  std::string name;

  bool is_integer() const { return head == "Integer"; }
  bool is_symbol() const { return head == "Symbol"; }
  bool operator==(const Expr&) const = default;
};

/// Reads an expression. Throws UserError, naming the text and the offending position, also if it
/// nests deeper than 100 calls.
Expr parse_expr(std::string_view text);

/// A short readable form for messages: `Mul(2, s27)`.
std::string to_string(const Expr& expr);

}  // namespace layline::pt2

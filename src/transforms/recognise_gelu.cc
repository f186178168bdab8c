// gelu(x) = x/2 * (1 + erf(x / sqrt 2)), and its approximation x/2 * (1 + tanh(sqrt(2/pi) * (x +
// 0.044715 x^3))), however they are written out. Sums and products are multiplied out, so that only
// the polynomials count: what erf or tanh is taken of as one in x, and the whole as one in x and f,
// the value of that function.
#include <array>
#include <cmath>
#include <numbers>

#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

constexpr double kTolerance = 1e-5;  // models round coefficients as they like
constexpr int kMostDepth = 6;        // expressions that are deeper are not looked at

/// Coefficients of x^i * f^j, up to x^3 * f.
struct Polynomial {
  std::array<std::array<double, 2>, 4> of = {};
};

Polynomial sum(const Polynomial& a, const Polynomial& b, double sign) {
  Polynomial result = a;
  for (size_t i = 0; i < a.of.size(); ++i)
    for (size_t j = 0; j < a.of[i].size(); ++j) result.of[i][j] += sign * b.of[i][j];
  return result;
}

/// The product; nullopt if a power is too high.
std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (size_t i = 0; i < a.of.size(); ++i)
    for (size_t j = 0; j < a.of[i].size(); ++j)
      for (size_t k = 0; k < b.of.size(); ++k)
        for (size_t l = 0; l < b.of[k].size(); ++l) {
          const double term = a.of[i][j] * b.of[k][l];
          if (term == 0) continue;
          if (i + k >= result.of.size() || j + l >= result.of[0].size()) return std::nullopt;
          result.of[i + k][j + l] += term;
        }
  return result;
}

bool is_close(const Polynomial& a, const Polynomial& b) {
  for (size_t i = 0; i < a.of.size(); ++i)
    for (size_t j = 0; j < a.of[i].size(); ++j)
      if (std::abs(a.of[i][j] - b.of[i][j]) > kTolerance * std::abs(b.of[i][j])) return false;
  return true;
}

/// Multiplies out what is computed from x and, if there is one, f; both have x's type.
class Expansion {
 public:
  Expansion(const Value* x, const Value* f) : x_(x), f_(f) {}

  std::optional<Polynomial> operator()(const Value* value, int depth = kMostDepth) const {
    Polynomial result;
    if (value == x_ || value == f_) {
      (value == x_ ? result.of[1][0] : result.of[0][1]) = 1;
      return result;
    }
    if (has_one_element(value)) {
      if (const auto number = uniform_value(value)) {
        result.of[0][0] = *number;
        return result;
      }
    }
    const Node* node = value->def();
    if (node == nullptr || depth == 0 || value->type() != x_->type()) return std::nullopt;
    return of_node(*node, depth - 1);
  }

 private:
  std::optional<Polynomial> of_node(const Node& node, int depth) const {
    const auto a = node.operand_count() > 0 ? (*this)(node.operand(0), depth) : std::nullopt;
    if (!a) return std::nullopt;
    if (node.is(Op::square)) return product(*a, *a);
    if (node.is(Op::neg)) return sum({}, *a, -1);
    if (node.is(Op::pow)) {
      const auto exponent = uniform_value(node.operand(1));
      if (exponent == 2) return product(*a, *a);
      const auto square = exponent == 3 ? product(*a, *a) : std::nullopt;
      return square ? product(*a, *square) : std::nullopt;
    }
    if (!std::holds_alternative<BinaryAttrs>(node.attributes()) ||
        !node.attrs<BinaryAttrs>().bounds.unbounded())
      return std::nullopt;
    const auto b = (*this)(node.operand(1), depth);
    if (!b) return std::nullopt;
    if (node.is(Op::add)) return sum(*a, *b, 1);
    if (node.is(Op::sub)) return sum(*a, *b, -1);
    if (node.is(Op::mul)) return product(*a, *b);
    const auto divisor = uniform_value(node.operand(1));
    if (!node.is(Op::div) || !divisor || *divisor == 0) return std::nullopt;
    Polynomial inverse;
    inverse.of[0][0] = 1 / *divisor;
    return product(*a, inverse);
  }

  const Value* x_;
  const Value* f_;
};

/// The argument that the function must have.
Polynomial argument(bool tanh) {
  Polynomial result;
  const double slope = tanh ? std::sqrt(2 / std::numbers::pi) : 1 / std::numbers::sqrt2;
  result.of[1][0] = slope;
  if (tanh) result.of[3][0] = slope * 0.044715;
  return result;
}

/// x/2 + x/2 * f
Polynomial whole() {
  Polynomial result;
  result.of[1][0] = result.of[1][1] = 0.5;
  return result;
}

/// The value among those that `value` is computed from in which it is the argument of gelu's
/// function; null if there is none.
Value* find_x(Value* value, const Value* of, const Polynomial& wanted, int depth) {
  if (value->type() != of->type()) return nullptr;
  const auto found = Expansion(value, nullptr)(of);
  if (found && is_close(*found, wanted)) return value;
  if (value->def() == nullptr || depth == 0 || !is_elementwise(value->def()->op())) return nullptr;
  for (Value* operand : value->def()->operands())
    if (Value* x = find_x(operand, of, wanted, depth - 1)) return x;
  return nullptr;
}

/// The node among the users of `value` that is gelu(x), if f is its function.
Node* find_gelu(Value* value, const Expansion& expansion, int depth) {
  for (const Use& use : value->uses()) {
    if (!is_elementwise(use.user->op())) continue;
    const auto found = expansion(use.user->result());
    if (!found) continue;
    if (is_close(*found, whole())) return use.user;
    if (depth == 0) continue;
    if (Node* gelu = find_gelu(use.user->result(), expansion, depth - 1)) return gelu;
  }
  return nullptr;
}

}  // namespace

bool recognise_gelu(Graph& graph, PassContext& context) {
  std::vector<Node*> functions;
  for (Node* node : graph)
    if ((node->is(Op::erf) || node->is(Op::tanh)) && node->result()->dtype() == DType::f32 &&
        node->result()->has_one_use())
      functions.push_back(node);
  bool changed = false;
  for (Node* function : functions) {
    const bool tanh = function->is(Op::tanh);
    Value* const of = function->operand(0);
    Value* const x = find_x(of, of, argument(tanh), kMostDepth);
    if (x == nullptr) continue;
    Node* gelu = find_gelu(function->result(), Expansion(x, function->result()), kMostDepth);
    if (gelu == nullptr) continue;
    context.rewrite(*gelu, "is the {}gelu of {}", tanh ? "tanh-" : "", x->name());
    replace(graph, gelu, BuildBefore(graph, gelu).add(Op::gelu, {x}, GeluAttrs{tanh}));
    changed = true;
  }
  return changed;
}

}  // namespace layline

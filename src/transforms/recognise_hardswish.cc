// hardswish(x) = x * clamp(x + 3, 0, 6) / 6, in the spellings in which frameworks write it out: the
// factors in any order, the division as one by 6 or a multiplication by 1/6, anywhere among the
// factors, or inside the clamp: x * clamp(x / 6 + 1/2, 0, 1).
#include <cmath>
#include <vector>

#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

constexpr double kTolerance = 1e-6;  // enough for 1/6 as an f32

bool is_close(double a, double b) { return std::abs(a - b) <= kTolerance * std::abs(b); }

/// The number that an operand of a binary op is, if it broadcasts without changing the shape of the
/// other.
std::optional<double> number(const Node& node, int side) {
  const Value* value = node.operand(side);
  if (!has_one_element(value) || value->shape().size() > node.operand(1 - side)->shape().size())
    return std::nullopt;
  return uniform_value(value);
}

/// A product as factors and a number: factors[0] * factors[1] * ... * scale.
struct Product {
  std::vector<Value*> factors;
  double scale = 1;
};

/// Multiplies `value` into the product, opening the multiplications that it is made of. More
/// factors than the pattern has are not collected.
void multiply(Value* value, Product& product, bool is_root) {
  const Node* node = value->def();
  const bool is_product = node != nullptr && (node->is(Op::mul) || node->is(Op::div)) &&
                          (is_root || value->has_one_use()) &&
                          node->attrs<BinaryAttrs>().bounds.unbounded();
  if (is_product && product.factors.size() <= 2) {
    if (const auto right = number(*node, 1)) {
      product.scale *= node->is(Op::div) ? 1 / *right : *right;
      return multiply(node->operand(0), product, false);
    }
    const auto left = number(*node, 0);
    if (left && node->is(Op::mul)) {
      product.scale *= *left;
      return multiply(node->operand(1), product, false);
    }
    if (node->is(Op::mul)) {
      multiply(node->operand(0), product, false);
      return multiply(node->operand(1), product, false);
    }
  }
  product.factors.push_back(value);
}

/// value = scale * x + shift
struct Line {
  Value* x;
  double scale, shift;
};

std::optional<Line> line(Value* value) {
  const Node* node = value->def();
  if (node == nullptr || !(node->is(Op::add) || node->is(Op::sub))) return std::nullopt;
  const auto right = number(*node, 1);
  const auto left = node->is(Op::add) ? number(*node, 0) : std::nullopt;
  if (!right && !left) return std::nullopt;
  Value* x = node->operand(right ? 0 : 1);
  Product product;
  multiply(x, product, false);
  const double shift = !right ? *left : node->is(Op::sub) ? -*right : *right;
  if (product.factors.size() == 1) return Line{product.factors[0], product.scale, shift};
  return Line{x, 1, shift};
}

/// Whether `gate` times `scale` is clamp(x + 3, 0, 6) / 6. The clamp may be fused into the
/// addition.
bool is_gate(Value* gate, const Value* x, double scale) {
  const Node* node = gate->def();
  if (node == nullptr) return false;
  const bool is_clamp = node->is(Op::clamp);
  const std::optional<Line> inner = line(is_clamp ? node->operand(0) : gate);
  if (!inner || inner->x != x) return false;
  if (is_clamp && !node->operand(0)->def()->attrs<BinaryAttrs>().bounds.unbounded()) return false;
  const Bounds bounds =
      is_clamp ? node->attrs<ClampAttrs>().bounds : node->attrs<BinaryAttrs>().bounds;
  // All numbers are in units in which the clamp ends at 6.
  const double unit = bounds.max / 6;
  return bounds.min == 0 && bounds.max > 0 && is_close(inner->shift, 3 * unit) &&
         is_close(inner->scale, unit) && is_close(scale * bounds.max, 1);
}

}  // namespace

bool recognise_hardswish(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (!(node->is(Op::mul) || node->is(Op::div)) || node->result()->dtype() != DType::f32)
      continue;
    Product product;
    multiply(node->result(), product, true);
    if (product.factors.size() != 2) continue;
    Value* const a = product.factors[0];
    Value* const b = product.factors[1];
    Value* x = is_gate(b, a, product.scale) ? a : is_gate(a, b, product.scale) ? b : nullptr;
    if (x == nullptr) continue;
    context.rewrite(*node, "is the hardswish of {}", x->name());
    replace(graph, node, BuildBefore(graph, node).add(Op::hardswish, {x}));
    changed = true;
  }
  return changed;
}

}  // namespace layline

// A sign that some of the elements have goes into a factor of all of them, where several products
// share the factor: rotary embeddings negate half of every query and key, and multiply it by a sine
// that all layers share.
//
//   concat(-a, b) * c   =   concat(a, b) * (c * signs),   signs is -1 or 1 for each element
#include <algorithm>
#include <map>

#include "ir/tensor.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

bool is_negated(const Value* part) {
  return part->def() && part->def()->is(Op::neg) && part->has_one_use();
}

/// A product with a concatenation of which some parts are negated.
struct SignedProduct {
  Node* product;
  int side;  // the operand that is the concatenation
};

/// What products that share their signs have in common. The signs stand along the axis of the
/// concatenation, which is counted from the end.
struct Signs {
  Value* factor;
  int64_t axis_from_end;
  std::vector<std::pair<int64_t, bool>> parts;  // how long they are, and whether they are negated
  auto operator<=>(const Signs&) const = default;
};

std::optional<Signs> signs_of(const SignedProduct& found) {
  const Value* joined = found.product->operand(found.side);
  const Node* concat = joined->def();
  if (concat == nullptr || !concat->is(Op::concat) || !joined->has_one_use() ||
      !is_float(joined->dtype()) || joined->shape() != found.product->result()->shape())
    return std::nullopt;
  const int64_t axis = concat->attrs<AxisAttrs>().axis;
  Signs signs{found.product->operand(1 - found.side), joined->type().rank() - axis, {}};
  for (const Value* part : concat->operands()) {
    const Dim& length = part->shape()[static_cast<size_t>(axis)];
    if (!length.is_static()) return std::nullopt;
    signs.parts.emplace_back(length.value(), is_negated(part));
  }
  const bool any = std::ranges::any_of(signs.parts, [](const auto& part) { return part.second; });
  return any ? std::optional(signs) : std::nullopt;
}

Value* with_signs(const Builder& build, Value* factor, const Signs& signs) {
  int64_t length = 0;
  for (const auto& [part, negated] : signs.parts) length += part;
  Shape shape(static_cast<size_t>(signs.axis_from_end), Dim(1));
  shape[0] = length;
  Tensor numbers({factor->dtype(), shape});
  int64_t place = 0;
  for (const auto& [part, negated] : signs.parts)
    for (int64_t i = 0; i < part; ++i) numbers.set(place++, negated ? -1 : 1);
  return build.add(Op::mul, {factor, build.constant(numbers)});
}

/// The product with what the parts are without their signs.
void multiply(Graph& graph, const SignedProduct& found, Value* factor) {
  const BuildBefore build(graph, found.product);
  const Node* concat = found.product->operand(found.side)->def();
  std::vector<Value*> parts;
  for (Value* part : concat->operands())
    parts.push_back(is_negated(part) ? part->def()->operand(0) : part);
  Value* joined = build.concat(std::move(parts), concat->attrs<AxisAttrs>().axis);
  replace(graph, found.product, build.add(Op::mul, {joined, factor}, found.product->attributes()));
}

}  // namespace

bool fold_signs(Graph& graph, PassContext& context) {
  // By their first product, so that the order is that of the graph.
  std::map<Signs, size_t> places;
  std::vector<std::pair<Signs, std::vector<SignedProduct>>> groups;
  for (Node* node : graph) {
    if (!node->is(Op::mul) || is_quantised(*node)) continue;
    for (const int side : {0, 1}) {
      const auto signs = signs_of({node, side});
      if (!signs) continue;
      const auto [known, is_new] = places.try_emplace(*signs, groups.size());
      if (is_new) groups.push_back({*signs, {}});
      groups[known->second].second.push_back({node, side});
      break;
    }
  }
  bool changed = false;
  for (const auto& [signs, products] : groups) {
    if (products.size() < 2) continue;
    // Not the factor that was found: it may be a product that has been replaced since.
    const auto& [first, side] = products[0];
    Value* shared = first->operand(1 - side);
    Value* factor = with_signs(BuildBefore(graph, first), shared, signs);
    for (const SignedProduct& found : products) {
      context.rewrite(*found.product, "the signs of its parts go into {}, which {} products share",
                      shared->name(), products.size());
      multiply(graph, found, factor);
    }
    changed = true;
  }
  return changed;
}

}  // namespace layline

#include "targets/xnnpack/rules.h"

#include "targets/xnnpack/legalise.h"

namespace layline::xnnpack {
namespace {

/// XNNPACK's softmax is over the last axis: along another one it is permuted there and back.
Cost node_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  if (!node.is(Op::softmax)) return {};
  const Shape& shape = order.result.target();
  const int64_t axis = std::get<AxisAttrs>(order.attributes).axis;
  const auto inner = product(std::span(shape).subspan(static_cast<size_t>(axis) + 1));
  if (inner.is_one()) return {};
  const Dim axis_size = shape[static_cast<size_t>(axis)];
  const Relayout there = Relayout::from_factors({element_count(shape)},
                                                {product(std::span(shape).first(static_cast<size_t>(axis))),
                                                 axis_size, inner},
                                                {0, 2, 1}, {element_count(shape)});
  const Cost one_way = move_cost(moves, there, node.result()->dtype());
  return one_way + one_way;
}

}  // namespace

const TargetRules& rules() {
  static const TargetRules kRules = {
      .orders = {.moves = {.call_ps = 2'000'000, .byte_ps = 250, .most_factors = 6},
                 .most_axes = 6,
                 .node_cost = node_cost},
      .legalise = legalise};
  return kRules;
}

}  // namespace layline::xnnpack

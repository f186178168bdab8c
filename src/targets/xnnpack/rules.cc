#include "targets/xnnpack/rules.h"

#include <algorithm>

#include "targets/xnnpack/legalise.h"

namespace layline::xnnpack {
namespace {

// A copy that goes on in runs shorter than a cache line pays for each run: a permute in disguise.
constexpr int64_t kRunBytes = 64;
constexpr int64_t kRunPs = 5'000;

/// XNNPACK's softmax is over the last axis: along another one it is permuted there and back.
Cost softmax_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  const Shape& shape = order.result.target();
  const auto axis = static_cast<size_t>(std::get<AxisAttrs>(order.attributes).axis);
  const Dim outer = product(std::span(shape).first(axis));
  const Dim inner = product(std::span(shape).subspan(axis + 1));
  if (inner.is_one()) return {};
  const Shape flat = {element_count(shape)};
  const Relayout there = Relayout::from_factors(flat, {outer, shape[axis], inner}, {0, 2, 1}, flat);
  const Cost one_way = move_cost(moves, there, node.result()->dtype());
  return one_way + one_way;
}

/// The cost of copying `shape` in pieces that are contiguous from `axis` inwards.
Cost run_cost(const Shape& shape, size_t axis, DType dtype) {
  const auto element = static_cast<int64_t>(byte_size(dtype));
  const int64_t run = product(std::span(shape).subspan(axis)).coefficient() * element;
  const int64_t bytes = element_count(shape).coefficient() * element;
  if (run == 0 || run >= kRunBytes || run == bytes) return {};
  return {bytes / run * kRunPs, 1, 0, 0};
}

Cost concat_cost(const Node& node, const LoopOrder& order) {
  const auto axis = static_cast<size_t>(std::get<AxisAttrs>(order.attributes).axis);
  Cost cost;
  for (const Relayout& part : order.operands)
    cost = std::max(cost, run_cost(part.target(), axis, node.result()->dtype()));
  return cost;
}

Cost slice_cost(const Node& node, const LoopOrder& order) {
  const auto& attrs = std::get<SliceAttrs>(order.attributes);
  const Shape& whole = order.operands[0].target();
  for (size_t axis = attrs.start.size(); axis-- > 0;)
    if (attrs.size[axis] != whole[axis])
      return run_cost(order.result.target(), axis, node.result()->dtype());
  return {};
}

Cost node_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  switch (node.op()) {
    case Op::softmax: return softmax_cost(node, order, moves);
    case Op::concat: return concat_cost(node, order);
    case Op::slice: return slice_cost(node, order);
    default: return {};
  }
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

#include "targets/xnnpack/xnnpack_rules.h"

#include <algorithm>

#include "targets/xnnpack/kernels.h"
#include "targets/xnnpack/xnnpack_rewrites.h"

namespace layline::xnnpack {
namespace {

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

/// The extra cost of copying `shape` in runs from `axis` inwards instead of in one piece.
Cost run_cost(const MoveCosts& moves, const RunCosts& runs, const Shape& shape, size_t axis,
              DType dtype) {
  const auto element = static_cast<int64_t>(byte_size(dtype));
  const int64_t run = moves.size(product(std::span(shape).subspan(axis))) * element;
  const int64_t bytes = moves.size(element_count(shape)) * element;
  return {std::max<int64_t>(runs.copy_ps(bytes, run) - runs.copy_ps(bytes, bytes), 0), 0, 0, 0};
}

Cost concat_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  const auto axis = static_cast<size_t>(std::get<AxisAttrs>(order.attributes).axis);
  Cost cost;
  for (const Relayout& part : order.operands)
    cost += run_cost(moves, moves.concat, part.target(), axis, node.result()->dtype());
  return cost;
}

Cost slice_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  const auto& attrs = std::get<SliceAttrs>(order.attributes);
  const Shape& whole = order.operands[0].target();
  for (size_t axis = attrs.start.size(); axis-- > 0;)
    if (attrs.size[axis] != whole[axis])
      return run_cost(moves, moves.slice, order.result.target(), axis, node.result()->dtype());
  return {};
}

/// The cost of a matmul. If the left operand is the constant, XNNPACK packs the other one at every
/// run; a fully-connected node has its weights packed once.
Cost matmul_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  const bool constant_left = constant_of(node.operand(order.swapped ? 1 : 0)) != nullptr;
  if (!constant_left) return {};
  const Shape& packed = order.operands[order.swapped ? 0 : 1].target();
  const Dim rows = product(std::span(packed).first(packed.size() - 1));
  const Shape flat = {element_count(packed)};
  const Relayout packing = Relayout::from_factors(flat, {rows, packed.back()}, {1, 0}, flat);
  return {std::max<int64_t>(1, move_cost(moves, packing, node.result()->dtype()).time_ps -
                                   moves.call_ps - moves.margin_ps),
          0, 0, 0};
}

/// The runtime gathers with a list of indices, or rows of a matrix.
Cost gather_cost(const LoopOrder& order) {
  const bool rows =
      std::get<AxisAttrs>(order.attributes).axis == 0 && order.operands[0].target().size() == 2;
  return rows || order.operands[1].target().size() == 1 ? Cost{} : Cost::forbidden();
}

/// A copy in short runs is a permute in disguise, and pays for it.
Cost node_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  switch (node.op()) {
    case Op::softmax:
      return softmax_cost(node, order, moves);
    case Op::concat:
      return concat_cost(node, order, moves);
    case Op::slice:
      return slice_cost(node, order, moves);
    case Op::gather:
      return gather_cost(order);
    case Op::matmul:
      return matmul_cost(node, order, moves);
    default:
      return {};
  }
}

}  // namespace

// Heads one by one take 2 to 6 us longer than at once, as much as reading 64 keys more of 8 heads.
// XNNPACK plans its memory anew for every new number of keys: short steps do that more often, and
// long ones read more keys than are needed.
constexpr TargetRules::CountedKeys kCountedKeys = {.least = 256, .step = 16};

TargetRules rules(const Profile& profile) {
  TargetRules rules = {
      .orders = {.moves = profile.moves, .most_axes = kMostAxes, .node_cost = node_cost},
      .products = profile.products,
      .profile = profile.name,
      .depthwise_places = {kDepthwisePlaces.begin(), kDepthwisePlaces.end()},
      .least_lanes = 8,
      .writes_in_place = true,
      .counted_keys = kCountedKeys,
      .legalise = [](Graph& graph, PassContext&) { return xnnpack::legalise(graph); }};
  rules.orders.moves.most_factors = kMostAxes;
  return rules;
}

}  // namespace layline::xnnpack

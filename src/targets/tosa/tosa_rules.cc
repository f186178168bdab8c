#include "targets/tosa/tosa_rules.h"

#include <numeric>

#include "targets/tosa/kernels.h"
#include "targets/tosa/npu_rules.h"
#include "targets/tosa/tosa_rewrites.h"

namespace layline::tosa {
namespace {

/// MATMUL reads b as [N, C, W]: a transposed b is moved first, unless it is a constant.
Cost matmul_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  if (!std::get<MatmulAttrs>(order.attributes).transpose_b) return {};
  // The operands of the node in this order: swapped, b is what the node has as its first.
  const int b = order.swapped ? 0 : 1;
  if (constant_of(node.operand(b))) return {};
  const Shape& shape = order.operands[static_cast<size_t>(b)].target();
  std::vector<int> permutation(shape.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[shape.size() - 1], permutation[shape.size() - 2]);
  return move_cost(moves, Relayout::permute(shape, permutation), node.result()->dtype());
}

Cost node_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  return node.is(Op::matmul) ? matmul_cost(node, order, moves) : Cost{};
}

/// Ethos-U takes about eight times as many cycles to copy an element without a neighbour as to
/// TRANSPOSE it, so such a copy costs more than a TRANSPOSE before or after it. Two or more
/// elements that stay together are copied in fewer cycles than they are transposed in.
Cost single_elements_cost(const Shape& part, const Shape& whole, size_t axis, DType dtype,
                          const MoveCosts& moves) {
  constexpr int64_t kSlower = 8;
  const bool singles = product(std::span(part).subspan(axis)).is_one() &&
                       !product(std::span(whole).subspan(axis)).is_one();
  if (!singles) return {};
  const int64_t element_ps = kSlower * static_cast<int64_t>(byte_size(dtype)) * moves.byte_ps;
  const int64_t elements = moves.size(element_count(part));
  return {moves.call_ps + RunCosts{{{1, element_ps}}}.copy_ps(elements, 1), 0, 0, 0};
}

Cost ethos_node_cost(const Node& node, const LoopOrder& order, const MoveCosts& moves) {
  const DType dtype = node.result()->dtype();
  if (node.is(Op::concat)) {
    const auto axis = static_cast<size_t>(std::get<AxisAttrs>(order.attributes).axis);
    Cost cost;
    for (const Relayout& part : order.operands)
      cost += single_elements_cost(part.target(), order.result.target(), axis, dtype, moves);
    return cost;
  }
  if (node.is(Op::slice)) {
    const auto& attrs = std::get<SliceAttrs>(order.attributes);
    const Shape& whole = order.operands[0].target();
    for (size_t axis = attrs.size.size(); axis-- > 0;)
      if (attrs.size[axis] != whole[axis])
        return single_elements_cost(order.result.target(), whole, axis, dtype, moves);
    return {};
  }
  return node_cost(node, order, moves);
}

}  // namespace

/// The costs prefer fewer TRANSPOSEs, unless that moves 256 KB more for each, and then fewer bytes.
/// Whatever keeps the bytes in place is free. If no device is named, slices and concatenations cost
/// the same in every order.
TargetRules rules(const Accelerator* accelerator) {
  TargetRules rules;
  rules.legalise = [accelerator](Graph& graph, PassContext& context) {
    bool changed = accelerator && suit_accelerator(graph, *accelerator, context);
    changed = legalise(graph) || changed;
    if (accelerator && fit_accelerator(graph, *accelerator, context)) {
      legalise(graph);
      changed = true;
    }
    return changed;
  };
  rules.quantises_dynamically = false;
  rules.has_unsigned_bytes = false;
  rules.orders.most_axes = kMostAxes;
  rules.orders.node_cost = accelerator ? ethos_node_cost : node_cost;
  MoveCosts& moves = rules.orders.moves;
  moves.byte_ps = 1'000;
  moves.call_ps = (256 << 10) * moves.byte_ps;
  moves.transpose.write_ps = moves.transpose_bytes.write_ps = 0;
  moves.permute = moves.slice = moves.concat = {{{1, 0}}};
  moves.most_factors = kMostAxes;
  return rules;
}

}  // namespace layline::tosa

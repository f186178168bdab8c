#include "targets/tosa/rules.h"

#include <numeric>

#include "targets/rewrites/rank.h"
#include "targets/tosa/legalise.h"
#include "targets/tosa/npu_rules.h"

namespace layline::tosa {
namespace {

/// MATMUL reads b as [N, C, W]: transposed it is moved first, unless it is a constant.
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

}  // namespace

/// Costs of no device in particular: fewer TRANSPOSEs first, unless that moves 256 KB more for
/// each, and then fewer bytes. Whatever keeps the bytes in place is free, and slices and
/// concatenations cost the same in every order.
TargetRules rules(const Accelerator* accelerator) {
  TargetRules rules;
  rules.legalise = [accelerator](Graph& graph, PassContext& context) {
    bool changed = legalise(graph);
    if (accelerator && fit_accelerator(graph, *accelerator, context)) {
      legalise(graph);
      changed = true;
    }
    return changed;
  };
  rules.quantises_dynamically = false;
  rules.orders.most_axes = rewrites::kMostAxes;
  rules.orders.node_cost = node_cost;
  MoveCosts& moves = rules.orders.moves;
  moves.byte_ps = 1'000;
  moves.call_ps = (256 << 10) * moves.byte_ps;
  moves.transpose.write_ps = moves.transpose_bytes.write_ps = 0;
  moves.permute = moves.slice = moves.concat = {{{1, 0}}};
  moves.most_factors = rewrites::kMostAxes;
  return rules;
}

}  // namespace layline::tosa

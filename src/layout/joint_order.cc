#include "layout/joint_order.h"

#include <algorithm>

namespace layline {
namespace {

/// The order of the node that is first `first`, and then `second`, which is an order of the op that
/// `first` makes.
std::optional<LoopOrder> composed(const LoopOrder& first, LoopOrder second) {
  if (first.swapped) std::swap(second.operands[0], second.operands[1]);
  auto result = first.result.then(second.result);
  if (!result) return std::nullopt;
  second.result = *std::move(result);
  for (size_t i = 0; i < second.operands.size(); ++i) {
    auto operand = first.operands[i].then(second.operands[i]);
    if (!operand) return std::nullopt;
    second.operands[i] = *std::move(operand);
  }
  second.swapped = second.swapped != first.swapped;
  return second;
}

}  // namespace

bool has_free_ports(const Node& node) {
  if (info(node.op()).op_class == OpClass::contraction) return true;
  const Dim count = element_count(node.result()->shape());
  return std::ranges::any_of(node.operands(), [&](const Value* operand) {
    return stored_constant(operand) == nullptr && element_count(operand->shape()) != count;
  });
}

std::vector<LoopOrder> cross_from(const Node& node, const LoopOrder& order, int port,
                                  const Relayout& relayout, const SymbolTable& symbols) {
  const auto further = order.at(port).inverse().then(relayout);
  if (!further) return {};
  Graph scratch("order");
  scratch.symbol_table() = symbols;
  std::vector<Value*> operands;
  for (size_t i = 0; i < order.operands.size(); ++i) {
    const TensorType& own = node.operand(static_cast<int>(i))->type();
    // An order that its operand's scales do not follow is not among the candidates.
    const auto quantisation = moved(own.quantisation, order.operands[i]);
    if (!quantisation) return {};
    operands.push_back(
        scratch.add_input("", {own.dtype, order.operands[i].target(), *quantisation}));
  }
  if (order.swapped) std::swap(operands[0], operands[1]);
  const Node& reordered = *scratch.add(node.op(), operands, order.attributes, node.origin())->def();
  const int moved_port = order.swapped && (port == 0 || port == 1) ? 1 - port : port;
  std::vector<LoopOrder> result;
  for (LoopOrder& second : cross(reordered, moved_port, *further))
    if (auto both = composed(order, std::move(second))) result.push_back(*std::move(both));
  return result;
}

}  // namespace layline

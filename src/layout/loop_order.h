// Loop orders: the same op on operands that have been moved. A relayout of one port (an operand or
// the result) reorders the op's loops, and the order of the loops gives every other port its
// relayout and the op its attributes (docs/layout.md, "Loop orders").
#pragma once

#include <vector>

#include "ir/graph.h"
#include "layout/signature.h"

namespace layline {

/// An op in other coordinates. For the node's op, any operands x and y = op(x):
///   op'(operands[0](x[0]), operands[1](x[1]), ...) == result(y)
/// where op' is the op with `attributes`, and with its first two operands exchanged if `swapped`.
struct LoopOrder {
  std::vector<Relayout> operands;
  Relayout result;
  Attributes attributes;
  bool swapped = false;  // (AB)^T = B^T A^T

  /// The relayout of a port.
  ///
  ///   order.at(0) is order.operands[0]; order.at(kResultPort) is order.result
  const Relayout& at(int port) const {
    return port == kResultPort ? result : operands[static_cast<size_t>(port)];
  }
  /// Whether every port has the same movement in both: kernels see the same bytes.
  ///
  ///   A neg that reads and writes [6] moves like one that reads and writes [2,3].
  bool moves_like(const LoopOrder& other) const;
  friend bool operator==(const LoopOrder&, const LoopOrder&) = default;
};

/// The order in which the model writes the op.
///
/// After: every relayout is an identity, the attributes are the node's, and nothing is swapped.
///
///   source_order(add of [2,3] and [3])  ==  operands [2,3] -> [2,3], [3] -> [3]; result [2,3] ->
///   [2,3]
LoopOrder source_order(const Node& node);

/// The orders of an op in which one port (an operand, or kResultPort) is moved by `relayout`.
///
/// Before: the relayout's source is the port's shape.
/// After: every order obeys the law of LoopOrder, and at(port) moves like `relayout`. The target of
/// at(port) is the relayout's target where the op can work on those dims, and otherwise the same
/// bytes in other dims. Empty where the op works along an axis that the relayout takes apart or
/// mixes with others. Contractions may have several orders, most other ops have one.
///
///   cross(mul of x [2,4,4,3] and gate [2,1,1,3], 0, [2,4,4,3] (2,16,3)->(0,2,1) [2,3,4,4])
///     ==  one order: x and the result are moved so, and the gate is [2,1,1,3] -> [2,3,1,1]
///   cross(cumsum of [4,3] along axis 0, 0, [4,3] (2,2,3)->(1,0,2) [4,3])  ==  none
std::vector<LoopOrder> cross(const Node& node, int port, const Relayout& relayout);

}  // namespace layline

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

  /// The relayout of an operand, or of the result.
  const Relayout& at(int port) const {
    return port == kResultPort ? result : operands[static_cast<size_t>(port)];
  }
  /// The same movement of every port: kernels see the same bytes.
  bool moves_like(const LoopOrder& other) const;
  friend bool operator==(const LoopOrder&, const LoopOrder&) = default;
};

/// The order in which the model writes the op.
LoopOrder source_order(const Node& node);

/// The orders in which a port (an operand, or kResultPort) is moved by `relayout`, whose source is
/// that port's shape. Every order returned obeys the law of LoopOrder, and its relayout of the port
/// moves like `relayout`; its target is the relayout's where the op can work on those dims, and
/// otherwise the same bytes in other dims. Empty where the op works along an axis that the relayout
/// takes apart or mixes with others. Contractions may have several.
std::vector<LoopOrder> cross(const Node& node, int port, const Relayout& relayout);

}  // namespace layline

// How an op does its work on operands that have been moved. The counterpart, for one relayout, of
// reordering the op's loops: parallel axes move freely, an axis that the op works along must stay
// one axis.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace layline {

/// An op in other coordinates. For the node's op and any operands x:
///   result(op'(operands[0](x[0]), operands[1](x[1]), ...))  ==  op(x[0], x[1], ...)
/// where op' is the op with `attributes`.
struct Carried {
  std::vector<Relayout> operands;
  Attributes attributes;
  Relayout result;
};

/// Ops that carry() may succeed for.
bool can_carry(Op op);

/// The node in the coordinates of the source of `relayout`, whose target is the shape of operand
/// `index`; so operands[index] is its inverse. Nullopt where the op works along an axis that is not
/// an axis of the source.
std::optional<Carried> carry(const Node& node, int index, const Relayout& relayout);

/// The same movement of axes for a target of other sizes: `target` has the rank of the relayout's
/// and differs from it in axes that are axes of the source too.
///
///   NHWC to NCHW [1,4,5,3] -> [1,3,4,5], target [1,3,1,1]: [1,1,1,3] -> [1,3,1,1]
std::optional<Relayout> with_target_sizes(const Relayout& relayout, const Shape& target);

}  // namespace layline

// Lets a convolution pad its input with zeros itself, and a max pool with minus infinity. An
// average pool divides by the number of elements inside its input, which padding would change.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// Adds the pad's sizes to those of the window op. False where the batch or the channels are
/// padded.
bool add_padding(const PadAttrs& pad, Ints& low, Ints& high) {
  if (pad.low.front() != 0 || pad.high.front() != 0 || pad.low.back() != 0 || pad.high.back() != 0)
    return false;
  for (size_t i = 0; i < low.size(); ++i) {
    const auto new_low = checked_add(low[i], pad.low[i + 1]);
    const auto new_high = checked_add(high[i], pad.high[i + 1]);
    if (!new_low || !new_high) return false;
    low[i] = *new_low;
    high[i] = *new_high;
  }
  return true;
}

/// Whether every window reaches an element: one in the padding alone has no maximum, and the op
/// does not allow it.
bool fits(const PoolAttrs& pool) {
  for (size_t i = 0; i < pool.kernel.size(); ++i)
    if (std::max(pool.low[i], pool.high[i]) > (pool.kernel[i] - 1) * pool.dilation[i]) return false;
  return true;
}

/// The attributes of the window op with the pad taken in, if it can.
std::optional<Attributes> with_padding(const Node& window, const PadAttrs& pad) {
  if (pad.mode != PadMode::constant) return std::nullopt;
  if (window.is(Op::conv) && pad.value == 0) {
    ConvAttrs attrs = window.attrs<ConvAttrs>();
    if (add_padding(pad, attrs.low, attrs.high)) return attrs;
  }
  if (window.is(Op::max_pool) && pad.value == -std::numeric_limits<double>::infinity()) {
    PoolAttrs attrs = window.attrs<PoolAttrs>();
    if (add_padding(pad, attrs.low, attrs.high) && fits(attrs)) return attrs;
  }
  return std::nullopt;
}

}  // namespace

bool fuse_pad(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (!node->is(Op::conv) && !node->is(Op::max_pool)) continue;
    const Node* pad = node->operand(0)->def();
    if (pad == nullptr || !pad->is(Op::pad)) continue;
    auto attributes = with_padding(*node, pad->attrs<PadAttrs>());
    if (!attributes) continue;
    context.rewrite(*node, "pads its input itself, instead of {}", pad->result()->name());
    std::vector<Value*> operands(node->operands().begin(), node->operands().end());
    operands[0] = pad->operand(0);
    replace(graph, node,
            BuildBefore(graph, node).add(node->op(), std::move(operands), *std::move(attributes)));
    changed = true;
  }
  return changed;
}

}  // namespace layline

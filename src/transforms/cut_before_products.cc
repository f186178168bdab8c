// Computes only those rows of products that are read. A language model computes scores for every
// position and reads those of the last; an image transformer reads one row of its last block. Where
// a slice, or a gather of rows, reads a part of what linear ops, norms and elementwise ops compute,
// it comes before them. What others read as a whole, too, is computed as a whole.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

/// Reading a part along one axis: a slice, or a gather with a list of indices.
struct Cut {
  Node* node;
  size_t axis;
  Dim size;  // of the part

  Value* of(const Builder& build, Value* x, size_t at) const {
    if (node->is(Op::gather))
      return build.add(Op::gather, {x, node->operand(1)}, AxisAttrs{static_cast<int64_t>(at)});
    const auto& attrs = node->attrs<SliceAttrs>();
    return build.slice(x, static_cast<int64_t>(at), attrs.start[axis], size, attrs.step[axis]);
  }
};

/// The node as a cut, if it reads less than there is.
std::optional<Cut> as_cut(Node* node) {
  const Shape& whole =
      node->is(Op::slice) || node->is(Op::gather) ? node->operand(0)->shape() : Shape{};
  if (node->is(Op::slice)) {
    const Shape& part = node->attrs<SliceAttrs>().size;
    std::optional<Cut> cut;
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      if (part[axis] == whole[axis]) continue;
      if (cut) return std::nullopt;
      cut = {node, axis, part[axis]};
    }
    return cut;
  }
  if (!node->is(Op::gather) || node->operand(1)->type().rank() != 1) return std::nullopt;
  const auto axis = static_cast<size_t>(node->attrs<AxisAttrs>().axis);
  const Dim size = node->operand(1)->shape()[0];
  const bool less = whole[axis].is_static() ? size.is_static() && size.value() < whole[axis].value()
                                            : size.is_one();
  return less ? std::optional<Cut>({node, axis, size}) : std::nullopt;
}

/// For each operand the axis along which the part of the result needs a part of it; none where it
/// needs all of it.
using OperandAxes = std::vector<std::optional<size_t>>;

bool is_along(const Ints& axes, size_t axis) {
  return std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end();
}

/// The axes of an elementwise op's operands, which broadcast.
OperandAxes broadcast_axes(const Node& node, size_t axis) {
  OperandAxes axes;
  const Shape& result = node.result()->shape();
  for (const Value* operand : node.operands()) {
    const size_t missing = result.size() - operand->shape().size();
    const bool repeats = axis < missing || operand->shape()[axis - missing] != result[axis];
    axes.push_back(repeats ? std::nullopt : std::optional(axis - missing));
  }
  return axes;
}

/// A stored table that is dequantised: gather_quantised reads rows of it.
bool is_dequantised_table(const Node& node) {
  return node.is(Op::dequantize) && stored_constant(node.operand(0)) != nullptr;
}

/// What a part of the node's result needs; nothing if it is not computed from parts.
std::optional<OperandAxes> needs(const Node& node, size_t axis) {
  const auto kept = [&](const Ints& along) {
    return is_along(along, axis) ? std::nullopt : std::optional(OperandAxes{axis});
  };
  // Scales of a part would be a part of the scales.
  for (const Value* value : {node.operand_count() ? node.operand(0) : node.result(), node.result()})
    if (value->type().quantisation && !value->type().quantisation->per_tensor())
      return std::nullopt;
  if (is_elementwise(node.op()) && !is_dequantised_table(node)) return broadcast_axes(node, axis);
  switch (node.op()) {
    case Op::linear: {
      if (axis + 1 == node.result()->shape().size()) return std::nullopt;
      OperandAxes axes(node.operands().size());
      axes[0] = axis;
      return axes;
    }
    case Op::reduce_sum:
    case Op::reduce_mean:
      return kept(node.attrs<AxesAttrs>().axes);
    case Op::normalize:
      return kept(node.attrs<NormalizeAttrs>().axes);
    case Op::softmax:
    case Op::log_softmax:
      return kept({node.attrs<AxisAttrs>().axis});
    case Op::relayout: {
      const Relayout& relayout = node.attrs<RelayoutAttrs>().relayout;
      if (!relayout.is_view()) return std::nullopt;
      const auto source = relayout.inverse().target_axis(static_cast<int>(axis));
      if (!source) return std::nullopt;
      return OperandAxes{static_cast<size_t>(*source)};
    }
    default:
      return std::nullopt;
  }
}

/// Whether it is worth it to come before the node: it multiplies, is part of a norm, or reads a
/// dequantised table.
bool is_costly(const Node& node, const Cut& cut) {
  const auto reads_table = [](const Value* operand) {
    return operand->def() != nullptr && is_dequantised_table(*operand->def());
  };
  return node.is(Op::linear) || info(node.op()).op_class == OpClass::axis ||
         (cut.node->is(Op::gather) && std::ranges::any_of(node.operands(), reads_table));
}

/// The nodes of which only a part is computed, and how.
class Parts {
 public:
  explicit Parts(const Cut& cut) : cut_(cut) {
    want(cut.node->operand(0), cut.axis);
    // What is further away is left whole: a walk over the graph for each cut would take too long.
    constexpr int kMostNodes = 4096;
    const Node* node = cut.node->previous();
    for (int i = 0; i < kMostNodes && ahead_ > 0; ++i, node = node->previous()) look_at(*node);
    keep_what_saves();
  }

  bool empty() const { return nodes_.empty(); }

  /// Builds the nodes on parts, each in the name of its own origin; returns the part that the cut
  /// reads.
  Value* build(Graph& graph) {
    for (const Found& found : nodes_) {
      std::vector<Value*> operands(found.node->operands().begin(), found.node->operands().end());
      for (size_t i = 0; i < operands.size(); ++i)
        if (found.operands[i]) operands[i] = part_of(graph, operands[i], *found.operands[i]);
      Attributes attributes = found.node->attributes();
      if (auto* moved = std::get_if<RelayoutAttrs>(&attributes)) {
        Shape target = found.node->result()->shape();
        target[found.axis] = cut_.size;
        moved->relayout = Relayout::view(operands[0]->shape(), std::move(target));
      }
      const BuildBefore build(graph, cut_.node, found.node->origin());
      parts_[{found.node->result(), found.axis}] =
          build.add(found.node->op(), std::move(operands), std::move(attributes));
    }
    return part_of(graph, cut_.node->operand(0), cut_.axis);
  }

 private:
  struct Found {
    const Node* node;
    size_t axis;
    OperandAxes operands;
  };
  /// How many readers of a value need a part of it, and along which axis.
  struct Wanted {
    size_t axis;
    size_t readers;
    bool agreed;
  };

  void want(const Value* value, size_t axis) {
    auto [wanted, is_new] = wanted_.try_emplace(value, Wanted{axis, 0, true});
    if (is_new && value->def() != nullptr) ++ahead_;
    ++wanted->second.readers;
    if (wanted->second.axis != axis) wanted->second.agreed = false;
  }

  void look_at(const Node& node) {
    const Value* value = node.result();
    const auto wanted = wanted_.find(value);
    if (wanted == wanted_.end()) return;
    --ahead_;
    if (!wanted->second.agreed || value->output_uses() > 0 ||
        value->uses().size() != wanted->second.readers)
      return;
    const auto axes = needs(node, wanted->second.axis);
    if (!axes) return;
    for (size_t i = 0; i < axes->size(); ++i)
      if ((*axes)[i]) want(node.operands()[i], *(*axes)[i]);
    nodes_.push_back({&node, wanted->second.axis, *axes});
  }

  /// Keeps the nodes after something costly, in the order of the graph. Before it, whole values are
  /// as good: an op that clamps what a convolution gives is better left beside it.
  void keep_what_saves() {
    std::ranges::reverse(nodes_);
    std::set<const Value*> saving;
    std::erase_if(nodes_, [&](const Found& found) {
      bool saves = is_costly(*found.node, cut_);
      for (size_t i = 0; i < found.operands.size(); ++i)
        saves = saves || (found.operands[i] && saving.contains(found.node->operands()[i]));
      if (saves) saving.insert(found.node->result());
      return !saves;
    });
  }

  Value* part_of(Graph& graph, Value* whole, size_t axis) {
    Value*& part = parts_[{whole, axis}];
    if (part == nullptr) part = cut_.of(BuildBefore(graph, cut_.node), whole, axis);
    return part;
  }

  const Cut& cut_;
  std::map<const Value*, Wanted> wanted_;
  size_t ahead_ = 0;  // wanted values whose nodes the walk has yet to reach
  std::vector<Found> nodes_;
  std::map<std::pair<const Value*, size_t>, Value*> parts_;
};

}  // namespace

bool cut_before_products(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    const auto cut = as_cut(node);
    if (!cut) continue;
    Parts parts(*cut);
    if (parts.empty()) continue;
    context.rewrite(*node, "comes before what computes {}", node->operand(0)->name());
    replace(graph, node, parts.build(graph));
    changed = true;
  }
  return changed;
}

}  // namespace layline

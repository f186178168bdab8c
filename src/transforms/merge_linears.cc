// Merges linear ops that read one value (q, k and v of attention) and whose results are all
// permuted alike: one product, one permute, and a slice for each, where the profile says that the
// permutes saved cost more than the slices. Quantised weights too: the scales of their rows stand
// one after the other like the rows themselves, and every row is multiplied as before. (Results
// that are rounded each to a scale of its own are not merged: one product has one result.)
#include <algorithm>
#include <unordered_set>

#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

// Weights beyond this size are not rewritten in memory.
constexpr size_t kMostRewrittenBytes = size_t{64} << 20;

bool has_constant_weights(const Node& node) {
  for (int i = 1; i < node.operand_count(); ++i)
    if (stored_constant(node.operand(i)) == nullptr) return false;
  return true;
}

/// Whether the types differ only in scales and zero points, which can stand one after the other as
/// the data does.
bool can_stack(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  if (!a.quantisation || !b.quantisation) return a == b;
  return a.quantisation->min == b.quantisation->min && a.quantisation->max == b.quantisation->max &&
         a.quantisation->dims == b.quantisation->dims;
}

/// The one relayout that reads the node's result and moves it, or null.
const Relayout* only_move(const Node& node) {
  const Value* result = node.result();
  if (!result->has_one_use() || result->uses().empty()) return nullptr;
  const Relayout* relayout = relayout_of(result->uses()[0].user->result());
  return relayout && !relayout->is_view() ? relayout : nullptr;
}

bool can_merge(const Node& first, const Node& other) {
  const Relayout* a = only_move(first);
  const Relayout* b = only_move(other);
  if (!a || !b || *a != *b || first.attributes() != other.attributes() ||
      first.operand_count() != other.operand_count() || !has_constant_weights(other))
    return false;
  for (int i = 1; i < first.operand_count(); ++i)
    if (!can_stack(first.operand(i)->type(), other.operand(i)->type())) return false;
  return true;
}

/// The constants one after the other, along their first axis.
Constant stacked(const std::vector<Node*>& group, int operand) {
  const Constant& first = *stored_constant(group[0]->operand(operand));
  std::vector<std::byte> bytes;
  for (const Node* node : group) {
    const std::vector<std::byte> own = stored_constant(node->operand(operand))->bytes();
    bytes.insert(bytes.end(), own.begin(), own.end());
  }
  Shape shape = first.shape();
  shape[0] = shape[0] * Dim(static_cast<int64_t>(group.size()));
  return Constant::owned(first.dtype(), std::move(shape), std::move(bytes));
}

/// The quantisation of the stacked constants: the entries of every row, so that each keeps its own
/// scale.
QuantisationRef stacked_table(const std::vector<Node*>& group, int operand) {
  const TensorType& first = group[0]->operand(operand)->type();
  if (!first.quantisation) return {};
  Quantisation stacked = *first.quantisation;
  const auto rows = static_cast<size_t>(first.shape[0].value());
  stacked.dims.resize(first.shape.size(), 1);
  const auto table_rows = static_cast<size_t>(stacked.dims[0]);
  stacked.dims[0] = static_cast<int64_t>(group.size() * rows);
  stacked.scales.clear();
  stacked.zero_points.clear();
  for (const Node* node : group) {
    const Quantisation& own = *node->operand(operand)->type().quantisation;
    const size_t row_entries = own.scales.size() / table_rows;
    for (size_t row = 0; row < rows; ++row) {
      const size_t begin = row * table_rows / rows * row_entries;
      for (size_t entry = begin; entry < begin + row_entries; ++entry) {
        stacked.scales.push_back(own.scale(entry));
        stacked.zero_points.push_back(own.zero_point(entry));
      }
    }
  }
  if (std::ranges::all_of(stacked.zero_points, [](int32_t zero) { return zero == 0; }))
    stacked.zero_points.clear();
  return stacked;
}

bool pays(const std::vector<Node*>& group, const MoveCosts& moves) {
  const Value* result = group[0]->result();
  if (!is_static(result->shape())) return false;
  const auto bytes = static_cast<int64_t>(byte_count(result->type()));
  const auto count = static_cast<int64_t>(group.size());
  return (count - 1) * moves.call_ps > count * moves.slice.copy_ps(bytes, bytes);
}

void merge(Graph& graph, const std::vector<Node*>& group, PassContext& context) {
  const Node& first = *group[0];
  const int64_t outputs = first.operand(1)->shape()[0].value();
  const BuildBefore build(graph, group[0]);
  std::vector<Value*> operands = {first.operand(0)};
  for (int i = 1; i < first.operand_count(); ++i)
    operands.push_back(build.constant(stacked(group, i), stacked_table(group, i)));
  Value* all = build.add(Op::linear, std::move(operands), first.attributes());
  const auto axis = static_cast<int64_t>(all->shape().size()) - 1;
  std::vector<Value*> parts;
  for (size_t i = 0; i < group.size(); ++i)
    parts.push_back(build.slice(all, axis, static_cast<int64_t>(i) * outputs, outputs));
  for (size_t i = 0; i < group.size(); ++i) {
    context.rewrite(*group[i], "is one product with {} others on {}", group.size() - 1,
                    first.operand(0)->name());
    graph.replace_all_uses(group[i]->result(), parts[i]);
  }
}

}  // namespace

bool merge_linears(Graph& graph, PassContext& context) {
  const MoveCosts& moves = context.target().orders.moves;
  bool changed = false;
  std::vector<Node*> merged;
  std::unordered_set<Node*> grouped;
  for (Node* node : graph) {
    if (!node->is(Op::linear) || grouped.contains(node) || !has_constant_weights(*node) ||
        !only_move(*node))
      continue;
    std::vector<Node*> group;
    for (const Use& use : node->operand(0)->uses())
      if (use.user->is(Op::linear) && use.operand == 0 && !grouped.contains(use.user) &&
          can_merge(*node, *use.user))
        group.push_back(use.user);
    grouped.insert(group.begin(), group.end());
    const size_t bytes = group.size() * stored_constant(node->operand(1))->byte_count();
    if (group.size() < 2 || bytes > kMostRewrittenBytes) continue;
    if (!pays(group, moves)) {
      for (Node* one : group)
        context.explain(*one, "is not merged with {} others: the slices would cost more",
                        group.size() - 1);
      continue;
    }
    // Uses are in the order in which they were made; the first in the graph is where the others go.
    std::ranges::rotate(group, std::ranges::find(group, node));
    merged.insert(merged.end(), group.begin(), group.end());
    merge(graph, group, context);
    changed = true;
  }
  for (Node* node : merged) erase_unused(graph, node);
  return changed;
}

}  // namespace layline

#include "targets/rewrites/apply_rules.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "targets/rewrites/quantised.h"
#include "targets/rewrites/rank.h"

namespace layline::rewrites {
namespace {

/// Takes a fused clamp out of the op: few kernels have one.
Value* unfuse_clamp(const Builder& build, const Node& node) {
  Attributes attributes = node.attributes();
  Bounds bounds;
  std::visit(
      [&](auto& attrs) {
        if constexpr (requires { attrs.bounds; }) bounds = std::exchange(attrs.bounds, Bounds{});
      },
      attributes);
  if (node.is(Op::clamp) || bounds.unbounded()) return nullptr;
  std::vector<Value*> operands(node.operands().begin(), node.operands().end());
  Value* y = build.add(node.op(), std::move(operands), std::move(attributes));
  return build.clamp(y, bounds.min, bounds.max);
}

/// Computes a node of constants that the target refuses, even if constant folding finds the result
/// too large: tables of relative positions, spread out.
Value* computed(const Builder& build, const Node& node) {
  if (node.is(Op::relayout) || node.is(Op::expand) || node.operand_count() == 0) return nullptr;
  constexpr size_t kMostBytes = size_t{64} << 20;
  auto is_small = [](const Value* value) {
    return is_static(value->shape()) && byte_count(value->type()) <= kMostBytes;
  };
  auto is_known = [&](const Value* value) { return stored_constant(value) && is_small(value); };
  if (!is_small(node.result()) || !std::ranges::all_of(node.operands(), is_known)) return nullptr;
  std::vector<Tensor> operands;
  for (const Value* operand : node.operands()) operands.push_back(tensor_of(operand));
  return build.constant(evaluate_node(node, operands));
}

/// Whether the rules for real numbers apply to the op on integers: those that move data, and
/// windows along one axis, which views make two.
bool moves_integers(const Node& node) {
  const bool slides = node.is(Op::conv) || node.is(Op::conv_transpose) || node.is(Op::max_pool);
  return info(node.op()).op_class == OpClass::movement ||
         (slides && node.operand(0)->type().rank() == 3);
}

Value* rewrite(const Builder& build, const Node& node, std::span<const Rule> rules,
               size_t most_axes) {
  if (Value* constant = computed(build, node)) return constant;
  if (Value* replacement = with_fewer_axes(build, node, most_axes)) return replacement;
  if (is_quantised(node) && !moves_integers(node)) {
    for (const Rule& rule : rules)
      if (rule.on_integers && rule.op == node.op())
        if (Value* replacement = rule.rewrite(build, node)) return replacement;
    if (Value* apart = bias_apart(build, node)) return apart;
    if (Value* reals = on_reals(build, node)) return reals;
    return in_arithmetic(build, node);
  }
  for (const Rule& rule : rules)
    if (!rule.op || rule.op == node.op())
      if (Value* replacement = rule.rewrite(build, node)) return replacement;
  if (Value* reals = on_reals(build, node)) return reals;
  if (Value* arithmetic = in_arithmetic(build, node)) return arithmetic;
  return unfuse_clamp(build, node);
}

bool is_empty(const Value* value) {
  return is_static(value->shape()) && element_count(value->shape()).is_zero();
}

/// A value without elements needs no computing; as a constant it lets its users be folded.
bool make_empty_values_constant(Graph& graph) {
  bool changed = false;
  auto nothing = [&](const Value* value, Node* before, OriginRef origin) {
    graph.set_insertion_point(before);
    Value* constant = Builder(graph, origin)
                          .constant(Constant::owned(value->dtype(), value->shape(), {}),
                                    value->type().quantisation);
    graph.set_insertion_point(nullptr);
    return constant;
  };
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr || !is_empty(input.value)) continue;
    while (!input.value->uses().empty()) {
      const Use use = input.value->uses().front();
      graph.set_operand(use.user, use.operand, nothing(input.value, use.user, use.user->origin()));
      changed = true;
    }
  }
  for (Node* node : graph) {
    if (node->is(Op::constant) || !is_empty(node->result())) continue;
    graph.replace_all_uses(node->result(), nothing(node->result(), node, node->origin()));
    graph.erase(node);
    changed = true;
  }
  return changed;
}

}  // namespace

bool apply_rules(Graph& graph, std::string (*refusal)(const Node& node),
                 std::span<const Rule> rules, size_t most_axes) {
  bool changed = make_empty_values_constant(graph);
  // What a rule builds stands before the node and is looked at once the node itself is done, so
  // that a rewrite may use ops that need rewriting in turn; but not for ever.
  constexpr int kMostRewrites = 10'000;
  int rewrites = 0;
  const Node* given = graph.first();  // the next node that no rule has built
  for (Node* node = graph.first(); node != nullptr;) {
    if (node == given) {
      given = node->next();
      rewrites = 0;
    }
    if (node->is(Op::constant) || refusal(*node).empty()) {
      node = node->next();
      continue;
    }
    Node* previous = node->previous();
    graph.set_insertion_point(node);
    Value* replacement = rewrite(Builder(graph, node->origin()), *node, rules, most_axes);
    graph.set_insertion_point(nullptr);
    if (replacement == nullptr) {
      node = node->next();
      continue;
    }
    changed = true;
    ++rewrites;
    LAYLINE_ASSERT(rewrites <= kMostRewrites, "the rules for {} have no end", name(node->op()));
    graph.replace_all_uses(node->result(), replacement);
    graph.erase(node);
    node = previous ? previous->next() : graph.first();
  }
  return changed;
}

}  // namespace layline::rewrites

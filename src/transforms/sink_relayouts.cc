// Moves relayouts below the ops that read them, where the op can work on the unmoved data: so
// relayout(a) + relayout(b) becomes relayout(a + b). The relayouts around the channels-last ops of a
// network then meet and cancel, and what is left stands at its borders.
//
// A relayout only ever moves towards the outputs, so this ends. It does not add movement: a relayout
// that others need where it is stays, unless what is put below the op meets a relayout there.
#include <algorithm>

#include "transforms/carry.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

// Values with more uses than this are not looked into: it would make the pass quadratic.
constexpr size_t kMostUses = 64;

bool all_users(const Value* value, auto&& holds) {
  return value->uses().size() <= kMostUses &&
         std::ranges::all_of(value->uses(), [&](const Use& use) { return holds(*use.user); });
}

bool is_fixed(const Node& node) {
  const OpClass op_class = info(node.op()).op_class;
  return op_class == OpClass::contraction || op_class == OpClass::window;
}

/// A pad just before a convolution or a pool stays there: the window may take it in.
bool belongs_to_window(const Node& node) {
  return node.is(Op::pad) && std::ranges::any_of(node.result()->uses(), [](const Use& use) {
           return is_fixed(*use.user);
         });
}

/// Whether a relayout of one operand may end up below the node: each other operand of full size is,
/// or may become, a relayout too. A guess, made before the others have been moved.
bool may_follow(const Node& node) {
  if (!can_carry(node.op()) || belongs_to_window(node)) return false;
  return std::ranges::all_of(node.operands(), [&](const Value* operand) {
    if (is_elementwise(node.op()) && operand->shape() != node.result()->shape()) return true;
    const Node* definition = operand->def();
    return definition != nullptr && (definition->is(Op::constant) ||
                                     definition->is(Op::relayout) || can_carry(definition->op()));
  });
}

/// Whether `value`, a relayout that `user` reads, is not needed by others where it is.
bool can_leave(const Value* value, const Node* user) {
  return value->output_uses() == 0 && all_users(value, [&](const Node& other) {
           return &other == user || other.is(Op::relayout) || may_follow(other);
         });
}

bool only_relayouts_read(const Value* value) {
  return value->output_uses() == 0 && !value->uses().empty() &&
         all_users(value, [](const Node& user) { return user.is(Op::relayout); });
}

/// An operand in its new coordinates: `relayout` of `source`.
struct Moved {
  Value* source;
  Relayout relayout;
};

/// The operand after `needed`, if that takes no movement that is not there already.
std::optional<Moved> moved_operand(Value* operand, const Relayout& needed, const Node& node) {
  if (needed.is_identity() || constant_of(operand) != nullptr) return Moved{operand, needed};
  if (const Relayout* own = relayout_of(operand)) {
    const std::optional<Relayout> both = own->then(needed);
    const bool smaller = operand->shape() != node.result()->shape();
    if (both && (both->is_view() || (smaller && !own->is_view() && operand->has_one_use())))
      return Moved{operand->def()->operand(0), *both};
  }
  if (needed.is_view()) return Moved{operand, needed};
  return std::nullopt;
}

/// Tries to move the relayout that computes operand `index` below the node.
bool sink_below(Graph& graph, Node* node, int index, PassContext& context) {
  Value* moved_value = node->operand(index);
  const Relayout relayout = *relayout_of(moved_value);
  const std::optional<Carried> carried = carry(*node, index, relayout);
  if (!carried) return false;

  std::vector<Moved> operands;
  for (int i = 0; i < node->operand_count(); ++i) {
    Value* operand = node->operand(i);
    auto moved = moved_operand(operand, carried->operands[static_cast<size_t>(i)], *node);
    if (!moved) {
      context.explain(*node, "{} stays above: {} is not moved alike", moved_value->name(),
                      operand->name());
      return false;
    }
    const Relayout* own = relayout_of(operand);
    if (own != nullptr && !own->is_view() && moved->source != operand &&
        !can_leave(operand, node) && !only_relayouts_read(node->result())) {
      context.explain(*node, "{} stays above: others read it too", operand->name());
      return false;
    }
    // A view is moved for the sake of what it separates, not at the price of other views.
    const bool adds_view = constant_of(operand) == nullptr && !moved->relayout.is_identity();
    if (relayout.is_view() && adds_view) return false;
    operands.push_back(*std::move(moved));
  }

  context.rewrite(*node, "{} moves below it", moved_value->name());
  const BuildBefore build(graph, node);
  std::vector<Value*> values;
  for (Moved& operand : operands)
    values.push_back(build.relayout(operand.source, std::move(operand.relayout)));
  Value* result = build.add(node->op(), std::move(values), carried->attributes);
  replace(graph, node,
          BuildBefore(graph, node, moved_value->def()->origin()).relayout(result, carried->result));
  return true;
}

/// The operand whose relayout decides: one that moves data if there is one. Views are moved below
/// elementwise ops only.
std::optional<int> leading_operand(const Node& node) {
  std::optional<int> view;
  for (int i = 0; i < node.operand_count(); ++i) {
    const Relayout* relayout = relayout_of(node.operand(i));
    if (relayout == nullptr) continue;
    if (is_elementwise(node.op()) && relayout->target() != node.result()->shape()) continue;
    if (!relayout->is_view()) return i;
    if (is_elementwise(node.op()) && !view) view = i;
  }
  return view;
}

}  // namespace

bool sink_relayouts(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (!can_carry(node->op()) || belongs_to_window(*node)) continue;
    if (const auto index = leading_operand(*node))
      changed = sink_below(graph, node, *index, context) || changed;
  }
  return changed;
}

}  // namespace layline

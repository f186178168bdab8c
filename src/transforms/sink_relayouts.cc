// Moves relayouts below the ops that read them, where the op can work on the unmoved data: so
// relayout(a) + relayout(b) becomes relayout(a + b). The relayouts around the channels-last ops of
// a network then meet and cancel, and what is left stands at its borders.
//
// A relayout only ever moves towards the outputs, so this ends. One that several ops read is moved
// below an op only where that should not leave more movement than before.
#include <algorithm>
#include <unordered_set>

#include "transforms/carry.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

// Values with more uses than this are not looked into: it would make the pass quadratic.
constexpr size_t kMostUses = 64;

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
    return definition != nullptr && (definition->is(Op::constant) || definition->is(Op::relayout) ||
                                     can_carry(definition->op()));
  });
}

/// The nodes below which a relayout is expected to vanish: whatever way it takes from there, it
/// meets a movement with which it is one, or a reduction, which leaves little to move.
class Settling {
 public:
  explicit Settling(const Graph& graph) {
    for (const Node* node = graph.last(); node != nullptr; node = node->previous())
      if (settles_below(*node)) nodes_.insert(node);
  }
  bool contains(const Node* node) const { return nodes_.contains(node); }

 private:
  bool settles_below(const Node& node) const {
    const Relayout* relayout = relayout_of(node.result());
    if (relayout != nullptr && !relayout->is_view()) return true;
    if (relayout == nullptr && !may_follow(node)) return false;
    if (info(node.op()).op_class == OpClass::axis &&
        node.result()->shape() != node.operand(0)->shape())
      return true;
    return node.result()->output_uses() == 0 &&
           std::ranges::all_of(node.result()->uses(),
                               [&](const Use& use) { return contains(use.user); });
  }

  std::unordered_set<const Node*> nodes_;
};

/// Whether moving the relayout `value` below `user` does not leave one movement more than before:
/// the new one vanishes, or the old one does because all its other readers let it vanish.
bool can_leave(const Value* value, const Node* user, const Settling& settling) {
  if (settling.contains(user)) return true;
  return value->output_uses() == 0 && value->uses().size() <= kMostUses &&
         std::ranges::all_of(value->uses(), [&](const Use& use) {
           return use.user == user || settling.contains(use.user);
         });
}

/// Whether some other op reads `value` through `relayout` already; merge_duplicates then makes the
/// two one.
bool is_read_through(const Value* value, const Relayout& relayout) {
  return value->uses().size() <= kMostUses &&
         std::ranges::any_of(value->uses(), [&](const Use& use) {
           const Relayout* other = relayout_of(use.user->result());
           return other != nullptr && *other == relayout;
         });
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
  if (needed.is_view() || is_read_through(operand, needed)) return Moved{operand, needed};
  return std::nullopt;
}

/// Tries to move the relayout that computes operand `index` below the node.
bool sink_below(Graph& graph, Node* node, int index, const Settling& settling,
                PassContext& context) {
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
        !can_leave(operand, node, settling)) {
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
  const Settling settling(graph);
  bool changed = false;
  for (Node* node : graph) {
    if (!can_carry(node->op()) || belongs_to_window(*node)) continue;
    if (const auto index = leading_operand(*node))
      changed = sink_below(graph, node, *index, settling, context) || changed;
  }
  return changed;
}

}  // namespace layline

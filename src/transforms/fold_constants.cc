// Computes what depends on constants only. A relayout of a constant stays a view of its bytes, with
// the movement pending; everything else goes through the reference evaluator.
#include <algorithm>

#include "ir/evaluate.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;
// Below this size a result may be larger than what it is made of: it saves work at run time.
constexpr size_t kSmallBytes = size_t{1} << 20;

/// The constant that an operand is made of. Quantised weights stay as they are, for kernels that
/// take them: where something else is computed from one, it is dequantised on the way.
const Constant* source_of(const Node& node, const Value* operand) {
  const Node* def = operand->def();
  const bool moves = info(node.op()).op_class == OpClass::movement;
  if (def != nullptr && def->is(Op::dequantize) && !moves) operand = def->operand(0);
  return stored_constant(operand);
}

/// What keeps the node from being folded, or empty.
std::string_view obstacle(const Node& node) {
  const auto multiplies = [](const Use& use) {
    return use.operand == 1 && use.user->is(Op::matmul) && matrix_of_all_batches(*use.user);
  };
  const Value* result = node.result();
  if (node.is(Op::expand) && !result->uses().empty() && result->output_uses() == 0 &&
      std::ranges::all_of(result->uses(), multiplies))
    return "products multiply all batches by one copy";
  size_t operand_bytes = 0;
  for (const Value* operand : node.operands())
    operand_bytes += source_of(node, operand)->byte_count();
  const size_t result_bytes = byte_count(result->type());
  if (operand_bytes > kMostBytes || result_bytes > kMostBytes)
    return "it is too large to be computed ahead of time";
  if (result_bytes > kSmallBytes && result_bytes > 2 * operand_bytes)
    return "its result is much larger than what it is computed from";
  return {};
}

Tensor evaluated(const Value* value) {
  if (stored_constant(value) != nullptr) return tensor_of(value);
  std::vector<Tensor> operands;
  for (const Value* operand : value->def()->operands()) operands.push_back(evaluated(operand));
  return evaluate_node(*value->def(), operands);
}

/// Cuts the integers before they are dequantised: the part is computed, and stays integers.
bool cut_before_dequantize(Graph& graph, Node* slice, PassContext& context) {
  Node* dequantize = slice->operand(0)->def();
  if (dequantize == nullptr || !dequantize->is(Op::dequantize)) return false;
  Value* integers = dequantize->operand(0);
  if (stored_constant(integers) == nullptr || !integers->type().quantisation->per_tensor())
    return false;
  context.rewrite(*slice, "cuts {} before it is dequantised", integers->name());
  const BuildBefore build(graph, slice);
  const Tensor whole = tensor_of(integers);
  Value* part = build.constant(evaluate_op(Op::slice, {&whole, 1}, slice->attributes()));
  replace(graph, slice, build.add(Op::dequantize, {part}));
  return true;
}

}  // namespace

bool fold_constants(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (node->operand_count() == 0 || !is_static(node->result()->shape())) continue;
    if (node->is(Op::dequantize)) continue;
    if (node->is(Op::slice) && cut_before_dequantize(graph, node, context)) {
      changed = true;
      continue;
    }
    bool all_constant = true;
    for (const Value* operand : node->operands())
      all_constant = all_constant && source_of(*node, operand) != nullptr;
    if (!all_constant) continue;

    const BuildBefore build(graph, node);
    if (const Relayout* relayout = relayout_of(node->result())) {
      context.rewrite(*node, "a constant is moved when it is written");
      replace(graph, node, build.relayout(node->operand(0), *relayout));
    } else if (node->is(Op::reinterpret)) {
      // The bytes stay where they are: these are the weights of quantised models.
      context.rewrite(*node, "computed at compile time");
      replace(
          graph, node,
          build.constant(*stored_constant(node->operand(0)), node->result()->type().quantisation));
    } else if (const std::string_view reason = obstacle(*node); !reason.empty()) {
      context.explain(*node, "not computed at compile time: {}", reason);
      continue;
    } else {
      context.rewrite(*node, "computed at compile time");
      replace(graph, node, build.constant(evaluated(node->result())));
    }
    changed = true;
  }
  return changed;
}

}  // namespace layline

// Runs ops on quantised numbers where the model says so: what a model writes as dequantize, op,
// quantize becomes the op on integers, which is the same by definition, rounding included
// (docs/quantisation.md). Ops between which the model does not quantise stay real.
#include <algorithm>
#include <array>
#include <cmath>

#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

Node* defining(const Value* value, Op op) {
  return value->def() && value->def()->is(op) ? value->def() : nullptr;
}

/// The quantised value that was dequantised to this one, or null.
Value* quantised_source(const Value* value) {
  Node* dequantize = defining(value, Op::dequantize);
  return dequantize ? dequantize->operand(0) : nullptr;
}

/// Whether kernels take it as an activation: 8 or 16 bits, with one scale for the whole tensor.
bool is_activation(const Value* value) {
  const QuantisationRef& quantisation = value->type().quantisation;
  return quantisation->per_tensor() && byte_size(quantisation->dtype) <= 2;
}

/// Moves integers instead of reals: fewer bytes, and dequantize comes to the op that reads it.
bool move_before_dequantize(Graph& graph, Node* node, PassContext& context) {
  Value* x = quantised_source(node->operand(0));
  const Relayout& relayout = node->attrs<RelayoutAttrs>().relayout;
  if (x == nullptr || !moved(x->type().quantisation, relayout)) return false;
  context.rewrite(*node, "moves {} before it is dequantised", x->name());
  const BuildBefore build(graph, node);
  replace(graph, node, build.add(Op::dequantize, {build.relayout(x, relayout)}));
  return true;
}

/// Makes unsigned integers signed, half of their range further down. Kernels prefer those, and
/// nobody sees the difference if only the real numbers are read.
bool make_signed(Graph& graph, Node* quantize, PassContext& context) {
  const Quantisation& own = *quantize->result()->type().quantisation;
  const std::span<const Use> uses = quantize->result()->uses();
  const bool bytes = own.dtype == DType::u8;
  if ((!bytes && own.dtype != DType::u16) || !own.per_tensor() ||
      quantize->result()->output_uses() > 0 ||
      !std::ranges::all_of(uses, [](const Use& use) { return use.user->is(Op::dequantize); }))
    return false;
  const int32_t shift = bytes ? 1 << 7 : 1 << 15;
  Quantisation shifted =
      per_tensor(bytes ? DType::i8 : DType::i16, own.scale(), own.zero_point() - shift);
  shifted.min = own.min - shift;
  shifted.max = own.max - shift;
  context.rewrite(*quantize, "is signed");
  Value* signed_value =
      BuildBefore(graph, quantize)
          .add(Op::quantize, {quantize->operand(0)}, QuantisationAttrs{std::move(shifted)});
  while (!quantize->result()->uses().empty())
    graph.set_operand(quantize->result()->uses().front().user, 0, signed_value);
  graph.erase(quantize);
  return true;
}

// ---- The op before a quantize ----

/// What stands between an op and the quantize that rounds its result: movements and clamps.
struct Rounded {
  Value* value;                        // the op's result
  std::vector<const Relayout*> moves;  // from the quantize upwards
  Bounds bounds;
};

Rounded find_rounded(const Node& quantize) {
  Rounded result{quantize.operand(0), {}, {}};
  for (;;) {
    const Node* def = result.value->def();
    if (def == nullptr || !result.value->has_one_use()) return result;
    if (const Relayout* relayout = relayout_of(result.value))
      result.moves.push_back(relayout);
    else if (def->is(Op::clamp) && !is_quantised(*def))
      result.bounds = clamped_twice(def->attrs<ClampAttrs>().bounds, result.bounds);
    else
      return result;
    result.value = def->operand(0);
  }
}

/// Whether kernels take the weight: one scale for each output channel or for all, around 0.
bool is_weight(const Value* weight) {
  if (weight == nullptr || stored_constant(weight) == nullptr) return false;
  const Quantisation& quantisation = *weight->type().quantisation;
  if (quantisation.dtype != DType::i8 || !quantisation.zero_points.empty()) return false;
  for (size_t axis = 1; axis < quantisation.dims.size(); ++axis)
    if (quantisation.dims[axis] != 1) return false;
  return true;
}

/// The operands as integers; none if the model does not have them so.
std::vector<Value*> quantised_operands(const Node& node) {
  std::vector<Value*> operands;
  // A matmul is one of two activations.
  const bool contracts = info(node.op()).op_class == OpClass::contraction && !node.is(Op::matmul);
  for (int i = 0; i < node.operand_count(); ++i) {
    Value* operand = node.operand(i);
    Value* source = operand->type().quantisation ? operand : quantised_source(operand);
    const bool is_index =
        info(node.op()).op_class == OpClass::movement && is_integer(operand->dtype());
    if ((contracts && i == 2) || (is_index && !operand->type().quantisation)) {
      // The bias is added to the sums, whose scale the kernel knows: it may be real. Indices say
      // where, and are no numbers.
      operands.push_back(operand);
    } else if (source == nullptr ||
               !(contracts && i == 1 ? is_weight(source) : is_activation(source))) {
      return {};
    } else {
      operands.push_back(source);
    }
  }
  return operands;
}

/// Whether the op's kernels can give the result any scale (`yes`), or only that of their operand
/// (`no`). `apart`: only that of their operand, but it holds the result exactly, which can then be
/// rounded to another scale.
enum class Rescales { no, yes, apart, never };

Rescales rescales(const Node& node) {
  switch (node.op()) {
    case Op::conv:
    case Op::conv_transpose:
    case Op::linear:
    case Op::matmul:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::avg_pool:
    case Op::reduce_mean:
    case Op::reduce_sum:
      return Rescales::yes;
    case Op::max_pool:
    case Op::reduce_max:
    case Op::reduce_min:
      return Rescales::apart;
    case Op::slice:
    case Op::counted_slice:
    case Op::concat:
    case Op::pad:
    case Op::expand:
    case Op::flip:
    case Op::roll:
    case Op::gather:
    case Op::gather_elements:
    case Op::scatter:
    case Op::scatter_elements:
      return Rescales::no;
    default:
      return Rescales::never;
  }
}

bool same_scale(const std::vector<Value*>& operands, const QuantisationRef& quantisation) {
  return std::ranges::all_of(operands, [&](const Value* operand) {
    const QuantisationRef& own = operand->type().quantisation;
    return own == quantisation || (!own && is_integer(operand->dtype()));
  });
}

/// The attributes with the padding number rounded, as all others are.
Attributes padded_with_rounded(PadAttrs attrs, const Quantisation& quantisation) {
  const auto value = static_cast<float>(attrs.value);
  attrs.value = static_cast<double>(quantisation.real(quantisation.quantised(value)));
  return attrs;
}

/// Whether clamping the rounded numbers is clamping them before they are rounded to another scale.
bool holds(const Quantisation& quantisation, const Bounds& bounds) {
  return std::ranges::all_of(std::array{bounds.min, bounds.max}, [&](double bound) {
    return std::isinf(bound) || static_cast<double>(quantisation.real(
                                    quantisation.quantised(static_cast<float>(bound)))) == bound;
  });
}

/// The op on integers, rounded as `quantisation` says; null where it cannot be.
Value* typed(const Builder& build, const Node& node, const QuantisationRef& quantisation,
             const Bounds& bounds) {
  if (rescales(node) == Rescales::never || is_dynamic(node.attributes())) return nullptr;
  std::vector<Value*> operands = quantised_operands(node);
  if (operands.empty()) return nullptr;
  const bool movement = info(node.op()).op_class == OpClass::movement;
  if (rescales(node) == Rescales::no && !same_scale(operands, quantisation)) return nullptr;
  const QuantisationRef& operands_own = operands[0]->type().quantisation;
  if (rescales(node) == Rescales::apart && operands_own != quantisation) {
    const Bounds* fused = bounds_of(node.attributes());
    if (fused && !holds(*operands_own, *fused)) return nullptr;
    const bool on_integers = holds(*operands_own, bounds);
    Value* y = typed(build, node, operands_own, on_integers ? bounds : Bounds{});
    y = build.add(Op::dequantize, {y});
    if (!on_integers) y = build.clamp(y, bounds.min, bounds.max);
    return build.add(Op::quantize, {y}, QuantisationAttrs{quantisation});
  }
  Attributes attributes = node.attributes();
  if (node.is(Op::pad)) attributes = padded_with_rounded(node.attrs<PadAttrs>(), *quantisation);
  if (!movement) *quantisation_of(attributes) = quantisation;
  // Two clamps that leave one number stay two: kernels of other ops take ranges only.
  Bounds* own = bounds_of(attributes);
  const Bounds both = own ? clamped_twice(*own, bounds) : bounds;
  const bool fits = own && both.min < both.max;
  if (fits) *own = both;
  Value* y = build.add(node.op(), std::move(operands), std::move(attributes));
  if (fits || bounds.unbounded()) return y;
  return build.add(Op::clamp, {y}, ClampAttrs{bounds, quantisation});
}

/// Types a clamp, or nothing, between a dequantize and a quantize of the same scale.
Value* typed_clamp(const Builder& build, const Rounded& rounded,
                   const QuantisationRef& quantisation) {
  Value* x = quantised_source(rounded.value);
  if (x == nullptr || !is_activation(x) || x->type().quantisation != quantisation) return nullptr;
  if (rounded.bounds.unbounded()) return x;
  return build.add(Op::clamp, {x}, ClampAttrs{rounded.bounds, quantisation});
}

bool type_rounded(Graph& graph, Node* quantize, PassContext& context) {
  const QuantisationRef quantisation = quantize->result()->type().quantisation;
  if (!is_activation(quantize->result())) return false;
  const Rounded rounded = find_rounded(*quantize);
  Node* op = rounded.value->def();
  if (op == nullptr) return false;
  Value* y = nullptr;
  {
    const BuildBefore build(graph, quantize, op->origin());
    y = typed_clamp(build, rounded, quantisation);
    if (y == nullptr && rounded.value->has_one_use())
      y = typed(build, *op, quantisation, rounded.bounds);
  }
  if (y == nullptr && rounded.moves.empty()) return false;
  context.rewrite(*quantize, "{} {}", y ? "rounds what is computed by" : "comes before moving",
                  op->result()->name());
  const BuildBefore build(graph, quantize);
  if (y == nullptr) {
    // Nothing runs on integers here, but fewer bytes are moved after rounding.
    y = rounded.value;
    if (!rounded.bounds.unbounded()) y = build.clamp(y, rounded.bounds.min, rounded.bounds.max);
    y = build.add(Op::quantize, {y}, quantize->attributes());
  }
  for (size_t i = rounded.moves.size(); i-- > 0;) y = build.relayout(y, *rounded.moves[i]);
  replace(graph, quantize, y);
  return true;
}

/// A linear op takes integer weights with real rows, too.
bool type_weight(Graph& graph, Node* linear, PassContext& context) {
  Value* weight = quantised_source(linear->operand(1));
  if (weight == nullptr || stored_constant(weight) == nullptr) return false;
  context.rewrite(*linear, "keeps its weight in {}", name(weight->dtype()));
  Node* dequantize = linear->operand(1)->def();
  graph.set_operand(linear, 1, weight);
  erase_unused(graph, dequantize);
  return true;
}

}  // namespace

bool type_quantised(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (node->is(Op::relayout))
      changed = move_before_dequantize(graph, node, context) || changed;
    else if (node->is(Op::linear))
      changed = type_weight(graph, node, context) || changed;
    else if (node->is(Op::quantize))
      changed = make_signed(graph, node, context) || type_rounded(graph, node, context) || changed;
  }
  return changed;
}

}  // namespace layline

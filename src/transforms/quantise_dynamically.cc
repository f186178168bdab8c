// Lets contractions quantise what they read. A model that is quantised dynamically chooses a scale
// for an activation when it runs, quantises with it and dequantises at once; kernels do the same on
// their way in, with a scale of their own for each row (linear) or image (convolutions).
//
// The kernels' scales are finer than torch's one for the whole tensor, so results differ, and are
// nearer to those of the real model: the one pass that rounds otherwise than the model does.
// Nothing can come between choosing a scale and using it, since both happen inside the op.
#include <algorithm>

#include "ir/widened.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

Node* defining(const Value* value, Op op) {
  return value->def() && value->def()->is(op) ? value->def() : nullptr;
}

/// A scale or zero point that was chosen from x, whatever its shape.
const ChooseAttrs* chosen_from(const Value* parameter, Op op, const Value* x) {
  while (relayout_of(parameter) || defining(parameter, Op::convert))
    parameter = parameter->def()->operand(0);
  const Node* choice = defining(parameter, op);
  return choice && choice->operand(0) == x ? &choice->attrs<ChooseAttrs>() : nullptr;
}

/// The value that was quantised and dequantised with scales chosen from it.
struct Source {
  Value* x = nullptr;
  std::vector<const Relayout*> moves;  // after dequantising, from the last one on
  const ChooseAttrs* choice = nullptr;
};

Source find_source(Value* value) {
  Source source;
  for (; relayout_of(value); value = value->def()->operand(0))
    source.moves.push_back(relayout_of(value));
  const Node* back = defining(value, Op::dequantize_by);
  const Node* there = back ? defining(back->operand(0), Op::quantize_by) : nullptr;
  if (there == nullptr || back->operand(1) != there->operand(1) ||
      back->operand(2) != there->operand(2))
    return {};
  Value* x = there->operand(0);
  source.choice = chosen_from(there->operand(1), Op::choose_scale, x);
  const ChooseAttrs* zero = chosen_from(there->operand(2), Op::choose_zero_point, x);
  if (source.choice == nullptr || (zero == nullptr && !source.choice->symmetric) ||
      byte_size(there->attrs<IntegerAttrs>().to) != 1)
    return {};
  source.x = x;
  return source;
}

/// Whether the model's scales cover whole rows. Kernels choose a scale for each row. A scale that
/// the model chooses for more than a row may be chosen anew for less, but not the other way round.
bool covers_rows(const Node& node, const Source& source) {
  const Shape& shape = source.x->shape();
  const Ints& axes = source.choice->axes;
  auto is_shared = [&](size_t axis) {
    return shape[axis].is_one() ||
           std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end();
  };
  size_t shared = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) shared += is_shared(axis);
  if (shared == shape.size()) return true;
  // One for each row of x: rows must still be rows where the op reads them.
  if (!node.is(Op::linear) || !is_shared(shape.size() - 1)) return false;
  const Dim length = shape.back();
  for (const Relayout* move : source.moves)
    if (move->source().empty() || move->target().empty() || move->source().back() != length ||
        move->target().back() != length ||
        (!move->is_view() && move->order().back() + 1 != std::ssize(move->factors())) ||
        (!move->is_view() && !divide(move->factors().back(), length)))
      return false;
  return true;
}

/// The quantised constant that is the weight, or null.
Value* weight_of(const Node& node) {
  Value* weight = node.operand(1);
  if (Node* dequantize = defining(weight, Op::dequantize)) weight = dequantize->operand(0);
  if (!weight->type().quantisation || stored_constant(weight) == nullptr) return nullptr;
  const Quantisation& quantisation = *weight->type().quantisation;
  if (quantisation.dtype != DType::i8 || !quantisation.zero_points.empty()) return nullptr;
  const auto& dims = quantisation.dims;
  // One scale for each output channel, or for groups along the inputs of a linear op.
  for (size_t axis = 1; axis < dims.size(); ++axis)
    if (dims[axis] != 1 && !node.is(Op::linear)) return nullptr;
  return weight;
}

/// The weight with its scales as kernels keep them: those of groups in bfloat16.
Value* with_kept_scales(const Builder& build, Value* weight) {
  Quantisation quantisation = *weight->type().quantisation;
  if (quantisation.dims.empty() || quantisation.dims.back() == 1) return weight;
  round_to_bfloat(quantisation.scales);
  return build.constant(*stored_constant(weight), std::move(quantisation));
}

/// Whether a convolution looks at one pixel at a time. It is then a linear op, and XNNPACK runs it
/// as one, with a scale for each pixel. (XNNPACK also changes the quantised activation to that for
/// all its readers, which breaks every other convolution on it: src/subgraph/convolution-2d.c.)
bool is_linear(const Node& node) {
  if (!node.is(Op::conv)) return false;
  const auto& attrs = node.attrs<ConvAttrs>();
  const auto all = [](const Ints& list, int64_t value) {
    return std::ranges::all_of(list, [&](int64_t entry) { return entry == value; });
  };
  const Shape& weight = node.operand(1)->shape();
  for (size_t axis = 1; axis + 1 < weight.size(); ++axis)
    if (!weight[axis].is_one()) return false;
  return attrs.groups == 1 && all(attrs.stride, 1) && all(attrs.low, 0) && all(attrs.high, 0);
}

/// Why the op's kernels cannot quantise x themselves; empty if they can.
std::string_view obstacle(const Node& node) {
  if (node.is(Op::conv)) {
    const auto& attrs = node.attrs<ConvAttrs>();
    if (attrs.groups > 1 && node.operand(1)->shape().back().is_one())
      return "depthwise kernels take no dynamic scales";
  }
  if (!node.is(Op::linear) && node.operand(0)->type().rank() > 4)
    return "no kernel convolves volumes with dynamic scales";
  return {};
}

bool quantise(Graph& graph, Node* node, PassContext& context) {
  const Source source = find_source(node->operand(0));
  Value* weight = source.x ? weight_of(*node) : nullptr;
  if (weight == nullptr) return false;
  if (const std::string_view why = obstacle(*node); !why.empty()) {
    context.explain(*node, "does not quantise {} itself: {}", source.x->name(), why);
    return false;
  }
  if (!covers_rows(*node, source)) {
    context.explain(*node, "does not quantise {} itself: its scales are for less than a row",
                    source.x->name());
    return false;
  }
  context.rewrite(*node, "quantises {} as it reads it", source.x->name());
  Attributes attributes = node->attributes();
  std::visit(
      [](auto& attrs) {
        if constexpr (requires { attrs.dynamic; }) attrs.dynamic = true;
      },
      attributes);
  const BuildBefore build(graph, node);
  Value* x = source.x;
  for (size_t i = source.moves.size(); i-- > 0;) x = build.relayout(x, *source.moves[i]);
  std::vector<Value*> operands = {x, with_kept_scales(build, weight)};
  if (node->operand_count() > 2) operands.push_back(node->operand(2));
  Op op = node->op();
  if (is_linear(*node)) {
    op = Op::linear;
    attributes = LinearAttrs{node->attrs<ConvAttrs>().bounds, {}, true};
    operands[1] = build.view(weight, {weight->shape().front(), weight->shape().back()});
  }
  replace(graph, node, build.add(op, std::move(operands), std::move(attributes)));
  return true;
}

/// The value that an op quantises as it reads it, if `scale` was chosen from it.
const Value* quantised_with(const Node& op, const Value* scale) {
  for (const Value* x = op.operand(0);; x = x->def()->operand(0)) {
    if (chosen_from(scale, Op::choose_scale, x)) return x;
    if (!relayout_of(x)) return nullptr;
  }
}

/// What a number has as a factor beside the scale that was chosen from x, null for 1; nothing if
/// the scale is no factor of it.
std::optional<Value*> factor_beside_scale(Value* number, const Value* x) {
  if (chosen_from(number, Op::choose_scale, x)) return nullptr;
  const Node* product = defining(number, Op::mul);
  if (product == nullptr || !product->attrs<BinaryAttrs>().bounds.unbounded()) return std::nullopt;
  for (const int side : {0, 1})
    if (chosen_from(product->operand(side), Op::choose_scale, x)) return product->operand(1 - side);
  return std::nullopt;
}

/// The sums of products of integers, as they were before they were made whole numbers of 32 bits:
/// a contraction divided by the scale of what it reads. Null if the value is no such sum.
const Node* sums_before_rounding(const Value* value) {
  constexpr double kGreatest = 0x1p31 - 0x1p7;  // as a float
  const Node* clamp = defining(value, Op::clamp);
  const Node* round = clamp ? defining(clamp->operand(0), Op::round) : nullptr;
  const Node* div = round ? defining(round->operand(0), Op::div) : nullptr;
  if (div == nullptr || !div->attrs<BinaryAttrs>().bounds.unbounded()) return nullptr;
  const Bounds& bounds = clamp->attrs<ClampAttrs>().bounds;
  return bounds.min <= -0x1p31 && bounds.max >= kGreatest ? div : nullptr;
}

/// A model of integers (ONNX's MatMulInteger) multiplies their sums by the scale of x and that of
/// the weights. Kernels give real numbers, of finer scales: they are not divided by a scale, made
/// whole and multiplied by it again, and nobody needs the scale.
bool leave_real(Graph& graph, Node* product, PassContext& context) {
  if (!product->attrs<BinaryAttrs>().bounds.unbounded()) return false;
  for (const int side : {0, 1}) {
    const Node* sums = sums_before_rounding(product->operand(side));
    if (sums == nullptr) continue;
    Value* y = sums->operand(0);
    const Value* made = y;
    while (relayout_of(made)) made = made->def()->operand(0);
    if (made->def() == nullptr || !is_dynamic(made->def()->attributes())) continue;
    const Value* x = quantised_with(*made->def(), sums->operand(1));
    const auto factor = x ? factor_beside_scale(product->operand(1 - side), x) : std::nullopt;
    const Shape given = factor && *factor ? (*factor)->shape() : Shape{};
    if (!factor || broadcast(y->shape(), given) != product->result()->shape()) continue;
    context.rewrite(*product, "multiplies {} before it is made whole", made->name());
    replace(graph, product, *factor ? BuildBefore(graph, product).add(Op::mul, {y, *factor}) : y);
    return true;
  }
  return false;
}

}  // namespace

bool quantise_dynamically(Graph& graph, PassContext& context) {
  if (!context.target().quantises_dynamically) return false;
  bool changed = false;
  for (Node* node : graph)
    if (node->is(Op::linear) || node->is(Op::conv) || node->is(Op::conv_transpose))
      changed = quantise(graph, node, context) || changed;
    else if (node->is(Op::mul))
      changed = leave_real(graph, node, context) || changed;
  return changed;
}

}  // namespace layline

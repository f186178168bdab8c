#include "targets/tosa/tosa_rewrites.h"

#include "ir/tensor.h"
#include "targets/rewrites/apply_rules.h"
#include "targets/rewrites/formulas.h"
#include "targets/rewrites/loop.h"
#include "targets/rewrites/movement.h"
#include "targets/rewrites/rank.h"
#include "targets/tosa/elementwise_rules.h"
#include "targets/tosa/index_rules.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/window_rules.h"

namespace layline::tosa {
namespace {

using rewrites::Rule;

/// Sums, then multiplies: TOSA has no mean.
Value* reduce_mean(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  double count = 1;
  for (int64_t axis : node.attrs<AxesAttrs>().axes)
    count *= static_cast<double>(x->shape()[static_cast<size_t>(axis)].value());
  Value* sum = build.add(Op::reduce_sum, {x}, node.attributes());
  return build.add(Op::mul, {sum, build.scalar(x->dtype(), 1 / count)});
}

/// exp(x - max) / sum: no exponential overflows.
Value* softmax(const Builder& build, const Node& node) {
  const AxesAttrs axes{{node.attrs<AxisAttrs>().axis}};
  Value* x = node.operand(0);
  Value* e = build.add(Op::exp, {build.add(Op::sub, {x, build.add(Op::reduce_max, {x}, axes)})});
  Value* sum = build.add(Op::reduce_sum, {e}, axes);
  return build.add(Op::mul, {e, build.add(Op::reciprocal, {sum})});
}

/// Sums quantised numbers over a window that ends at each place: a convolution with ones, which
/// runs on integers and rounds once.
Value* quantised_cumsum(const Builder& build, Value* x, size_t axis) {
  const Shape& shape = x->shape();
  const auto outer = product(std::span(shape).first(axis)),
             inner = product(std::span(shape).subspan(axis + 1));
  const int64_t length = shape[axis].value();
  Tensor ones({DType::i8, {1, Dim(length), 1, 1}, per_tensor(DType::i8, 1, 0)});
  for (int64_t i = 0; i < length; ++i) ones.set_int(i, 1);
  ConvAttrs attrs;
  attrs.stride = attrs.dilation = {1, 1};
  attrs.low = {length - 1, 0};
  attrs.high = {0, 0};
  Value* image = build.view(x, {outer, shape[axis], inner, 1});
  Value* weight = build.add(Op::dequantize, {build.constant(ones)});
  return build.view(build.add(Op::conv, {image, weight}, std::move(attrs)), shape);
}

/// After step s every element is the sum of the 2^s before and at it (Hillis & Steele).
Value* cumsum(const Builder& build, const Node& node) {
  const int64_t axis = node.attrs<AxisAttrs>().axis;
  const Node* source = node.operand(0)->def();
  if (source && source->is(Op::dequantize))
    return quantised_cumsum(build, node.operand(0), static_cast<size_t>(axis));
  Value* x = build.convert(node.operand(0), node.result()->dtype());
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  for (int64_t shift = 1; shift < length.value(); shift *= 2) {
    PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 0};
    pad.low[static_cast<size_t>(axis)] = shift;
    Value* before = build.slice(x, axis, 0, Dim(length.value() - shift));
    x = build.add(Op::add, {x, build.add(Op::pad, {before}, std::move(pad))});
  }
  return x;
}

Value* argmin(const Builder& build, const Node& node) {
  return build.add(Op::argmax, {build.add(Op::neg, {node.operand(0)})}, node.attributes());
}

/// Whole numbers below 2^24 are floats.
Value* argmax(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (is_float(x->dtype())) return nullptr;
  return build.add(Op::argmax, {build.convert(x, DType::f32)}, node.attributes());
}

Value* transpose_in_steps(const Builder& build, const Node& node) {
  return rewrites::transpose_in_steps(build, node, kMostAxes);
}

/// Expands axis by axis. Neighbouring axes of one kind are one axis, so that six are enough.
Value* expand(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  const Shape& to = node.result()->shape();
  if (to.size() <= kMostAxes) return nullptr;
  Shape from(to.size() - x->shape().size(), Dim(1));
  from.insert(from.end(), x->shape().begin(), x->shape().end());
  for (size_t a = 0; a < to.size(); ++a) {
    if (from[a] == to[a]) continue;
    const Dim outer = product(std::span(from).first(a)),
              inner = product(std::span(from).subspan(a + 1));
    x = build.expand(build.view(x, {outer, 1, inner}), {outer, to[a], inner});
    from[a] = to[a];
  }
  return build.view(x, to);
}

/// Every element of a slice has its own index.
Value* scatter(const Builder& build, const Node& node) {
  Value* updates = node.operand(2);
  Value* indices = build.expand(node.operand(1), updates->shape());
  return build.add(Op::scatter_elements, {node.operand(0), indices, updates}, node.attributes());
}

/// TOSA broadcasts between tensors of one rank.
Value* with_one_rank(const Builder& build, const Node& node) {
  if (!is_elementwise(node.op())) return nullptr;
  const size_t rank = node.result()->shape().size();
  std::vector<Value*> operands(node.operands().begin(), node.operands().end());
  bool changed = false;
  for (Value*& operand : operands) {
    if (operand->shape().size() == rank) continue;
    Shape shape(rank - operand->shape().size(), Dim(1));
    shape.insert(shape.end(), operand->shape().begin(), operand->shape().end());
    operand = build.view(operand, std::move(shape));
    changed = true;
  }
  return changed ? build.add(node.op(), std::move(operands), node.attributes()) : nullptr;
}

/// Computes with narrow integers and truth values as 32-bit integers, and with numbers as truth
/// values if the operator takes only those.
Value* with_wider_type(const Builder& build, const Node& node) {
  const Kernel* kernel = find_kernel(node.op());
  if (kernel == nullptr || node.is(Op::convert) || node.is(Op::where)) return nullptr;
  const DType dtype = node.operand(0)->dtype();
  const unsigned own = kind(dtype);
  if ((kernel->types & own) != 0 || own == kFloat) return nullptr;
  DType wider = DType::i32;
  if (kernel->types == kBool) wider = DType::boolean;
  if ((kernel->types & kind(wider)) == 0) return nullptr;
  std::vector<Value*> operands(node.operands().begin(), node.operands().end());
  for (Value*& operand : operands)
    if (operand->dtype() == dtype) operand = build.convert(operand, wider);
  Value* y = build.add(node.op(), std::move(operands), node.attributes());
  return build.convert(y, node.result()->dtype());
}

constexpr Rule kRules[] = {
    {std::nullopt, with_one_rank},
    {std::nullopt, with_wider_type},
    {Op::relayout, transpose_in_steps},
    {Op::expand, expand},
    {Op::slice, rewrites::legal_slice},
    {Op::concat, rewrites::legal_concat},
    {Op::pad, rewrites::legal_pad},
    {Op::counted_slice, rewrites::fixed_count},
    {Op::roll, rewrites::legal_roll},
    {Op::scatter, scatter},
    {Op::scatter_elements, scatter_number},
    {Op::scatter_add, scatter_add},
    {Op::argsort, argsort},
    {Op::grid_sample, grid_sample},
    {Op::div, quotient},
    {Op::floor_div, floored_quotient},
    {Op::remainder, remainder},
    {Op::fmod, remainder_of_magnitudes},
    {Op::pow, power},
    {Op::prelu, prelu},
    {Op::left_shift, shift_in_range},
    {Op::right_shift, shift_in_range},
    {Op::atan, atan},
    {Op::atan2, atan2},
    {Op::asin, asin},
    {Op::acos, acos},
    {Op::sinh, sinh},
    {Op::cosh, cosh},
    {Op::asinh, asinh},
    {Op::acosh, acosh},
    {Op::atanh, atanh},
    {Op::expm1, expm1},
    {Op::log1p, log1p},
    {Op::sqrt, square_root},
    {Op::round, round},
    {Op::trunc, trunc},
    {Op::floor, whole_number},
    {Op::ceil, whole_number},
    {Op::square, square},
    {Op::sign, sign},
    {Op::hardswish, hardswish},
    {Op::gelu, rewrites::gelu_tanh},
    {Op::gelu, gelu_erf},
    {Op::elu, elu},
    {Op::leaky_relu, leaky_relu},
    {Op::clamp, integer_clamp},
    {Op::convert, convert_by_integers},
    {Op::matmul, matmul, true},
    {Op::conv, conv, true},
    {Op::conv_transpose, conv_transpose},
    {Op::max_pool, pool, true},
    {Op::avg_pool, pool, true},
    {Op::resize, resize},
    {Op::reduce_mean, reduce_mean},
    {Op::argmax, argmax},
    {Op::argmin, argmin},
    {Op::softmax, softmax},
    {Op::causal_attention, rewrites::causal_attention},
    {Op::scan, rewrites::unrolled_scan},
    {Op::log_softmax, rewrites::log_softmax},
    {Op::cumsum, cumsum},
    {Op::normalize, rewrites::normalize},
};

}  // namespace

bool legalise(Graph& graph) { return rewrites::apply_rules(graph, refusal, kRules, kMostAxes); }

}  // namespace layline::tosa

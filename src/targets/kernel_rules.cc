#include "targets/kernel_rules.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "ir/tensor.h"
#include "targets/kernel_calls.h"
#include "targets/rewrites/formulas.h"
#include "targets/rewrites/movement.h"
#include "targets/rewrites/window.h"

namespace layline {
namespace {

using rewrites::Rule;

Dim product_of(const Shape& shape, size_t first, size_t last) {
  return product(std::span(shape).subspan(first, last - first));
}

/// Turns a product into one of two matrices, or of two lists of as many matrices.
Value* matmul(const Builder& build, const Node& node) {
  Value* a = node.operand(0);
  Value* b = node.operand(1);
  if (node.attrs<MatmulAttrs>().transpose_b) {
    std::vector<int> order(b->shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order.end()[-1], order.end()[-2]);
    return build.add(Op::matmul, {a, build.permute(b, order)}, MatmulAttrs{});
  }
  const Shape& result = node.result()->shape();
  if (result.size() == 2 || (result.size() == 3 && a->shape()[0] == result[0] &&
                             a->type().rank() == b->type().rank() && b->shape()[0] == result[0]))
    return nullptr;
  const Shape batch(result.begin(), result.end() - 2);
  auto listed = [&](Value* x) {
    Shape shape = batch;
    shape.insert(shape.end(), x->shape().end() - 2, x->shape().end());
    x = build.expand(x, shape);
    return build.view(x, {product(batch), shape.end()[-2], shape.end()[-1]});
  };
  return build.view(build.add(Op::matmul, {listed(a), listed(b)}, MatmulAttrs{}), result);
}

Value* linear(const Builder& build, const Node& node) {
  static constexpr int kSwap[] = {1, 0};
  Value* x = node.operand(0);
  const Dim rows = product_of(x->shape(), 0, x->shape().size() - 1);
  Value* y = build.add(
      Op::matmul, {build.view(x, {rows, x->shape().back()}), build.permute(node.operand(1), kSwap)},
      MatmulAttrs{});
  if (node.operand_count() > 2) y = build.add(Op::add, {y, node.operand(2)});
  y = build.view(y, node.result()->shape());
  const Bounds& bounds = node.attrs<LinearAttrs>().bounds;
  return bounds.unbounded() ? y : build.clamp(y, bounds.min, bounds.max);
}

/// The padding of spatial axes as an op of its own.
template <typename Attrs>
Value* padded(const Builder& build, Value* x, Attrs& attrs, double with) {
  PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, with};
  for (size_t i = 0; i < attrs.low.size(); ++i) {
    pad.low[i + 1] = std::exchange(attrs.low[i], 0);
    pad.high[i + 1] = std::exchange(attrs.high[i], 0);
  }
  return build.add(Op::pad, {x}, std::move(pad));
}

bool is_padded(const Ints& low, const Ints& high) {
  const auto any = [](int64_t size) { return size > 0; };
  return std::ranges::any_of(low, any) || std::ranges::any_of(high, any);
}

Value* conv(const Builder& build, const Node& node) {
  if (Value* y = rewrites::legal_conv(build, node)) return y;
  ConvAttrs attrs = node.attrs<ConvAttrs>();
  if (attrs.low == attrs.high) return nullptr;
  std::vector<Value*> operands(node.operands().begin(), node.operands().end());
  operands[0] = padded(build, operands[0], attrs, 0);
  return build.add(Op::conv, std::move(operands), std::move(attrs));
}

Value* max_pool(const Builder& build, const Node& node) {
  if (Value* y = rewrites::legal_pool(build, node)) return y;
  PoolAttrs attrs = node.attrs<PoolAttrs>();
  if (!is_padded(attrs.low, attrs.high)) return nullptr;
  Value* x = padded(build, node.operand(0), attrs, -std::numeric_limits<double>::infinity());
  return build.add(Op::max_pool, {x}, std::move(attrs));
}

/// For each window, the number of all elements divided by that of elements outside the padding.
Constant padding_ratio(const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  const Shape& in = node.operand(0)->shape();
  const Shape& out = node.result()->shape();
  Tensor ratio({node.result()->dtype(), {out[1], out[2], 1}});
  auto inside = [&](size_t axis, int64_t window) {
    const int64_t start = window * attrs.stride[axis] - attrs.low[axis];
    return std::min(start + attrs.kernel[axis], in[axis + 1].value()) - std::max<int64_t>(start, 0);
  };
  for (int64_t i = 0; i < out[1].value(); ++i)
    for (int64_t j = 0; j < out[2].value(); ++j)
      ratio.set(i * out[2].value() + j, static_cast<double>(attrs.kernel[0] * attrs.kernel[1]) /
                                            static_cast<double>(inside(0, i) * inside(1, j)));
  return Constant::of(ratio);
}

Value* avg_pool(const Builder& build, const Node& node) {
  if (Value* y = rewrites::legal_pool(build, node)) return y;
  PoolAttrs attrs = node.attrs<PoolAttrs>();
  if (!is_padded(attrs.low, attrs.high) || !attrs.bounds.unbounded()) return nullptr;
  const bool dynamic =
      !is_static(Shape(node.operand(0)->shape().begin() + 1, node.operand(0)->shape().end()));
  if (dynamic && !attrs.count_padding) return nullptr;
  Value* x = padded(build, node.operand(0), attrs, 0);
  Value* y = build.add(Op::avg_pool, {x}, attrs);
  return attrs.count_padding ? y : build.add(Op::mul, {y, build.constant(padding_ratio(node))});
}

/// x * clamp(x + 3, 0, 6) / 6.
Value* hardswish(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  Value* gate = build.clamp(build.add(Op::add, {x, build.scalar(x->dtype(), 3)}), 0, 6);
  return build.add(Op::div, {build.add(Op::mul, {x, gate}), build.scalar(x->dtype(), 6)});
}

Value* prelu(const Builder& build, const Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value* x = node.operand(0);
  Value* negative = build.add(Op::mul, {build.clamp(x, -kInfinity, 0), node.operand(1)});
  return build.add(Op::add, {build.clamp(x, 0, kInfinity), negative});
}

/// a - floor(a / b) * b.
Value* remainder(const Builder& build, const Node& node) {
  Value* quotient = build.add(Op::floor_div, {node.operand(0), node.operand(1)});
  return build.add(Op::sub, {node.operand(0), build.add(Op::mul, {quotient, node.operand(1)})});
}

/// The kernel takes the product along one axis.
Value* reduce_prod(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (node.attrs<AxesAttrs>().axes.size() < 2) return nullptr;
  for (int64_t axis : node.attrs<AxesAttrs>().axes)
    x = build.add(Op::reduce_prod, {x}, AxesAttrs{{axis}});
  return x;
}

/// The kernel takes a list of indices.
Value* gather(const Builder& build, const Node& node) {
  Value* indices = node.operand(1);
  if (indices->type().rank() == 1) return nullptr;
  Value* flat = build.view(indices, {element_count(indices->shape())});
  Value* y = build.add(Op::gather, {node.operand(0), flat}, node.attributes());
  return build.view(y, node.result()->shape());
}

/// A node that kernels refuse for another reason is tried with neighbouring axes merged, if it has
/// more axes than this.
constexpr size_t kMostAxes = 6;

// What a rule builds is looked at again, so each gives something simpler than it was given, or
// null.
constexpr Rule kRules[] = {
    {Op::matmul, matmul},
    {Op::linear, linear},
    {Op::conv, conv},
    {Op::conv_transpose, rewrites::legal_conv_transpose},
    {Op::max_pool, max_pool},
    {Op::avg_pool, avg_pool},
    {Op::hardswish, hardswish},
    {Op::prelu, prelu},
    {Op::normalize, rewrites::normalize},
    {Op::log_softmax, rewrites::log_softmax},
    {Op::remainder, remainder},
    {Op::reduce_prod, reduce_prod},
    {Op::gather, gather},
    {Op::counted_slice, rewrites::fixed_count},
    {Op::pad, rewrites::legal_pad},
    {Op::resize, rewrites::legal_resize},
};

}  // namespace

std::span<const Rule> kernel_rules() { return kRules; }

bool legalise_for_kernels(Graph& graph) {
  return rewrites::apply_rules(graph, kernel_refusal, kRules, kMostAxes);
}

}  // namespace layline

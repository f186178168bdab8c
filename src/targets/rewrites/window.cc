#include "targets/rewrites/window.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "targets/rewrites/weights.h"

namespace layline::rewrites {
namespace {

Shape with_unit_height(const Shape& shape) {  // [N, L, C] to [N, 1, L, C]
  Shape result = shape;
  result.insert(result.begin() + 1, Dim(1));
  return result;
}

/// Makes two spatial axes of one; the first has length 1.
template <typename Attrs>
Attrs two_axes(Attrs attrs) {
  attrs.stride.insert(attrs.stride.begin(), 1);
  attrs.dilation.insert(attrs.dilation.begin(), 1);
  attrs.low.insert(attrs.low.begin(), 0);
  attrs.high.insert(attrs.high.begin(), 0);
  if constexpr (requires { attrs.extra; }) attrs.extra.insert(attrs.extra.begin(), 0);
  if constexpr (requires { attrs.kernel; }) attrs.kernel.insert(attrs.kernel.begin(), 1);
  return attrs;
}

template <typename Attrs>
Value* one_spatial_axis(const Builder& build, const Node& node) {
  if (node.operand(0)->shape().size() != 3) return nullptr;
  std::vector<Value*> operands(node.operands().begin(), node.operands().end());
  for (size_t i = 0; i < operands.size() && i < 2; ++i)
    operands[i] = build.view(operands[i], with_unit_height(operands[i]->shape()));
  Value* y = build.add(node.op(), std::move(operands), two_axes(node.attrs<Attrs>()));
  return build.view(y, node.result()->shape());
}

/// Convolves [N, D, H, W, C] as the sum, over the window's depth, of convolutions in the plane,
/// each over the images of one tap, [N D', H, W, C].
Value* conv_by_depth(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  const Value* weight = node.operand(1);
  if (x->shape().size() != 5 || !constant_of(weight)) return nullptr;
  ConvAttrs attrs = node.attrs<ConvAttrs>();
  const Bounds bounds = std::exchange(attrs.bounds, Bounds{});
  if (attrs.low[0] > 0 || attrs.high[0] > 0) {
    PadAttrs pad{Ints(5, 0), Ints(5, 0), PadMode::constant, 0};
    pad.low[1] = attrs.low[0];
    pad.high[1] = attrs.high[0];
    x = build.add(Op::pad, {x}, std::move(pad));
  }
  const int64_t stride = attrs.stride[0], dilation = attrs.dilation[0];
  for (Ints* list : {&attrs.stride, &attrs.dilation, &attrs.low, &attrs.high})
    list->erase(list->begin());
  const Shape& result = node.result()->shape();
  const Shape planes = {x->shape()[0] * result[1], x->shape()[2], x->shape()[3], x->shape()[4]};
  const Shape& window = weight->shape();
  Value* sum = nullptr;
  for (int64_t d = 0; d < window[1].value(); ++d) {
    Value* images = build.view(build.slice(x, 1, d * dilation, result[1], stride), planes);
    Value* tap = build.slice(node.operand(1), 1, d, 1);
    std::vector<Value*> operands = {images,
                                    build.view(tap, {window[0], window[2], window[3], window[4]})};
    if (d == 0 && node.operand_count() > 2) operands.push_back(node.operand(2));
    Value* part = build.add(Op::conv, std::move(operands), attrs);
    sum = sum ? build.add(Op::add, {sum, part}) : part;
  }
  if (!bounds.unbounded()) sum = build.clamp(sum, bounds.min, bounds.max);
  return build.view(sum, result);
}

/// Pools [N, D, H, W, C] in the plane of each of N D images, then along the depth of [N, D, H' W',
/// C]. Both maxima and averages can be taken axis by axis; averages divide by the number of
/// elements on each axis.
Value* pool_by_depth(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (x->shape().size() != 5) return nullptr;
  PoolAttrs plane = node.attrs<PoolAttrs>(), depth = plane;
  plane.bounds = {};
  for (Ints PoolAttrs::*list : {&PoolAttrs::kernel, &PoolAttrs::stride, &PoolAttrs::dilation,
                                &PoolAttrs::low, &PoolAttrs::high}) {
    (plane.*list).erase((plane.*list).begin());
    const bool is_padding = list == &PoolAttrs::low || list == &PoolAttrs::high;
    depth.*list = {(depth.*list)[0], is_padding ? 0 : 1};
  }
  const Shape& in = x->shape();
  const Shape& out = node.result()->shape();
  x = build.add(node.op(), {build.view(x, {in[0] * in[1], in[2], in[3], in[4]})}, std::move(plane));
  x = build.view(x, {in[0], in[1], out[2] * out[3], out[4]});
  return build.view(build.add(node.op(), {x}, std::move(depth)), out);
}

/// x with stride - 1 zeros between neighbours of a spatial axis.
Value* spread(const Builder& build, Value* x, size_t axis, int64_t stride) {
  if (stride == 1) return x;
  Shape shape = x->shape();
  const Dim outer = product(std::span(shape).first(axis + 1)),
            inner = product(std::span(shape).subspan(axis + 1));
  PadAttrs zeros{{0, 0, 0}, {0, stride - 1, 0}, PadMode::constant, 0};
  x = build.add(Op::pad, {build.view(x, {outer, 1, inner})}, std::move(zeros));
  const int64_t length = shape[axis].value();
  shape[axis] = length * stride;
  x = build.view(x, shape);
  return build.slice(x, static_cast<int64_t>(axis), 0, (length - 1) * stride + 1);
}

/// The kernel from its end. A constant is reversed at once, since integers are convolved with
/// constants only.
Value* reversed(const Builder& build, Value* weight, AxesAttrs axes) {
  if (!is_plain_weight(weight)) return build.add(Op::flip, {weight}, std::move(axes));
  const Tensor numbers = numbers_of(weight);
  return weight_of(build, weight, evaluate_op(Op::flip, std::span(&numbers, 1), axes));
}

}  // namespace

Value* legal_conv(const Builder& build, const Node& node) {
  if (Value* y = one_spatial_axis<ConvAttrs>(build, node)) return y;
  return conv_by_depth(build, node);
}

Value* transposed_as_conv(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  const Shape& weight = node.operand(1)->shape();
  ConvAttrs conv;
  conv.groups = attrs.groups;
  conv.bounds = attrs.bounds;
  conv.quantisation = attrs.quantisation;
  conv.dilation = attrs.dilation;
  Value* x = node.operand(0);
  AxesAttrs spatial;
  for (size_t i = 0; i < attrs.stride.size(); ++i) {
    const auto axis = static_cast<int64_t>(i) + 1;
    spatial.axes.push_back(axis);
    x = spread(build, x, i + 1, attrs.stride[i]);
    const int64_t reach = (weight[i + 1].value() - 1) * attrs.dilation[i];
    const int64_t low = reach - attrs.low[i], high = reach - attrs.high[i] + attrs.extra[i];
    const int64_t size = x->shape()[i + 1].value();
    const int64_t cut_low = std::max<int64_t>(-low, 0), cut_high = std::max<int64_t>(-high, 0);
    x = build.slice(x, axis, cut_low, size - cut_low - cut_high);
    conv.stride.push_back(1);
    conv.low.push_back(std::max<int64_t>(low, 0));
    conv.high.push_back(std::max<int64_t>(high, 0));
  }
  std::vector<Value*> operands(node.operands().begin(), node.operands().end());
  operands[0] = x;
  operands[1] = reversed(build, operands[1], std::move(spatial));
  return build.add(Op::conv, std::move(operands), std::move(conv));
}

Value* legal_conv_transpose(const Builder& build, const Node& node) {
  if (Value* y = one_spatial_axis<ConvTransposeAttrs>(build, node)) return y;
  const Value* x = node.operand(0);
  return x->shape().size() == 5 && is_static(x->shape()) && !x->type().quantisation &&
                 constant_of(node.operand(1))
             ? transposed_as_conv(build, node)
             : nullptr;
}

Value* legal_pool(const Builder& build, const Node& node) {
  if (Value* y = one_spatial_axis<PoolAttrs>(build, node)) return y;
  if (Value* y = pool_by_depth(build, node)) return y;
  const auto& attrs = node.attrs<PoolAttrs>();
  const bool one_by_one = std::ranges::all_of(attrs.kernel, [](int64_t k) { return k == 1; });
  const bool padded = std::ranges::any_of(attrs.low, [](int64_t p) { return p > 0; });
  if (!one_by_one || padded || !attrs.bounds.unbounded()) return nullptr;
  SliceAttrs every{Ints(node.result()->shape().size(), 0), node.result()->shape(),
                   Ints(node.result()->shape().size(), 1)};
  std::ranges::copy(attrs.stride, every.step.begin() + 1);
  return build.add(Op::slice, {node.operand(0)}, std::move(every));
}

}  // namespace layline::rewrites

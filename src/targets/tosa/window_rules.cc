#include "targets/tosa/window_rules.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "targets/rewrites/weights.h"
#include "targets/rewrites/window.h"

namespace layline::tosa {
namespace {

Dim product_of(const Shape& shape, size_t first, size_t last) {
  return product(std::span(shape).subspan(first, last - first));
}

Value* padded(const Builder& build, Value* x, size_t axis, int64_t low, int64_t high,
              double value = 0) {
  if (low == 0 && high == 0) return x;
  PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, value};
  pad.low[axis] = low;
  pad.high[axis] = high;
  return build.add(Op::pad, {x}, std::move(pad));
}

/// Removes the rest of a padded operand that no window reads: first padding after it, then operand.
/// Returns whether there is one.
template <typename Attrs>
bool trim(const Builder& build, Value*& x, Attrs& attrs, const Ints& kernel) {
  bool changed = false;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t size = x->shape()[i + 1].value();
    const int64_t reach = (kernel[i] - 1) * attrs.dilation[i] + 1;
    const int64_t rest = (size + attrs.low[i] + attrs.high[i] - reach) % attrs.stride[i];
    if (rest == 0) continue;
    changed = true;
    const int64_t from_padding = std::min(rest, attrs.high[i]);
    attrs.high[i] -= from_padding;
    if (size <= rest - from_padding) {  // no window reads anything but zeros
      x = padded(build, x, i + 1, attrs.low[i], 0);
      size += std::exchange(attrs.low[i], 0);
    }
    x = build.slice(x, static_cast<int64_t>(i) + 1, 0, size - (rest - from_padding));
  }
  return changed;
}

std::vector<Value*> operands_of(const Node& node) {
  return {node.operands().begin(), node.operands().end()};
}

/// `count` output channels of a weight or a bias, with their scales if it is quantised. A constant
/// is cut at once, since integers are convolved with constants only.
Value* channels_of(const Builder& build, Value* weight, int64_t first, int64_t count) {
  const Constant* stored = stored_constant(weight);
  if (stored == nullptr) return build.slice(weight, 0, first, count);
  const std::vector<std::byte> bytes = stored->bytes();
  const auto size = static_cast<std::ptrdiff_t>(bytes.size()) / stored->shape()[0].value();
  Shape shape = weight->shape();
  shape[0] = count;
  QuantisationRef quantisation = weight->type().quantisation;
  if (quantisation && !quantisation->dims.empty()) {
    Quantisation part = *quantisation;
    part.dims[0] = count;
    part.scales = {part.scales.begin() + first, part.scales.begin() + first + count};
    quantisation = std::move(part);
  }
  return build.constant(
      Constant::owned(stored->dtype(), std::move(shape),
                      {bytes.begin() + first * size, bytes.begin() + (first + count) * size}),
      std::move(quantisation));
}

/// The convolution of each group on its own, channels-last throughout: slices and a concatenation
/// along the channels, and no permute.
template <typename Attrs>
Value* by_groups(const Builder& build, const Node& node) {
  const QuantisationRef& weights = node.operand(1)->type().quantisation;
  if (weights && (!stored_constant(node.operand(1)) || !weights->zero_points.empty() ||
                  !std::all_of(weights->dims.begin() + !weights->dims.empty(), weights->dims.end(),
                               [](int64_t dim) { return dim == 1; })))
    return nullptr;
  Attrs attrs = node.attrs<Attrs>();
  const int64_t groups = attrs.groups;
  if (groups == 1) return nullptr;
  attrs.groups = 1;
  const auto last = static_cast<int64_t>(node.operand(0)->shape().size()) - 1;
  const int64_t inputs = node.operand(0)->shape().back().value() / groups;
  const int64_t outputs = node.operand(1)->shape()[0].value() / groups;
  std::vector<Value*> parts;
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<Value*> operands = {build.slice(node.operand(0), last, g * inputs, inputs),
                                    channels_of(build, node.operand(1), g * outputs, outputs)};
    if (node.operand_count() > 2)
      operands.push_back(channels_of(build, node.operand(2), g * outputs, outputs));
    parts.push_back(build.add(node.op(), std::move(operands), attrs));
  }
  return build.concat(std::move(parts), last);
}

/// Computes the full result, and cuts the wanted part out of it.
Value* crop_apart(const Builder& build, const Node& node) {
  ConvTransposeAttrs attrs = node.attrs<ConvTransposeAttrs>();
  const Ints low = std::exchange(attrs.low, Ints(attrs.low.size(), 0));
  attrs.high = Ints(attrs.high.size(), 0);
  Value* y = build.add(Op::conv_transpose, operands_of(node), std::move(attrs));
  for (size_t i = 0; i < low.size(); ++i)
    y = build.slice(y, static_cast<int64_t>(i) + 1, low[i], node.result()->shape()[i + 1]);
  return y;
}

/// The largest of several values, place by place. MAXIMUM takes no narrow integers; REDUCE_MAX
/// does.
Value* largest_of(const Builder& build, const std::vector<Value*>& values) {
  const QuantisationRef& quantisation = values[0]->type().quantisation;
  Value* most = values[0];
  if (!quantisation) {
    for (size_t i = 1; i < values.size(); ++i) most = build.add(Op::maximum, {most, values[i]});
    return most;
  }
  std::vector<Value*> rows;
  for (Value* value : values) rows.push_back(build.view(value, {1, element_count(value->shape())}));
  most =
      build.add(Op::reduce_max, {build.concat(std::move(rows), 0)}, AxesAttrs{{0}, quantisation});
  return build.view(most, values[0]->shape());
}

/// Maxima axis by axis, of the elements that each tap of the window sees.
Value* dilated_max_pool(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  const QuantisationRef& quantisation = node.result()->type().quantisation;
  const double least = quantisation ? static_cast<double>(quantisation->real(quantisation->min))
                                    : -std::numeric_limits<double>::infinity();
  Value* x = node.operand(0);
  for (size_t i = 0; i < attrs.kernel.size(); ++i) {
    x = padded(build, x, i + 1, attrs.low[i], attrs.high[i], least);
    std::vector<Value*> seen;
    for (int64_t tap = 0; tap < attrs.kernel[i]; ++tap)
      seen.push_back(build.slice(x, static_cast<int64_t>(i) + 1, tap * attrs.dilation[i],
                                 node.result()->shape()[i + 1], attrs.stride[i]));
    x = largest_of(build, seen);
  }
  if (attrs.bounds.unbounded()) return x;
  return build.add(Op::clamp, {x}, ClampAttrs{attrs.bounds, quantisation});
}

Value* indices(const Builder& build, const Ints& values) {
  Tensor tensor({DType::i32, {Dim(static_cast<int64_t>(values.size()))}});
  for (size_t i = 0; i < values.size(); ++i) tensor.set_int(static_cast<int64_t>(i), values[i]);
  return build.constant(tensor);
}

/// What each place of a resized axis is made of, as the evaluator resizes the places' numbers.
std::vector<double> coordinates(const ResizeAttrs& all, size_t axis, int64_t length) {
  ResizeAttrs attrs = all;
  attrs.size = {attrs.size[axis], 1};
  attrs.step = {attrs.step[axis], 1};
  Tensor numbers({DType::f64, {1, Dim(length), 1, 1}});
  for (int64_t i = 0; i < length; ++i) numbers.set(i, static_cast<double>(i));
  const Tensor result = evaluate_op(Op::resize, std::span(&numbers, 1), attrs);
  std::vector<double> values;
  for (int64_t i = 0; i < result.count(); ++i) values.push_back(result.get(i));
  return values;
}

/// Gathers rows; if it interpolates, those on both sides.
Value* resized_axis(const Builder& build, Value* x, const ResizeAttrs& attrs, size_t axis) {
  const int64_t length = x->shape()[axis + 1].value();
  const std::vector<double> places = coordinates(attrs, axis, length);
  Ints first, second;
  Tensor weights({x->dtype(), {Dim(static_cast<int64_t>(places.size())), 1, 1}});
  for (size_t i = 0; i < places.size(); ++i) {
    first.push_back(static_cast<int64_t>(places[i]));
    second.push_back(std::min(first.back() + 1, length - 1));
    weights.set(static_cast<int64_t>(i), places[i] - static_cast<double>(first.back()));
  }
  const AxisAttrs along{static_cast<int64_t>(axis) + 1};
  Value* low = build.add(Op::gather, {x, indices(build, first)}, along);
  if (attrs.mode == ResizeMode::nearest) return low;
  Value* high = build.add(Op::gather, {x, indices(build, second)}, along);
  Value* weight = build.constant(weights);
  if (axis == 1) weight = build.view(weight, {weight->shape()[0], 1});
  return build.add(Op::add, {low, build.add(Op::mul, {build.add(Op::sub, {high, low}), weight})});
}

}  // namespace

/// Gives both operands one batch axis of the same size, and b the shape [N, C, W].
Value* matmul(const Builder& build, const Node& node) {
  Value* a = node.operand(0);
  Value* b = node.operand(1);
  if (!is_float(a->dtype()) && !is_quantised(node)) return nullptr;
  const MatmulAttrs attrs{false, node.attrs<MatmulAttrs>().quantisation};
  if (node.attrs<MatmulAttrs>().transpose_b) {
    std::vector<int> order(b->shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return build.add(Op::matmul, {a, build.permute(b, order)}, attrs);
  }
  const Shape& result = node.result()->shape();
  const size_t batch_axes = result.size() - 2;
  const Dim batch = product_of(result, 0, batch_axes), rows = result[batch_axes];
  const Dim k = a->shape().back(), n = result.back();
  Value* y = nullptr;
  if (product_of(b->shape(), 0, b->shape().size() - 2).is_one()) {
    // The rows of all batches are multiplied alike.
    y = build.add(Op::matmul, {build.view(a, {1, batch * rows, k}), build.view(b, {1, k, n})},
                  attrs);
  } else {
    const auto batched = [&](Value* x, const Dim& height, const Dim& width) {
      Shape shape(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(batch_axes));
      shape.push_back(height);
      shape.push_back(width);
      return build.view(build.expand(x, std::move(shape)), {batch, height, width});
    };
    y = build.add(Op::matmul, {batched(a, rows, k), batched(b, k, n)}, attrs);
  }
  return build.view(y, result);
}

Value* conv(const Builder& build, const Node& node) {
  if (node.operand(0)->shape().size() == 3) return rewrites::legal_conv(build, node);
  ConvAttrs attrs = node.attrs<ConvAttrs>();
  const Shape& weight = node.operand(1)->shape();
  Ints kernel;
  for (size_t i = 1; i + 1 < weight.size(); ++i) kernel.push_back(weight[i].value());
  std::vector<Value*> operands = operands_of(node);
  if (trim(build, operands[0], attrs, kernel))
    return build.add(Op::conv, std::move(operands), std::move(attrs));
  // A filter that is computed at run time is not in the order of DEPTHWISE_CONV2D.
  const bool depthwise =
      weight.back().is_one() && weight.size() == 4 && stored_constant(node.operand(1));
  return depthwise ? nullptr : by_groups<ConvAttrs>(build, node);
}

Value* conv_transpose(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  const Shape& weight = node.operand(1)->shape();
  if (weight.size() == 3) return rewrites::legal_conv_transpose(build, node);
  const bool dilated = std::ranges::any_of(attrs.dilation, [](int64_t d) { return d != 1; });
  const bool depthwise = attrs.groups > 1 && weight.back().is_one();
  if (dilated || depthwise || weight.size() == 5) return rewrites::transposed_as_conv(build, node);
  if (Value* y = by_groups<ConvTransposeAttrs>(build, node)) return y;
  for (size_t i = 0; i < attrs.low.size(); ++i)
    if (attrs.low[i] >= weight[i + 1].value() ||
        attrs.high[i] - attrs.extra[i] >= weight[i + 1].value())
      return crop_apart(build, node);
  return nullptr;
}

Value* pool(const Builder& build, const Node& node) {
  PoolAttrs attrs = node.attrs<PoolAttrs>();
  // Only quantised averages and maxima that round once are rewritten.
  if (is_quantised(node) && attrs.kernel.size() == 3) return nullptr;
  if (attrs.kernel.size() != 2) return rewrites::legal_pool(build, node);
  const bool dilated = std::ranges::any_of(attrs.dilation, [](int64_t d) { return d != 1; });
  if (dilated) return node.is(Op::max_pool) ? dilated_max_pool(build, node) : nullptr;
  Value* x = node.operand(0);
  bool changed = false;
  if (attrs.count_padding) {
    for (size_t i = 0; i < 2; ++i) x = padded(build, x, i + 1, attrs.low[i], attrs.high[i]);
    changed = x != node.operand(0);
    attrs.low = attrs.high = {0, 0};
  }
  changed = trim(build, x, attrs, attrs.kernel) || changed;
  return changed ? build.add(node.op(), {x}, std::move(attrs)) : nullptr;
}

/// Rewrites a resize that RESIZE has no scale for.
Value* resize(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  return resized_axis(build, resized_axis(build, node.operand(0), attrs, 0), attrs, 1);
}

}  // namespace layline::tosa

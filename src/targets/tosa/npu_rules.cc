#include "targets/tosa/npu_rules.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "targets/rewrites/weights.h"
#include "targets/rewrites/window.h"
#include "targets/tosa/npu_limits.h"
#include "targets/tosa/npu_transpose.h"

namespace layline::tosa {
namespace {

int64_t size_of(const Value* value, size_t axis) { return value->shape()[axis].value(); }

Tensor moved(const Tensor& tensor, const Relayout& relayout) {
  return evaluate_op(Op::relayout, std::span(&tensor, 1), RelayoutAttrs{relayout});
}

Tensor padded_after(const Tensor& tensor, size_t axis, int64_t count) {
  PadAttrs pad{Ints(tensor.type().shape.size(), 0), Ints(tensor.type().shape.size(), 0),
               PadMode::constant, 0};
  pad.high[axis] = count;
  return evaluate_op(Op::pad, std::span(&tensor, 1), pad);
}

/// Exactly `size` elements of an axis, from `low` before its first one on: padded with zeros, or
/// cut.
Value* extent(const Builder& build, Value* x, size_t axis, int64_t low, int64_t size) {
  const int64_t high = size - low - size_of(x, axis);
  if (high < 0) x = build.slice(x, static_cast<int64_t>(axis), 0, size_of(x, axis) + high);
  if (low == 0 && high <= 0) return x;
  PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 0};
  pad.low[axis] = low;
  pad.high[axis] = std::max<int64_t>(high, 0);
  return build.add(Op::pad, {x}, std::move(pad));
}

std::vector<Value*> operands_of(const Node& node) {
  return {node.operands().begin(), node.operands().end()};
}

/// Whether a stride of the window is too long where there is more than one window.
bool strides_far(const Node& node, const Ints& stride) {
  for (size_t i = 0; i < stride.size(); ++i)
    if (stride[i] > kNpuStride && size_of(node.result(), i + 1) > 1) return true;
  return false;
}

int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// Turns a convolution whose strides are longer than the NPU's into one of stride 1. Columns:
/// `stride` of them become channels of one, which is a view. Rows: those that a window reads become
/// an image of their own, one for each row of results, which is a view if windows do not overlap.
Value* conv_of_blocks(const Builder& build, const Node& node, const Accelerator&) {
  ConvAttrs attrs = node.attrs<ConvAttrs>();
  if (attrs.groups != 1 || attrs.stride.size() != 2 || !rewrites::is_plain_weight(node.operand(1)))
    return nullptr;
  if (!strides_far(node, attrs.stride)) return nullptr;
  std::vector<Value*> operands = operands_of(node);
  Value* x = operands[0];
  Tensor weight = rewrites::numbers_of(operands[1]);
  const int64_t outputs = size_of(operands[1], 0);
  const Shape& result = node.result()->shape();
  int64_t channels = x->shape().back().value();
  Ints kernel = {size_of(operands[1], 1), size_of(operands[1], 2)};

  for (size_t i = 0; i < 2; ++i)
    if (attrs.stride[i] > kNpuStride && attrs.dilation[i] != 1) return nullptr;

  if (const int64_t stride = attrs.stride[1]; stride > kNpuStride) {
    const int64_t wide = blocks(kernel[1], stride);
    const int64_t columns = result[2].value() - 1 + wide;
    x = extent(build, x, 2, attrs.low[1], columns * stride);
    x = build.view(x, {x->shape()[0], x->shape()[1], columns, stride * channels});
    weight = padded_after(weight, 2, wide * stride - kernel[1]);
    channels *= stride;
    kernel[1] = wide;
    const Shape shape = {outputs, kernel[0], wide, channels};
    weight = moved(weight, Relayout::view(weight.type().shape, shape));
    attrs.stride[1] = 1;
    attrs.low[1] = attrs.high[1] = 0;
  }
  if (const int64_t stride = attrs.stride[0]; stride > kNpuStride) {
    const int64_t high = blocks(kernel[0], stride), rows = result[1].value();
    x = extent(build, x, 1, attrs.low[0], (rows - 1 + high) * stride);
    const Dim images = x->shape()[0], columns = x->shape()[2];
    x = build.view(x, {images, rows - 1 + high, stride, columns, channels});
    std::vector<Value*> parts;
    for (int64_t block = 0; block < high; ++block) parts.push_back(build.slice(x, 1, block, rows));
    x = high == 1 ? parts[0] : build.concat(std::move(parts), 2);
    x = build.view(x, {images * Dim(rows), high * stride, columns, channels});
    weight = padded_after(weight, 1, high * stride - kernel[0]);
    attrs.stride[0] = 1;
    attrs.low[0] = attrs.high[0] = 0;
  }
  operands[0] = x;
  operands[1] = rewrites::weight_of(build, node.operand(1), weight);
  Value* y = build.add(Op::conv, std::move(operands), std::move(attrs));
  return build.view(y, result);
}

/// Turns a convolution in groups that has no more channels than the NPU reads and writes at once
/// into one without groups, whose weights are zero between groups. It takes fewer cycles than one
/// for each group, and a shuffle of its channels becomes one of its weights.
Value* conv_of_all_groups(const Builder& build, const Node& node, const Accelerator&) {
  constexpr int64_t kChannelsAtOnce = 16;
  ConvAttrs attrs = node.attrs<ConvAttrs>();
  const Shape& filter = node.operand(1)->shape();
  const bool depthwise = filter.back().is_one();
  if (attrs.groups == 1 || depthwise || !rewrites::is_plain_weight(node.operand(1))) return nullptr;
  const int64_t in_group = filter.back().value(), outputs = filter[0].value();
  const int64_t inputs = in_group * attrs.groups, outputs_of_group = outputs / attrs.groups;
  if (outputs == 0 || std::max(inputs, outputs) > kChannelsAtOnce) return nullptr;

  const Tensor weight = rewrites::numbers_of(node.operand(1));
  Shape shape = filter;
  shape.back() = inputs;
  Tensor all({weight.dtype(), shape});
  const int64_t row = weight.count() / outputs;
  for (int64_t i = 0; i < weight.count(); ++i) {
    const int64_t place = i / in_group, group = i / row / outputs_of_group;
    all.set(place * inputs + group * in_group + i % in_group, weight.get(i));
  }
  attrs.groups = 1;
  std::vector<Value*> operands = operands_of(node);
  operands[1] = rewrites::weight_of(build, node.operand(1), all);
  return build.add(Op::conv, std::move(operands), std::move(attrs));
}

/// The longest stride that the NPU has and that divides this one.
int64_t shorter(int64_t stride) {
  int64_t result = 1;
  for (int64_t s = 2; s <= kNpuStride; ++s)
    if (stride % s == 0) result = s;
  return result;
}

/// Computes more windows than are wanted, at a shorter stride, and takes every n-th of them.
Value* depthwise_at_shorter_strides(const Builder& build, const Node& node,
                                    const Accelerator& accelerator) {
  ConvAttrs attrs = node.attrs<ConvAttrs>();
  if (accelerator.is_u85 || attrs.groups == 1 || attrs.stride.size() != 2) return nullptr;
  if (!std::ranges::any_of(attrs.stride, [](int64_t s) { return s > kNpuStride; })) return nullptr;
  Ints steps = attrs.stride;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t stride =
        attrs.stride[i] <= kNpuStride ? attrs.stride[i] : shorter(attrs.stride[i]);
    steps[i] = attrs.stride[i] / stride;
    attrs.stride[i] = stride;
  }
  Value* y = build.add(Op::conv, operands_of(node), std::move(attrs));
  for (size_t i = 0; i < 2; ++i)
    y = build.slice(y, static_cast<int64_t>(i) + 1, 0, node.result()->shape()[i + 1], steps[i]);
  return y;
}

/// A kernel of depth d reads d slices of the volume: as channels of images.
Value* conv_of_images(const Builder& build, const Node& node, const Accelerator& accelerator) {
  const auto& attrs = node.attrs<ConvAttrs>();
  const Shape& filter = node.operand(1)->shape();
  if (accelerator.is_u85 || attrs.stride.size() != 3 || attrs.groups != 1 ||
      !rewrites::is_plain_weight(node.operand(1)) || (filter[1].is_one() && attrs.stride[0] == 1))
    return nullptr;
  std::vector<Value*> operands = operands_of(node);
  const Shape& result = node.result()->shape();
  const int64_t deep = filter[1].value(), depth = result[1].value();
  Value* x = extent(build, operands[0], 1, attrs.low[0],
                    (depth - 1) * attrs.stride[0] + (deep - 1) * attrs.dilation[0] + 1);
  std::vector<Value*> parts;
  for (int64_t tap = 0; tap < deep; ++tap)
    parts.push_back(build.slice(x, 1, tap * attrs.dilation[0], depth, attrs.stride[0]));
  x = deep == 1 ? parts[0] : build.concat(std::move(parts), 4);
  const Shape& volume = x->shape();
  operands[0] = build.view(x, {volume[0] * volume[1], volume[2], volume[3], volume[4]});
  Tensor weight = rewrites::numbers_of(operands[1]);
  weight = moved(weight, Relayout::permute(filter, std::vector<int>{0, 2, 3, 1, 4}));
  const Shape flat = {filter[0], filter[2], filter[3], filter[1] * filter[4]};
  operands[1] = rewrites::weight_of(build, node.operand(1),
                                    moved(weight, Relayout::view(weight.type().shape, flat)));
  ConvAttrs plane = attrs;
  for (Ints* values : {&plane.stride, &plane.dilation, &plane.low, &plane.high})
    values->erase(values->begin());
  return build.view(build.add(Op::conv, std::move(operands), std::move(plane)), result);
}

bool has_transposed_stride(const Node& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  if (attrs.stride == Ints{1, 1} || attrs.stride == Ints{2, 2}) return true;
  const auto is_unit = [&](size_t axis) {
    return size_of(node.operand(0), axis) == 1 && size_of(node.operand(1), axis) == 1;
  };
  return (attrs.stride == Ints{1, 2} && is_unit(1)) || (attrs.stride == Ints{2, 1} && is_unit(2));
}

Value* conv_of_spread(const Builder& build, const Node& node, const Accelerator& accelerator) {
  if (accelerator.is_u85 || has_transposed_stride(node) ||
      !rewrites::is_plain_weight(node.operand(1)) || node.attrs<ConvTransposeAttrs>().groups != 1)
    return nullptr;
  return rewrites::transposed_as_conv(build, node);
}

/// Channels are reversed as rows of one channel.
Value* flip_of_rows(const Builder& build, const Node& node, const Accelerator& accelerator) {
  const Shape& shape = node.result()->shape();
  Ints axes = node.attrs<AxesAttrs>().axes;
  const auto last = static_cast<int64_t>(shape.size()) - 1;
  if (accelerator.is_u85 || std::erase(axes, last) == 0) return nullptr;
  if (size_of(node.result(), shape.size() - 1) == 1) return nullptr;
  Value* x = node.operand(0);
  if (!axes.empty()) x = build.add(Op::flip, {x}, AxesAttrs{axes});
  x = build.view(x, {product(std::span(shape).first(shape.size() - 1)), shape.back(), 1});
  return build.view(build.add(Op::flip, {x}, AxesAttrs{{1}}), shape);
}

/// Gathers runs of neighbours by slices.
Value* gather_of_known(const Builder& build, const Node& node, const Accelerator& accelerator) {
  constexpr int64_t kMostIndices = 1024;
  if (accelerator.is_u85 || constant_of(node.operand(1)) == nullptr) return nullptr;
  const Tensor indices = tensor_of(node.operand(1));
  if (indices.count() > kMostIndices || indices.count() == 0) return nullptr;
  const int64_t axis = node.attrs<AxisAttrs>().axis;
  std::vector<Value*> parts;
  for (int64_t i = 0; i < indices.count();) {
    int64_t length = 1;
    while (i + length < indices.count() &&
           indices.get_int(i + length) == indices.get_int(i) + length)
      ++length;
    parts.push_back(build.slice(node.operand(0), axis, indices.get_int(i), length));
    i += length;
  }
  Value* y = parts.size() == 1 ? parts[0] : build.concat(std::move(parts), axis);
  return build.view(y, node.result()->shape());
}

/// Splits a transpose that is too large into parts. They are halves of the outermost axis if that
/// stays where it is, so that the parts are already the result, and otherwise of the longest one.
Value* transpose_of_parts(const Builder& build, const Node& node, const Accelerator& accelerator) {
  const Relayout& whole = node.attrs<RelayoutAttrs>().relayout;
  if (whole.is_view() || npu_transpose(whole, byte_size(node.result()->dtype()), accelerator))
    return nullptr;
  const Dims& factors = whole.factors();
  const Permutation& order = whole.order();
  size_t cut = 0;
  if (order[0] != 0)
    for (size_t i = 1; i < factors.size(); ++i)
      if (factors[i].value() > factors[cut].value()) cut = i;
  Value* x = build.view(node.operand(0), factors);
  const int64_t size = factors[cut].value(), half = blocks(size, 2);
  std::vector<Value*> parts;
  for (const auto& [start, length] : {std::pair(int64_t{0}, half), std::pair(half, size - half)})
    parts.push_back(build.permute(build.slice(x, static_cast<int64_t>(cut), start, length), order));
  const auto place = std::ranges::find(order, static_cast<int>(cut)) - order.begin();
  return build.view(build.concat(std::move(parts), place), node.result()->shape());
}

struct NpuRule {
  Op op;
  Value* (*rewrite)(const Builder& build, const Node& node, const Accelerator& accelerator);
  std::string_view what;
};

/// Rules that run before `legalise` takes groups apart.
constexpr NpuRule kEarlyRules[] = {
    {Op::conv, conv_of_all_groups, "convolves all groups at once, with zeros between them"},
};

constexpr NpuRule kRules[] = {
    {Op::conv, conv_of_blocks, "convolves blocks at stride 1 instead of striding over them"},
    {Op::conv, depthwise_at_shorter_strides, "strides less far, and drops what is between"},
    {Op::conv, conv_of_images, "convolves images instead of volumes"},
    {Op::conv_transpose, conv_of_spread, "convolves the operand with zeros between"},
    {Op::flip, flip_of_rows, "reverses rows instead of channels"},
    {Op::gather, gather_of_known, "takes slices instead of gathering"},
    {Op::relayout, transpose_of_parts, "is transposed in parts"},
};

bool apply(std::span<const NpuRule> rules, Graph& graph, const Accelerator& accelerator,
           PassContext& context) {
  bool changed = false;
  for (Node* node = graph.first(); node != nullptr;) {
    Node* next = node->next();
    for (const NpuRule& rule : rules) {
      if (rule.op != node->op()) continue;
      Node* previous = node->previous();
      graph.set_insertion_point(node);
      Value* replacement = rule.rewrite(Builder(graph, node->origin()), *node, accelerator);
      graph.set_insertion_point(nullptr);
      if (replacement == nullptr) continue;
      context.rewrite(*node, "{}, for {}", rule.what, accelerator.name);
      changed = true;
      graph.replace_all_uses(node->result(), replacement);
      graph.erase(node);
      next = previous ? previous->next() : graph.first();
      break;
    }
    node = next;
  }
  return changed;
}

}  // namespace

bool suit_accelerator(Graph& graph, const Accelerator& accelerator, PassContext& context) {
  return apply(kEarlyRules, graph, accelerator, context);
}

bool fit_accelerator(Graph& graph, const Accelerator& accelerator, PassContext& context) {
  return apply(kRules, graph, accelerator, context);
}

}  // namespace layline::tosa

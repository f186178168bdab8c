#include "targets/xnnpack/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "targets/xnnpack/quantised.h"

namespace layline::xnnpack {
namespace {

constexpr size_t kMaxConcatenated = 5;  // the schema's Concatenate5

std::string refuse_tensor(const Value* value) {
  const bool is_real = value->dtype() == DType::f32 || value->dtype() == DType::f16;
  if (!is_real && !value->type().quantisation)
    return fmt::format("XNNPACK has no {} tensors", name(value->dtype()));
  if (value->shape().size() > kMostAxes)
    return fmt::format("{} axes, XNNPACK takes at most {}", value->shape().size(), kMostAxes);
  if (element_count(value->shape()).is_zero()) return "the tensor is empty";
  return {};
}

std::string accept(const Node&) { return {}; }

std::optional<Range> range(const Bounds& bounds, const Node& node) {
  return result_range(bounds, node.result()->type());
}

uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }

Padding padding(const Ints& low, const Ints& high) {
  return {u32(low[0]), u32(high[1]), u32(high[0]), u32(low[1])};
}

Pair pair(const Ints& values) { return {u32(values[0]), u32(values[1])}; }

template <UnaryKind kind>
void unary(DelegateBuilder& delegate, const Node& node) {
  delegate.add(Unary{kind, delegate.in(node.operand(0)), delegate.out(node.result())});
}

template <BinaryKind kind>
void binary(DelegateBuilder& delegate, const Node& node) {
  std::optional<Range> bounds;
  if (const auto* attrs = std::get_if<BinaryAttrs>(&node.attributes()))
    bounds = range(attrs->bounds, node);
  delegate.add(Binary{kind, delegate.in(node.operand(0)), delegate.in(node.operand(1)),
                      delegate.out(node.result()), bounds});
}

void clamp(DelegateBuilder& delegate, const Node& node) {
  delegate.add(Clamp{delegate.in(node.operand(0)), delegate.out(node.result()),
                     range(node.attrs<ClampAttrs>().bounds, node).value_or(Range{})});
}

/// Clamps first if some integers are not in use: the clamp keeps them out.
void quantize(DelegateBuilder& delegate, const Node& node) {
  ValueId x = delegate.in(node.operand(0));
  if (const auto clamped = range({}, node)) {
    const ValueId within = delegate.temporary(node.operand(0)->type());
    delegate.add(Clamp{x, within, *clamped});
    x = within;
  }
  delegate.add(Unary{UnaryKind::kConvert, x, delegate.out(node.result())});
}

void elu(DelegateBuilder& delegate, const Node& node) {
  delegate.add(Elu{delegate.in(node.operand(0)), delegate.out(node.result()),
                   static_cast<float>(node.attrs<AlphaAttrs>().alpha)});
}

void leaky_relu(DelegateBuilder& delegate, const Node& node) {
  delegate.add(LeakyRelu{delegate.in(node.operand(0)), delegate.out(node.result()),
                         static_cast<float>(node.attrs<AlphaAttrs>().alpha)});
}

std::string refuse_gelu(const Node& node) {
  return node.attrs<GeluAttrs>().tanh ? "XNNPACK's GELU is the exact one" : "";
}

/// XNNPACK finds one size of a reshaped tensor by itself.
bool is_reshapable(const Shape& shape) {
  return std::ranges::count_if(shape, [](const Dim& dim) { return !dim.is_static(); }) <= 1;
}

/// A transpose, and the shape that it gives.
struct Transposed {
  Shape dims;
  Permutation permutation;
  Shape result;
};

Shape without_units(const Shape& shape) {
  Shape result;
  for (const Dim& dim : shape)
    if (!dim.is_one()) result.push_back(dim);
  return result;
}

/// The transpose of the fewest axes that a relayout needs, or of as many more with one element as
/// make its result the target, or its operand the source. Each of those saves a view.
Transposed transpose_of(const Relayout& moved) {
  const auto [factors, order] = moved.as_transpose();
  Transposed plain{factors, order, {}};
  for (int factor : order) plain.result.push_back(factors[static_cast<size_t>(factor)]);
  const auto padded = [&](const Shape& like, const Shape& own) {
    return like != own && without_units(like) == own && like.size() <= kMostAxes;
  };
  const bool at_target = padded(moved.target(), plain.result);
  if (!at_target && !padded(moved.source(), factors)) return plain;
  // Axes with one element stand in front on the side that is viewed.
  const Shape& like = at_target ? moved.target() : moved.source();
  const size_t units = like.size() - factors.size();
  Transposed result{Shape(units, Dim(1)), {}, {}};
  int next_unit = 0, next_factor = 0;
  if (at_target) {
    result.dims.insert(result.dims.end(), factors.begin(), factors.end());
    for (const Dim& dim : like)
      result.permutation.push_back(dim.is_one() ? next_unit++
                                                : static_cast<int>(units) +
                                                      order[static_cast<size_t>(next_factor++)]);
  } else {
    result.dims = like;
    std::vector<int> places;
    for (size_t axis = 0; axis < like.size(); ++axis)
      if (like[axis].is_one())
        result.permutation.push_back(static_cast<int>(axis));
      else
        places.push_back(static_cast<int>(axis));
    for (int factor : order) result.permutation.push_back(places[static_cast<size_t>(factor)]);
  }
  for (int axis : result.permutation)
    result.result.push_back(result.dims[static_cast<size_t>(axis)]);
  return result;
}

/// The views that a relayout needs before and after its transpose.
std::vector<Shape> views_of(const Relayout& moved) {
  if (moved.is_view()) return {moved.target()};
  if (moved.as_permutation()) return {};
  std::vector<Shape> views;
  const Transposed transposed = transpose_of(moved);
  if (transposed.dims != moved.source()) views.push_back(transposed.dims);
  if (transposed.result != moved.target()) views.push_back(moved.target());
  return views;
}

std::string refuse_relayout(const Node& node) {
  const Relayout& relayout = node.attrs<RelayoutAttrs>().relayout;
  if (!is_static(relayout.source()))
    for (const Shape& view : views_of(relayout))
      if (!is_reshapable(view))
        return fmt::format("several dynamic sizes meet in a view of {} as {}",
                           to_string(relayout.source()), to_string(view));
  if (relayout.factors().size() > kMostAxes)
    return fmt::format("a transpose of {} axes, XNNPACK takes at most {}",
                       relayout.factors().size(), kMostAxes);
  return {};
}

void reshape(DelegateBuilder& delegate, ValueId from, ValueId to, const Shape& shape) {
  std::vector<uint32_t> sizes = delegate.dims(shape);
  for (size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].is_static()) sizes[i] = 0;  // to be found from the others
  delegate.add(Reshape{from, to, std::move(sizes)});
}

void transpose(DelegateBuilder& delegate, ValueId from, ValueId to,
               const Permutation& permutation) {
  delegate.add(Transpose{from, to, {permutation.begin(), permutation.end()}});
}

/// A transpose between views, which it needs only if the shapes differ.
void relayout(DelegateBuilder& delegate, const Node& node) {
  const Relayout& moved = node.attrs<RelayoutAttrs>().relayout;
  const auto temporary = [&](const Shape& shape) {
    TensorType type = node.result()->type();
    type.shape = shape;
    return delegate.temporary(type);
  };
  ValueId from = delegate.in(node.operand(0));
  const ValueId to = delegate.out(node.result());
  if (moved.is_view()) return reshape(delegate, from, to, moved.target());
  if (auto permutation = moved.as_permutation()) return transpose(delegate, from, to, *permutation);
  const Transposed transposed = transpose_of(moved);
  if (transposed.dims != moved.source()) {
    const ValueId split = temporary(transposed.dims);
    reshape(delegate, from, split, transposed.dims);
    from = split;
  }
  if (transposed.result == moved.target())
    return transpose(delegate, from, to, transposed.permutation);
  const ValueId before_merge = temporary(transposed.result);
  transpose(delegate, from, before_merge, transposed.permutation);
  reshape(delegate, before_merge, to, moved.target());
}

std::string refuse_slice(const Node& node) {
  const auto& attrs = node.attrs<SliceAttrs>();
  for (size_t a = 0; a < attrs.size.size(); ++a) {
    if (attrs.step[a] != 1) return "XNNPACK slices have step 1";
    if (!attrs.size[a].is_static() && attrs.size[a] != node.operand(0)->shape()[a])
      return "XNNPACK slices have fixed sizes";
  }
  return {};
}

void slice(DelegateBuilder& delegate, const Node& node) {
  const auto& attrs = node.attrs<SliceAttrs>();
  delegate.add(Slice{delegate.in(node.operand(0)),
                     delegate.out(node.result()),
                     {attrs.start.begin(), attrs.start.end()},
                     delegate.dims(attrs.size)});
}

/// More parts than one node takes become a tree of concatenations.
void concat(DelegateBuilder& delegate, const Node& node) {
  const int64_t axis = node.attrs<AxisAttrs>().axis;
  struct Part {
    ValueId id;
    Dim length;
  };
  std::vector<Part> parts;
  for (const Value* part : node.operands())
    parts.push_back({delegate.in(part), part->shape()[static_cast<size_t>(axis)]});
  while (parts.size() > kMaxConcatenated) {
    std::vector<Part> joined;
    for (size_t i = 0; i < parts.size(); i += kMaxConcatenated) {
      const size_t count = std::min(kMaxConcatenated, parts.size() - i);
      if (count == 1) {
        joined.push_back(parts[i]);
        continue;
      }
      std::vector<ValueId> ids;
      Sum sum;
      for (size_t k = i; k < i + count; ++k) {
        ids.push_back(parts[k].id);
        sum = sum + Sum(parts[k].length);
      }
      // The size that XNNPACK is told is an upper bound.
      const Dim length = delegate.symbols().range(sum).max;
      TensorType type = node.result()->type();
      type.shape[static_cast<size_t>(axis)] = length;
      const ValueId id = delegate.temporary(type);
      delegate.add(Concatenate{std::move(ids), id, u32(axis)});
      joined.push_back({id, length});
    }
    parts = std::move(joined);
  }
  std::vector<ValueId> ids;
  for (const Part& part : parts) ids.push_back(part.id);
  delegate.add(Concatenate{std::move(ids), delegate.out(node.result()), u32(axis)});
}

std::string refuse_concat(const Node& node) {
  return node.operand_count() < 2 ? "a concatenation of one tensor" : "";
}

std::string refuse_pad(const Node& node) {
  return node.attrs<PadAttrs>().mode == PadMode::constant ? ""
                                                          : "XNNPACK pads with a constant only";
}

void pad(DelegateBuilder& delegate, const Node& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  delegate.add(ConstantPad{delegate.in(node.operand(0)),
                           delegate.out(node.result()),
                           {attrs.low.begin(), attrs.low.end()},
                           {attrs.high.begin(), attrs.high.end()},
                           static_cast<float>(attrs.value)});
}

std::string refuse_packed(const Node& node) {
  for (int i = 1; i < node.operand_count(); ++i)
    if (stored_constant(node.operand(i)) == nullptr) return "the weights are not constant";
  return {};
}

/// What a contraction reads, in the terms of its kernel.
struct Contracted {
  ValueId x, filter, bias;
};

/// `channels_last` moves the weight's outputs to its last dim; `unscaled` dims of x share a dynamic
/// scale.
Contracted contracted(DelegateBuilder& delegate, const Node& node, int unscaled,
                      const Relayout* channels_last = nullptr) {
  const Value* x = node.operand(0);
  const Value* weight = node.operand(1);
  const Value* bias = node.operand_count() > 2 ? node.operand(2) : nullptr;
  Contracted result{kNoValue, kNoValue, kNoValue};
  result.x = is_dynamic(node.attributes()) ? delegate.dynamic(x, unscaled) : delegate.in(x);
  if (!weight->type().quantisation) {
    result.filter = channels_last ? delegate.packed(stored_constant(weight)->relaid(*channels_last),
                                                    weight->name())
                                  : delegate.packed(weight);
    if (bias) result.bias = delegate.packed(bias);
    return result;
  }
  const Filter filter = filter_of(weight);
  const Shape& shape = channels_last ? channels_last->target() : weight->shape();
  const int channel = channels_last ? static_cast<int>(shape.size()) - 1 : 0;
  result.filter = delegate.packed_integers(
      channels_last ? filter.data.relaid(*channels_last) : filter.data, filter.datatype, shape,
      weight->name(), filter.scales, channel, filter.group);
  if (bias && x->type().quantisation) {
    const std::vector<float> scales = sum_scales(x, weight);
    result.bias =
        delegate.packed_integers(integer_bias(bias, scales), Datatype::kQCInt32, bias->shape(),
                                 bias->name() + "_integers", table_of(scales), 0);
  } else if (bias) {
    result.bias = delegate.packed(bias);
  }
  return result;
}

void linear(DelegateBuilder& delegate, const Node& node) {
  const Contracted read = contracted(delegate, node, 1);
  delegate.add(FullyConnected{read.x, read.filter, read.bias, delegate.out(node.result()), false,
                              range(node.attrs<LinearAttrs>().bounds, node)});
}

/// Whether XNNPACK would turn a transpose of the first operand around by mistake. It turns around a
/// transpose that only the second operand of a product reads, and takes a node that reads a value
/// twice for one reader (optimize_common_subgraphs_gemm_rhs_transpose in its subgraph.c).
bool would_be_turned_around(const Node& matmul) {
  const Node* made_by = matmul.operand(1)->def();
  return matmul.operand(0) == matmul.operand(1) && !matmul.attrs<MatmulAttrs>().transpose_b &&
         made_by != nullptr && made_by->is(Op::relayout);
}

/// Whether all batches are multiplied by one matrix: a filter that is computed.
bool has_one_matrix(const Node& matmul) {
  const Value* matrix = matmul.operand(1);
  return matrix->shape().size() == 2 && matmul.operand(0)->shape().size() > 2 &&
         matrix->dtype() == DType::f32 && !constant_of(matrix);
}

void matmul(DelegateBuilder& delegate, const Node& node) {
  const ValueId a = delegate.in(node.operand(0));
  ValueId b = delegate.in(node.operand(1));
  if (has_one_matrix(node)) {
    delegate.add(FullyConnected{
        a, b, kNoValue, delegate.out(node.result()), !node.attrs<MatmulAttrs>().transpose_b, {}});
    return;
  }
  if (would_be_turned_around(node)) {
    b = delegate.temporary(node.operand(1)->type());
    delegate.add(Binary{BinaryKind::kMaximum, a, a, b, {}});  // a copy
  }
  delegate.add(
      BatchMatMul{a, b, delegate.out(node.result()), node.attrs<MatmulAttrs>().transpose_b});
}

std::string refuse_matmul(const Node& node) {
  const bool as_many_axes = node.operand(0)->shape().size() == node.operand(1)->shape().size();
  return as_many_axes || has_one_matrix(node)
             ? ""
             : "XNNPACK's batched matmul takes matrices with as many batch axes";
}

std::string refuse_conv(const Node& node) {
  if (node.operand(0)->shape().size() != 4) return "XNNPACK convolves two spatial axes";
  return refuse_packed(node);
}

/// The relayout of a filter from [O, h, w, 1] to [1, h, w, O].
Relayout depthwise_filter(const Shape& filter) {
  static constexpr std::array<int, 4> kChannelsLast = {3, 1, 2, 0};
  return Relayout::permute(filter, kChannelsLast);
}

void conv(DelegateBuilder& delegate, const Node& node) {
  const auto& attrs = node.attrs<ConvAttrs>();
  const Shape& weight = node.operand(1)->shape();
  const int64_t outputs = weight[0].value(), inputs = weight[3].value();
  const Pair kernel = {u32(weight[1].value()), u32(weight[2].value())};
  const Padding pads = padding(attrs.low, attrs.high);
  if (inputs == 1 && attrs.groups > 1) {
    const Relayout channels_last = depthwise_filter(weight);
    const Contracted read = contracted(delegate, node, 3, &channels_last);
    delegate.add(DepthwiseConv{read.x, read.filter, read.bias, delegate.out(node.result()), pads,
                               kernel, pair(attrs.stride), pair(attrs.dilation), u32(attrs.groups),
                               u32(outputs / attrs.groups), range(attrs.bounds, node)});
  } else {
    const Contracted read = contracted(delegate, node, 3);
    delegate.add(Conv{read.x, read.filter, read.bias, delegate.out(node.result()), pads, kernel,
                      pair(attrs.stride), pair(attrs.dilation), u32(attrs.groups), u32(inputs),
                      u32(outputs / attrs.groups), range(attrs.bounds, node)});
  }
}

Constant as_f32(const Value* weight) {
  const Tensor half = tensor_of(weight);
  Tensor single({DType::f32, weight->shape()});
  for (int64_t i = 0; i < half.count(); ++i) single.set(i, half.get(i));
  return Constant::of(single);
}

/// Beside f16 activations a transposed convolution takes its filter and bias in f32 only (XNNPACK,
/// src/subgraph/deconvolution-2d.c); it packs them as f16.
Contracted transposed_operands(DelegateBuilder& delegate, const Node& node) {
  if (node.operand(1)->dtype() != DType::f16) return contracted(delegate, node, 3);
  Contracted result{delegate.in(node.operand(0)), kNoValue, kNoValue};
  const auto packed = [&](const Value* weight) {
    return delegate.packed(as_f32(weight), weight->name() + "_f32");
  };
  result.filter = packed(node.operand(1));
  if (node.operand_count() > 2) result.bias = packed(node.operand(2));
  return result;
}

void conv_transpose(DelegateBuilder& delegate, const Node& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  const Shape& weight = node.operand(1)->shape();
  const Contracted read = transposed_operands(delegate, node);
  delegate.add(ConvTranspose{read.x,
                             read.filter,
                             read.bias,
                             delegate.out(node.result()),
                             padding(attrs.low, attrs.high),
                             {u32(weight[1].value()), u32(weight[2].value())},
                             pair(attrs.stride),
                             pair(attrs.dilation),
                             pair(attrs.extra),
                             u32(attrs.groups),
                             u32(weight[3].value()),
                             u32(weight[0].value() / attrs.groups),
                             range(attrs.bounds, node)});
}

std::string refuse_pool(const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  if (attrs.kernel.size() != 2) return "XNNPACK pools two spatial axes";
  if (attrs.kernel == Ints{1, 1}) return "XNNPACK refuses 1x1 pools";
  for (size_t i = 0; i < 2; ++i) {
    if (node.is(Op::max_pool) && attrs.stride[i] > attrs.kernel[i])
      return "XNNPACK's max pool has no stride over its kernel size";
    if (attrs.count_padding && attrs.low[i] + attrs.high[i] > 0)
      return "XNNPACK's averages do not count padding";
    if (node.is(Op::avg_pool) && attrs.dilation[i] != 1)
      return "XNNPACK's average pool has no dilation";
  }
  return {};
}

void max_pool(DelegateBuilder& delegate, const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  delegate.add(MaxPool{delegate.in(node.operand(0)), delegate.out(node.result()),
                       padding(attrs.low, attrs.high), pair(attrs.kernel), pair(attrs.stride),
                       pair(attrs.dilation), range(attrs.bounds, node)});
}

void avg_pool(DelegateBuilder& delegate, const Node& node) {
  const auto& attrs = node.attrs<PoolAttrs>();
  delegate.add(AvgPool{delegate.in(node.operand(0)), delegate.out(node.result()),
                       padding(attrs.low, attrs.high), pair(attrs.kernel), pair(attrs.stride),
                       range(attrs.bounds, node)});
}

/// Only means over both spatial axes run, or over one if the other has size 1.
std::string refuse_mean(const Node& node) {
  const Shape& shape = node.operand(0)->shape();
  const Ints& axes = node.attrs<AxesAttrs>().axes;
  const bool spatial =
      std::ranges::all_of(axes, [](int64_t axis) { return axis == 1 || axis == 2; });
  auto covered = [&](int64_t axis) {
    return shape[static_cast<size_t>(axis)].is_one() || std::ranges::find(axes, axis) != axes.end();
  };
  return shape.size() == 4 && spatial && covered(1) && covered(2)
             ? ""
             : "XNNPACK averages over the spatial axes of [N,H,W,C] only";
}

/// The rows and columns of an average that is taken in two steps: those of an image, or those that
/// a line of so many elements at most can be cut into, as many as columns at best. A line that
/// cannot be cut has one column.
std::array<Dim, 2> rows_and_columns(const Dim& height, const Dim& width, int64_t most) {
  if (!height.is_one() && !width.is_one()) return {height, width};
  const Dim length = height * width;
  auto columns = static_cast<int64_t>(std::sqrt(most));
  while (length.coefficient() % columns != 0) --columns;
  return {*divide(length, columns), columns};
}

/// XNNPACK adds up the elements of a channel one after the other. With 67,712 of them, a detector
/// of text lost three digits of its average. So many are averaged row by row, and then the rows.
void mean(DelegateBuilder& delegate, const Node& node) {
  constexpr int64_t kFew = 4096;
  const TensorType& type = node.operand(0)->type();
  const Dim batch = type.shape[0], channels = type.shape[3];
  const auto typed = [&](const Shape& shape) { return TensorType{type.dtype, shape}; };
  const auto average = [&](ValueId from, ValueId to) {
    delegate.add(GlobalAvgPool{from, to, true, range({}, node)});
  };
  ValueId x = delegate.in(node.operand(0));
  const int64_t most = delegate.dims({type.shape[1] * type.shape[2]})[0];
  const auto [rows, columns] = rows_and_columns(type.shape[1], type.shape[2], most);
  if (is_float(type.dtype) && !columns.is_one() && most > kFew) {
    const Shape apart = {batch * rows, 1, columns, channels};
    const Shape averages = {batch * rows, 1, 1, channels}, column = {batch, rows, 1, channels};
    const bool views = is_reshapable(apart) && is_reshapable(column);
    // Rows of one image may also change places with its batch, whatever else is dynamic.
    if (views || (batch.is_one() && rows == type.shape[1])) {
      const auto view = [&](ValueId from, const Shape& shape) {
        const ValueId to = delegate.temporary(typed(shape));
        if (views)
          reshape(delegate, from, to, shape);
        else
          transpose(delegate, from, to, {1, 0, 2, 3});
        return to;
      };
      const ValueId averaged = delegate.temporary(typed(averages));
      average(view(x, apart), averaged);
      x = view(averaged, column);
    }
  }
  average(x, delegate.out(node.result()));
}

std::string refuse_softmax(const Node& node) {
  return node.attrs<AxisAttrs>().axis == node.result()->type().rank() - 1
             ? ""
             : "XNNPACK's softmax is over the last axis";
}

// A step is the quotient of two sizes in double precision, so its product with one of them is the
// other but for the last digit.
constexpr double kStepTolerance = 1e-12;

/// XNNPACK derives the step from the sizes, so a step given otherwise cannot be expressed.
std::string refuse_resize(const Node& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  if (attrs.mode != ResizeMode::bilinear) return "XNNPACK resizes bilinearly only";
  for (size_t i = 0; i < attrs.size.size(); ++i) {
    const Dim from = node.operand(0)->shape()[i + 1];
    if (!from.is_static() || !attrs.size[i].is_static()) return "XNNPACK resizes to fixed sizes";
    const int64_t ends = attrs.align_corners ? 1 : 0;  // counted from centre to centre
    const auto in = static_cast<double>(from.value() - ends),
               out = static_cast<double>(attrs.size[i].value() - ends);
    if (out > 0 && std::abs(attrs.step[i] * out - in) > kStepTolerance * in)
      return "the scale factor differs from the ratio of the sizes, which XNNPACK uses";
  }
  return {};
}

void resize(DelegateBuilder& delegate, const Node& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  delegate.add(ResizeBilinear{
      delegate.in(node.operand(0)), delegate.out(node.result()), pair(static_dims(attrs.size)),
      attrs.align_corners ? ResizeAlignment::kAlignCorners : ResizeAlignment::kHalfPixel});
}

constexpr Kernel kKernels[] = {
    {Op::relayout, refuse_relayout, relayout},
    {Op::slice, refuse_slice, slice},
    {Op::concat, refuse_concat, concat},
    {Op::pad, refuse_pad, pad},
    {Op::add, accept, binary<BinaryKind::kAdd>},
    {Op::sub, accept, binary<BinaryKind::kSubtract>},
    {Op::mul, accept, binary<BinaryKind::kMultiply>},
    {Op::div, accept, binary<BinaryKind::kDivide>},
    {Op::minimum, accept, binary<BinaryKind::kMinimum>},
    {Op::maximum, accept, binary<BinaryKind::kMaximum>},
    {Op::prelu, accept, binary<BinaryKind::kPRelu>},
    {Op::abs, accept, unary<UnaryKind::kAbs>},
    {Op::neg, accept, unary<UnaryKind::kNegate>},
    {Op::exp, accept, unary<UnaryKind::kExp>},
    {Op::log, accept, unary<UnaryKind::kLog>},
    {Op::sqrt, accept, unary<UnaryKind::kSquareRoot>},
    {Op::rsqrt, accept, unary<UnaryKind::kReciprocalSquareRoot>},
    {Op::sin, accept, unary<UnaryKind::kSin>},
    {Op::cos, accept, unary<UnaryKind::kCos>},
    {Op::tanh, accept, unary<UnaryKind::kTanh>},
    {Op::sigmoid, accept, unary<UnaryKind::kSigmoid>},
    {Op::floor, accept, unary<UnaryKind::kFloor>},
    {Op::ceil, accept, unary<UnaryKind::kCeiling>},
    {Op::square, accept, unary<UnaryKind::kSquare>},
    {Op::hardswish, accept, unary<UnaryKind::kHardswish>},
    {Op::gelu, refuse_gelu, unary<UnaryKind::kGelu>},
    {Op::convert, accept, unary<UnaryKind::kConvert>},
    {Op::quantize, accept, quantize},
    {Op::dequantize, accept, unary<UnaryKind::kConvert>},
    {Op::elu, accept, elu},
    {Op::leaky_relu, accept, leaky_relu},
    {Op::clamp, accept, clamp},
    {Op::linear, refuse_packed, linear},
    {Op::matmul, refuse_matmul, matmul},
    {Op::conv, refuse_conv, conv},
    {Op::conv_transpose, refuse_conv, conv_transpose},
    {Op::max_pool, refuse_pool, max_pool},
    {Op::avg_pool, refuse_pool, avg_pool},
    {Op::reduce_mean, refuse_mean, mean},
    {Op::softmax, refuse_softmax, unary<UnaryKind::kSoftmax>},
    {Op::resize, refuse_resize, resize},
};

}  // namespace

const Kernel* find_kernel(Op op) {
  static const auto rows = rows_by_op<Kernel>(kKernels);
  return rows[static_cast<size_t>(op)];
}

std::string refusal(const Node& node) {
  const Kernel* kernel = find_kernel(node.op());
  if (kernel == nullptr) return fmt::format("XNNPACK has no {}", name(node.op()));
  for (const Value* operand : node.operands())
    if (std::string why = refuse_tensor(operand); !why.empty()) return why;
  if (std::string why = refuse_tensor(node.result()); !why.empty()) return why;
  if (is_quantised(node) || is_dynamic(node.attributes()))
    if (std::string why = refuse_quantised(node); !why.empty()) return why;
  return kernel->refuse(node);
}

}  // namespace layline::xnnpack

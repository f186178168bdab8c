#include "targets/xnnpack/xnnpack_rewrites.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/finite.h"
#include "ir/tensor.h"
#include "targets/kernel_calls.h"
#include "targets/kernel_rules.h"
#include "targets/rewrites/apply_rules.h"
#include "targets/rewrites/formulas.h"
#include "targets/rewrites/movement.h"
#include "targets/rewrites/rank.h"
#include "targets/rewrites/window.h"
#include "targets/xnnpack/kernels.h"

namespace layline::xnnpack {
namespace {

using rewrites::Rule;

/// Whether XNNPACK computes with the dtype. A rule that builds the op it rewrites must ask first,
/// lest the new node be refused for its dtype and rewritten again.
bool computes(DType dtype) { return dtype == DType::f32 || dtype == DType::f16; }

template <auto rule>
Value* if_computed(const Builder& build, const Node& node) {
  const TensorType& type = node.result()->type();
  return computes(type.dtype) || type.quantisation ? rule(build, node) : nullptr;
}

std::span<const Dim> tail(const Shape& shape) { return std::span(shape).subspan(1); }

/// A view. Where it drops a first axis with one element from a slice, what is cut is viewed, and
/// not what is cut out: other slices share that view.
Value* view_before_slice(const Builder& build, Value* x, const Shape& shape) {
  const Node* cut = x->def();
  if (cut == nullptr || !cut->is(Op::slice) || !std::ranges::equal(tail(x->shape()), shape) ||
      !cut->operand(0)->shape()[0].is_one())
    return build.view(x, shape);
  SliceAttrs attrs = cut->attrs<SliceAttrs>();
  attrs.start.erase(attrs.start.begin());
  attrs.step.erase(attrs.step.begin());
  attrs.size = shape;
  const auto whole = tail(cut->operand(0)->shape());
  return build.add(Op::slice, {build.view(cut->operand(0), {whole.begin(), whole.end()})},
                   std::move(attrs));
}

/// A view of a product with one matrix is the product of a view, as long as it only regroups rows.
/// The result may have a dynamic number of columns besides that of rows, and what is multiplied has
/// not: XNNPACK finds one size of a view.
Value* view_before_product(const Builder& build, const Node& node) {
  const Relayout& moved = node.attrs<RelayoutAttrs>().relayout;
  const Node* product = node.operand(0)->def();
  if (!moved.is_view() || product == nullptr || !product->is(Op::matmul) ||
      !node.operand(0)->has_one_use() || product->operand(1)->shape().size() != 2 ||
      moved.target().empty() || moved.source().back() != moved.target().back())
    return nullptr;
  Shape rows = moved.target();
  rows.back() = product->operand(0)->shape().back();
  return build.add(Op::matmul,
                   {view_before_slice(build, product->operand(0), rows), product->operand(1)},
                   product->attributes());
}

Value* relayout(const Builder& build, const Node& node) {
  Value* product = view_before_product(build, node);
  return product ? product : rewrites::transpose_in_steps(build, node, kMostAxes);
}

Value* scalar(const Builder& build, const Value* like, double value) {
  return build.scalar(like->dtype(), value);
}

Constant filled(DType dtype, const Shape& shape, double value) {
  Tensor tensor({dtype, shape});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, value);
  return Constant::of(tensor);
}

Dim product_of(const Shape& shape, size_t first, size_t last) {
  return product(std::span(shape).subspan(first, last - first));
}

// --- elementwise ---------------------------------------------------------------------------------

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_number(const Value* value, double number) {
  const Constant* constant = constant_of(value);
  return constant && element_count(value->shape()).is_one() &&
         tensor_of(*constant).get(0) == number;
}

/// Infinity where the condition holds, minus infinity elsewhere: the bound of a choice.
Value* choice_bound(const Builder& build, Value* condition, DType dtype) {
  Value* high = build.scalar(dtype, kInfinity);
  Value* low = build.scalar(dtype, -kInfinity);
  return build.add(Op::where, {condition, high, low});
}

/// Takes the greater of two values, one of which has been made minus infinity. This is exact for
/// all but NaN, which the choice may be there to replace. If the condition is not constant, a
/// portable kernel makes the bound, so it has to be small.
Value* where(const Builder& build, const Node& node) {
  Value* condition = node.operand(0);
  Value* yes = node.operand(1);
  Value* no = node.operand(2);
  const Shape& result = node.result()->shape();
  if (const std::optional<bool> truth = known_truth(condition))
    return build.expand(*truth ? yes : no, result);
  if (!computes(yes->dtype()) || (constant_of(yes) && constant_of(no))) return nullptr;
  constexpr int64_t kMuchSmaller = 4;
  const auto repeats = divide(element_count(result), element_count(condition->shape()));
  const bool is_small = repeats && (!repeats->is_static() || repeats->value() >= kMuchSmaller);
  if (!constant_of(condition) && !is_small) return nullptr;
  auto is_unsafe = [](const Value* value) { return !constant_of(value) && may_be_nan(value); };
  if (is_unsafe(yes) || is_unsafe(no)) return nullptr;
  Value* bound = choice_bound(build, condition, yes->dtype());
  Value* opposite = build.add(Op::neg, {bound});
  if (is_number(no, -kInfinity)) return build.add(Op::minimum, {yes, bound});
  if (is_number(no, kInfinity)) return build.add(Op::maximum, {yes, opposite});
  if (is_number(yes, -kInfinity)) return build.add(Op::minimum, {no, opposite});
  if (is_number(yes, kInfinity)) return build.add(Op::maximum, {no, bound});
  return build.add(Op::maximum,
                   {build.add(Op::minimum, {yes, bound}), build.add(Op::minimum, {no, opposite})});
}

Value* reciprocal(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  return build.add(Op::div, {scalar(build, x, 1), x});
}

/// Whether ones of this shape may be written into the program, which has no other use for them.
bool are_few(DType dtype, const Shape& ones) {
  constexpr size_t kMostBytes = size_t{64} << 20;
  return is_static(ones) && byte_count({dtype, ones}) <= kMostBytes;
}

/// Multiplication by ones broadcasts both ways; XNNPACK has no broadcast of its own.
Value* expand(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  const Shape& to = node.result()->shape();
  if (!computes(x->dtype())) return nullptr;
  Shape from(to.size() - x->shape().size(), Dim(1));
  from.insert(from.end(), x->shape().begin(), x->shape().end());
  if (!is_static(to) && to.size() <= kMostAxes) {
    // Views are avoided: several dynamic sizes may meet in one.
    Shape ones;
    for (size_t a = 0; a < to.size(); ++a) ones.push_back(from[a] == to[a] ? Dim(1) : to[a]);
    if (!are_few(x->dtype(), ones)) return nullptr;
    return build.add(Op::mul, {x, build.constant(filled(x->dtype(), ones, 1))});
  }
  // Neighbouring axes of one kind are one axis, so that six are enough.
  Shape operand, ones, result;
  bool previous_expanded = false;
  for (size_t a = 0; a < to.size(); ++a) {
    const bool expanded = from[a] != to[a];
    if (to[a].is_one()) continue;
    if (result.empty() || expanded != previous_expanded) {
      operand.push_back(1);
      ones.push_back(1);
      result.push_back(1);
    }
    result.back() = result.back() * to[a];
    (expanded ? ones : operand).back() = result.back();
    previous_expanded = expanded;
  }
  if (!are_few(x->dtype(), ones)) return nullptr;
  Value* y =
      build.add(Op::mul, {build.view(x, operand), build.constant(filled(x->dtype(), ones, 1))});
  return build.view(y, to);
}

// --- reductions ----------------------------------------------------------------------------------

/// A run of neighbouring axes [first, last) seen as the middle of [outer, run, 1, inner], over
/// which XNNPACK's image ops reduce without moving anything.
struct Run {
  size_t first, last;
  Dim outer, length, inner;
};

std::vector<Run> runs(const Shape& shape, const Ints& axes) {
  std::vector<Run> result;
  for (size_t i = 0; i < axes.size();) {
    size_t j = i + 1;
    while (j < axes.size() && axes[j] == axes[j - 1] + 1) ++j;
    const auto first = static_cast<size_t>(axes[i]), last = static_cast<size_t>(axes[j - 1]) + 1;
    result.push_back({first, last, product_of(shape, 0, first), product_of(shape, first, last),
                      product_of(shape, last, shape.size())});
    i = j;
  }
  return result;
}

/// A sum multiplies by the length, and a pool has it as its size.
bool has_fixed_length(const Run& run) { return run.length.is_static(); }

template <typename ReduceRun>
Value* reduce(const Builder& build, const Node& node, bool (*can_reduce)(const Run&),
              ReduceRun reduce_run) {
  Value* x = node.operand(0);
  if (!computes(x->dtype()) || element_count(x->shape()).is_zero()) return nullptr;
  Shape shape = x->shape();
  for (const Run& run : runs(shape, node.attrs<AxesAttrs>().axes))
    if (!can_reduce(run)) return nullptr;
  for (const Run& original : runs(x->shape(), node.attrs<AxesAttrs>().axes)) {
    const Run run = {original.first, original.last, product_of(shape, 0, original.first),
                     original.length, original.inner};
    x = reduce_run(x, run);
    for (size_t a = run.first; a < run.last; ++a) shape[a] = 1;
  }
  return build.view(x, shape);
}

/// A row of weights is packed with more like it, which only short rows can afford.
constexpr int64_t kMostWeights = 2048;

Value* weighted_sum(const Builder& build, Value* x, const Dim& rows, int64_t length,
                    double weight) {
  // Rows that are there already need no view, for which XNNPACK copies a value that others read.
  if (x->shape().empty() || x->shape().back() != Dim(length)) x = build.view(x, {rows, length});
  return build.add(Op::linear, {x, build.constant(filled(x->dtype(), {1, length}, weight))},
                   LinearAttrs{});
}

int64_t largest_divisor(int64_t number, int64_t most) {
  int64_t divisor = std::min(number, most);
  while (number % divisor != 0) --divisor;
  return divisor;
}

/// The mean over a run of axes. Over the last axes a row of equal weights computes it, over others
/// the global average pool, and over long rows first the pool and then the weights.
Value* mean_of_run(const Builder& build, Value* x, const Run& run) {
  auto pool = [&](Value* value, const Dim& length, const Dim& inner) {
    return build.add(Op::reduce_mean, {build.view(value, {run.outer, length, 1, inner})},
                     AxesAttrs{{1, 2}});
  };
  if (!run.inner.is_one() || !run.length.is_static()) return pool(x, run.length, run.inner);
  const int64_t length = run.length.value();
  const int64_t width = largest_divisor(length, kMostWeights);
  if (width < length) x = pool(x, length / width, width);
  return weighted_sum(build, x, run.outer, width, 1.0 / static_cast<double>(width));
}

Value* reduce_mean(const Builder& build, const Node& node) {
  return reduce(
      build, node, [](const Run&) { return true; },
      [&](Value* x, const Run& run) { return mean_of_run(build, x, run); });
}

Value* reduce_sum(const Builder& build, const Node& node) {
  return reduce(build, node, has_fixed_length, [&](Value* x, const Run& run) {
    if (run.inner.is_one() && run.length.value() <= kMostWeights)
      return weighted_sum(build, x, run.outer, run.length.value(), 1);
    return build.add(Op::mul, {mean_of_run(build, x, run),
                               scalar(build, x, static_cast<double>(run.length.value()))});
  });
}

Value* max_of_run(const Builder& build, Value* x, const Run& run) {
  if (run.length.is_one()) return x;
  PoolAttrs attrs;
  attrs.kernel = {run.length.value(), 1};
  attrs.stride = attrs.dilation = {1, 1};
  attrs.low = attrs.high = {0, 0};
  return build.add(Op::max_pool, {build.view(x, {run.outer, run.length, 1, run.inner})},
                   std::move(attrs));
}

Value* reduce_max(const Builder& build, const Node& node) {
  return reduce(build, node, has_fixed_length,
                [&](Value* x, const Run& run) { return max_of_run(build, x, run); });
}

Value* reduce_min(const Builder& build, const Node& node) {
  return reduce(build, node, has_fixed_length, [&](Value* x, const Run& run) {
    return build.add(Op::neg, {max_of_run(build, build.add(Op::neg, {x}), run)});
  });
}

/// 1 where a row of a mask has an element above minus infinity, and 0 elsewhere: attention with a
/// mask that is given at run time asks which queries see a key at all. XNNPACK has no truth values.
/// Half of the least number is far from it, and half of minus infinity is clamped to it, so the
/// greatest of a row tells them apart.
Value* convert_any_above_infinity(const Builder& build, const Node& node) {
  const DType dtype = node.result()->dtype();
  const Node* any = node.operand(0)->def();
  if (!computes(dtype) || any == nullptr || !any->is(Op::reduce_any)) return nullptr;
  const Node* above = any->operand(0)->def();
  if (above == nullptr || !above->is(Op::greater) || above->operand(0)->dtype() != dtype)
    return nullptr;
  if (!is_number(above->operand(1), -kInfinity)) return nullptr;
  Value* x = above->operand(0);
  const auto& axes = any->attrs<AxesAttrs>();
  for (int64_t axis : axes.axes)
    if (!x->shape()[static_cast<size_t>(axis)].is_static()) return nullptr;
  const double greatest = dtype == DType::f16 ? 65504.0 : std::numeric_limits<float>::max();
  Value* halves = build.add(Op::mul, {x, scalar(build, x, 0.5)});
  Value* most = build.add(Op::reduce_max, {build.clamp(halves, -greatest, kInfinity)}, axes);
  return build.clamp(build.add(Op::add, {most, scalar(build, x, greatest)}), 0, 1);
}

Value* softmax(const Builder& build, const Node& node) {
  const int64_t axis = node.attrs<AxisAttrs>().axis, last = node.result()->type().rank() - 1;
  if (axis == last || !computes(node.result()->dtype())) return nullptr;
  std::vector<int> order(static_cast<size_t>(last) + 1);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(last)]);
  Value* y = build.add(Op::softmax, {build.permute(node.operand(0), order)}, AxisAttrs{last});
  return build.permute(y, order);
}

/// XNNPACK resizes to fixed sizes only, but concatenates what is dynamic.
Value* resize(const Builder& build, const Node& node) {
  Value* y = rewrites::legal_resize(build, node);
  return y != nullptr ? y : rewrites::repeated_resize(build, node);
}

// --- contractions --------------------------------------------------------------------------------

/// Adds batch axes in front until both operands have the same number of axes.
Value* matmul(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<MatmulAttrs>();
  Value* a = node.operand(0);
  Value* b = node.operand(1);
  const size_t rank = std::max(a->shape().size(), b->shape().size());
  if (a->shape().size() == rank && b->shape().size() == rank) return nullptr;
  auto padded = [&](Value* x) {
    Shape shape(rank - x->shape().size(), Dim(1));
    shape.insert(shape.end(), x->shape().begin(), x->shape().end());
    return build.view(x, shape);
  };
  Value* y = build.add(Op::matmul, {padded(a), padded(b)}, attrs);
  return build.view(y, node.result()->shape());
}

/// Rewrites a linear op whose weight is computed at run time as a batched matmul: such a weight
/// cannot be packed.
Value* linear(const Builder& build, const Node& node) {
  if (constant_of(node.operand(1))) return nullptr;
  Value* x = node.operand(0);
  Value* weight = node.operand(1);
  const Dim inputs = x->shape().back(), outputs = weight->shape()[0];
  const Dim rows = product_of(x->shape(), 0, x->shape().size() - 1);
  Value* y = build.add(Op::matmul,
                       {build.view(x, {1, rows, inputs}), build.view(weight, {1, outputs, inputs})},
                       MatmulAttrs{true});
  if (node.operand_count() > 2) y = build.add(Op::add, {y, node.operand(2)});
  y = build.view(y, node.result()->shape());
  const Bounds& bounds = node.attrs<LinearAttrs>().bounds;
  return bounds.unbounded() ? y : build.clamp(y, bounds.min, bounds.max);
}

constexpr Rule kRules[] = {
    {Op::relayout, if_computed<relayout>},
    {Op::reciprocal, reciprocal},
    {Op::where, where},
    {Op::gelu, rewrites::gelu_tanh},
    {Op::expand, expand},
    {Op::slice, if_computed<rewrites::legal_slice>},
    {Op::concat, rewrites::legal_concat},
    {Op::pad, rewrites::legal_pad},
    {Op::counted_slice, rewrites::fixed_count},
    {Op::roll, rewrites::legal_roll},
    {Op::resize, if_computed<resize>},
    {Op::conv, if_computed<rewrites::legal_conv>},
    {Op::conv_transpose, if_computed<rewrites::legal_conv_transpose>},
    {Op::max_pool, if_computed<rewrites::legal_pool>},
    {Op::avg_pool, if_computed<rewrites::legal_pool>},
    {Op::reduce_mean, reduce_mean},
    {Op::reduce_sum, reduce_sum},
    {Op::reduce_max, reduce_max},
    {Op::reduce_min, reduce_min},
    {Op::convert, convert_any_above_infinity},
    {Op::normalize, rewrites::normalize},
    {Op::softmax, softmax},
    {Op::log_softmax, if_computed<rewrites::log_softmax>},
    {Op::matmul, matmul},
    {Op::linear, linear},
};

}  // namespace

namespace {

/// Why neither a delegate nor a kernel of the runtime computes the node.
std::string refusal_by_all(const Node& node) {
  return refusal(node).empty() ? std::string() : kernel_refusal(node);
}

}  // namespace

bool legalise(Graph& graph) {
  const bool changed = rewrites::apply_rules(graph, refusal, kRules, kMostAxes);
  return rewrites::apply_rules(graph, refusal_by_all, kernel_rules(), kMostAxes) || changed;
}

}  // namespace layline::xnnpack

// Drops what does nothing and shortens what can be said in fewer ops. One rule for each op; a rule
// returns the value that stands for the node's result, or null.
//
// x + 0 becomes x although it turns -0.0 into 0.0; all other rules are exact.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "ir/evaluate.h"
#include "transforms/passes.h"
#include "transforms/rewrite.h"

namespace layline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// x as the result of the node, whose type it must have.
Value* if_same_type(const Node& node, Value* x) {
  return x->type() == node.result()->type() ? x : nullptr;
}

Value* bounded(const Builder& build, Value* x, const Bounds& bounds) {
  return x == nullptr || bounds.unbounded() ? x : build.clamp(x, bounds.min, bounds.max);
}

/// x * 1, x / 1, x + 0, x - 0; the commutative ones from both sides.
Value* simplify_arithmetic(const Builder& build, const Node& node) {
  const double neutral = node.is(Op::mul) || node.is(Op::div) ? 1 : 0;
  const Bounds& bounds = node.attrs<BinaryAttrs>().bounds;
  if (uniform_value(node.operand(1)) == neutral)
    if (Value* x = if_same_type(node, node.operand(0))) return bounded(build, x, bounds);
  const bool commutes = node.is(Op::mul) || node.is(Op::add);
  if (commutes && uniform_value(node.operand(0)) == neutral)
    return bounded(build, if_same_type(node, node.operand(1)), bounds);
  return nullptr;
}

/// The greater of x and a number is a clamp, which other ops can take in.
Value* simplify_extremum(const Builder& build, const Node& node) {
  for (const int side : {0, 1}) {
    const auto number = uniform_value(node.operand(side));
    Value* x = if_same_type(node, node.operand(1 - side));
    if (!number || *number != *number || x == nullptr || !is_float(x->dtype())) continue;
    return node.is(Op::maximum) ? build.clamp(x, *number, kInfinity)
                                : build.clamp(x, -kInfinity, *number);
  }
  return nullptr;
}

/// A product with a constant matrix on the right is linear, for which targets pack the matrix.
Value* simplify_matmul(const Builder& build, const Node& node) {
  Value* matrix = matrix_of_all_batches(node);
  if (matrix == nullptr) return nullptr;
  matrix = build.view(matrix, {matrix->shape().end() - 2, matrix->shape().end()});
  static constexpr int kSwap[] = {1, 0};
  Value* weight = node.attrs<MatmulAttrs>().transpose_b ? matrix : build.permute(matrix, kSwap);
  return build.add(Op::linear, {node.operand(0), weight}, LinearAttrs{});
}

Value* simplify_expand(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (Value* same = if_same_type(node, x)) return same;
  if (x->def() == nullptr || !x->def()->is(Op::expand)) return nullptr;
  return build.expand(x->def()->operand(0), node.result()->shape());
}

Value* simplify_slice(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  const SliceAttrs& outer = node.attrs<SliceAttrs>();
  const auto is_one = [](int64_t step) { return step == 1; };
  if (x->shape() == outer.size && std::ranges::all_of(outer.step, is_one)) return x;
  if (x->def() == nullptr || !x->def()->is(Op::slice)) return nullptr;
  const SliceAttrs& inner = x->def()->attrs<SliceAttrs>();
  SliceAttrs both = outer;
  for (size_t i = 0; i < both.start.size(); ++i) {
    const auto offset = checked_mul(outer.start[i], inner.step[i]);
    const auto start = offset ? checked_add(*offset, inner.start[i]) : std::nullopt;
    const auto step = checked_mul(outer.step[i], inner.step[i]);
    if (!start || !step) return nullptr;
    both.start[i] = *start;
    both.step[i] = *step;
  }
  return build.add(Op::slice, {x->def()->operand(0)}, std::move(both));
}

/// Elements at known places that are evenly spaced are a slice, which needs no kernel of its own.
/// Exported models take queries, keys and values apart so.
Value* simplify_gather(const Builder& build, const Node& node) {
  const auto axis = static_cast<size_t>(node.attrs<AxisAttrs>().axis);
  const Dim length = node.operand(0)->shape()[axis];
  const Constant* indices = constant_of(node.operand(1));
  if (indices == nullptr || !length.is_static()) return nullptr;
  const Tensor places = tensor_of(*indices);
  const int64_t count = places.count();
  if (count == 0) return nullptr;
  const int64_t start = places.get_int(0), step = count > 1 ? places.get_int(1) - start : 1;
  if (step < 1 || start < 0 || start + (count - 1) * step >= length.value()) return nullptr;
  for (int64_t i = 2; i < count; ++i)
    if (places.get_int(i) != start + i * step) return nullptr;
  return build.view(build.slice(node.operand(0), static_cast<int64_t>(axis), start, count, step),
                    node.result()->shape());
}

Value* simplify_pad(const Builder&, const Node& node) {
  return if_same_type(node, node.operand(0));
}

Value* simplify_flip(const Builder&, const Node& node) {
  const Shape& shape = node.result()->shape();
  const auto is_unit = [&](int64_t axis) { return shape[static_cast<size_t>(axis)].is_one(); };
  return std::ranges::all_of(node.attrs<AxesAttrs>().axes, is_unit) ? node.operand(0) : nullptr;
}

Value* simplify_roll(const Builder&, const Node& node) {
  const auto is_zero = [](int64_t shift) { return shift == 0; };
  return std::ranges::all_of(node.attrs<RollAttrs>().shifts, is_zero) ? node.operand(0) : nullptr;
}

/// Reduced axes stay with one element, so there is nothing to do along axes that have one.
Value* simplify_reduce(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  Ints axes = node.attrs<AxesAttrs>().axes;
  std::erase_if(axes, [&](int64_t axis) { return x->shape()[static_cast<size_t>(axis)].is_one(); });
  if (axes.empty()) return if_same_type(node, x);
  if (axes.size() == node.attrs<AxesAttrs>().axes.size()) return nullptr;
  return build.add(node.op(), {x}, AxesAttrs{std::move(axes)});
}

Value* simplify_pool(const Builder& build, const Node& node) {
  const PoolAttrs& pool = node.attrs<PoolAttrs>();
  const auto all = [](const Ints& list, int64_t value) {
    return std::ranges::all_of(list, [&](int64_t entry) { return entry == value; });
  };
  if (!all(pool.kernel, 1) || !all(pool.stride, 1) || !all(pool.low, 0) || !all(pool.high, 0))
    return nullptr;
  return bounded(build, node.operand(0), pool.bounds);
}

Value* simplify_resize(const Builder&, const Node& node) {
  const ResizeAttrs& resize = node.attrs<ResizeAttrs>();
  for (size_t i = 0; i < resize.step.size(); ++i)
    if (resize.step[i] != 1 && resize.size[i] != 1) return nullptr;
  return if_same_type(node, node.operand(0));
}

Value* simplify_neg(const Builder&, const Node& node) {
  const Node* inner = node.operand(0)->def();
  return inner != nullptr && inner->is(Op::neg) ? inner->operand(0) : nullptr;
}

Value* simplify_not(const Builder&, const Node& node) {
  const Node* inner = node.operand(0)->def();
  return inner != nullptr && inner->is(Op::logical_not) ? if_same_type(node, inner->operand(0))
                                                        : nullptr;
}

/// A choice by the opposite of a condition is one by the condition.
Value* simplify_where(const Builder& build, const Node& node) {
  const Node* inner = node.operand(0)->def();
  if (inner == nullptr || !inner->is(Op::logical_not)) return nullptr;
  Value* condition = inner->operand(0);
  if (condition->dtype() != DType::boolean) return nullptr;
  return build.add(Op::where, {condition, node.operand(2), node.operand(1)});
}

Value* simplify_concat(const Builder&, const Node& node) {
  return node.operand_count() == 1 ? node.operand(0) : nullptr;
}

/// Whether x is a float that has been rounded and clamped to what an integer of 32 bits holds.
bool is_whole_and_small(const Value* x) {
  const Node* clamp = x->def();
  if (clamp == nullptr || !clamp->is(Op::clamp)) return false;
  const Node* round = clamp->operand(0)->def();
  const Bounds& bounds = clamp->attrs<ClampAttrs>().bounds;
  return round != nullptr && round->is(Op::round) && bounds.min >= -0x1p31 && bounds.max < 0x1p31 &&
         bounds.min == std::trunc(bounds.min) && bounds.max == std::trunc(bounds.max);
}

/// A whole float is the same after it has been an integer.
Value* simplify_convert(const Builder&, const Node& node) {
  if (Value* same = if_same_type(node, node.operand(0))) return same;
  const Node* inner = node.operand(0)->def();
  if (inner == nullptr || !inner->is(Op::convert) || inner->result()->dtype() != DType::i32 ||
      !is_whole_and_small(inner->operand(0)))
    return nullptr;
  return if_same_type(node, inner->operand(0));
}

/// What moves integers between two reinterprets that cancel moves what they stand for.
Value* moved_without_reinterprets(const Builder& build, const Node& node) {
  const Node* move = node.operand(0)->def();
  if (move == nullptr || !(move->is(Op::relayout) || move->is(Op::slice))) return nullptr;
  const Node* inner = move->operand(0)->def();
  if (inner == nullptr || !inner->is(Op::reinterpret)) return nullptr;
  Value* source = inner->operand(0);
  const QuantisationRef& quantisation = source->type().quantisation;
  if (!quantisation || !quantisation->per_tensor() ||
      quantisation != node.result()->type().quantisation)
    return nullptr;
  return build.add(move->op(), {source}, move->attributes());
}

/// Two reinterprets are one: the integers stay, whatever they stood for in between.
Value* simplify_reinterpret(const Builder& build, const Node& node) {
  Value* x = node.operand(0);
  if (Value* same = if_same_type(node, x)) return same;
  if (const Constant* data = stored_constant(x))
    return build.constant(*data, node.result()->type().quantisation);
  if (x->def() == nullptr || !x->def()->is(Op::reinterpret))
    return moved_without_reinterprets(build, node);
  Value* source = x->def()->operand(0);
  if (Value* same = if_same_type(node, source)) return same;
  return build.add(Op::reinterpret, {source}, node.attributes());
}

Value* simplify_clamp(const Builder& build, const Node& node) {
  const Bounds& bounds = node.attrs<ClampAttrs>().bounds;
  if (bounds.unbounded()) return node.operand(0);
  const Node* inner = node.operand(0)->def();
  if (inner == nullptr || !inner->is(Op::clamp)) return nullptr;
  const Bounds both = clamped_twice(inner->attrs<ClampAttrs>().bounds, bounds);
  return build.clamp(inner->operand(0), both.min, both.max);
}

using Rule = Value*(const Builder&, const Node&);

Rule* rule_of(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
      return simplify_arithmetic;
    case Op::minimum:
    case Op::maximum:
      return simplify_extremum;
    case Op::expand:
      return simplify_expand;
    case Op::slice:
      return simplify_slice;
    case Op::gather:
      return simplify_gather;
    case Op::pad:
      return simplify_pad;
    case Op::flip:
      return simplify_flip;
    case Op::roll:
      return simplify_roll;
    case Op::concat:
      return simplify_concat;
    case Op::neg:
      return simplify_neg;
    case Op::logical_not:
      return simplify_not;
    case Op::where:
      return simplify_where;
    case Op::convert:
      return simplify_convert;
    case Op::reinterpret:
      return simplify_reinterpret;
    case Op::clamp:
      return simplify_clamp;
    case Op::matmul:
      return simplify_matmul;
    case Op::max_pool:
    case Op::avg_pool:
      return simplify_pool;
    case Op::resize:
      return simplify_resize;
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_prod:
    case Op::reduce_any:
    case Op::reduce_all:
      return simplify_reduce;
    default:
      return nullptr;
  }
}

/// Elementwise ops broadcast by themselves: an operand need not be expanded where another one, or
/// what is left of it, gives the result its shape.
bool read_unexpanded(Graph& graph, Node* node, PassContext& context) {
  bool changed = false;
  // The operand of prelu that is not its slope gives the result its shape.
  for (int i = node->is(Op::prelu) ? 1 : 0; i < node->operand_count(); ++i) {
    Node* expand = node->operand(i)->def();
    if (expand == nullptr || !expand->is(Op::expand)) continue;
    std::optional<Shape> shape = expand->operand(0)->shape();
    for (int k = 0; shape && k < node->operand_count(); ++k)
      if (k != i) shape = broadcast(*shape, node->operand(k)->shape());
    if (shape != node->result()->shape()) continue;
    context.rewrite(*node, "reads {} without expanding it", expand->operand(0)->name());
    graph.set_operand(node, i, expand->operand(0));
    erase_unused(graph, expand);
    changed = true;
  }
  return changed;
}

}  // namespace

bool simplify(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph) {
    if (is_elementwise(node->op())) changed = read_unexpanded(graph, node, context) || changed;
    Rule* rule = rule_of(node->op());
    // What does nothing to real numbers may still round: only movements are looked at.
    const bool rounds = is_quantised(*node) && info(node->op()).op_class != OpClass::movement;
    if (rule == nullptr || (rounds && !node->is(Op::reinterpret))) continue;
    Value* result = rule(BuildBefore(graph, node), *node);
    if (result == nullptr) continue;
    context.rewrite(*node, "is {}", result->name());
    replace(graph, node, result);
    changed = true;
  }
  return changed;
}

}  // namespace layline

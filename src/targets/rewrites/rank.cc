#include "targets/rewrites/rank.h"

#include <algorithm>
#include <numeric>

namespace layline::rewrites {
namespace {

Dim product_of(const Shape& shape, size_t first, size_t last) {
  return product(std::span(shape).subspan(first, last - first));
}

/// x in a shape that it broadcasts to, one axis after the other.
Value* expanded(const Builder& build, Value* x, const Shape& shape) {
  Shape from(shape.size() - x->shape().size(), Dim(1));
  from.insert(from.end(), x->shape().begin(), x->shape().end());
  for (size_t a = shape.size(); a-- > 0;) {
    if (from[a] == shape[a]) continue;
    const Dim outer = product_of(from, 0, a), inner = product_of(from, a + 1, from.size());
    x = build.expand(build.view(x, {outer, 1, inner}), {outer, shape[a], inner});
    from[a] = shape[a];
  }
  return build.view(x, shape);
}

/// Neighbouring axes that all operands have, or that the same operands broadcast, are one axis.
Value* elementwise(const Builder& build, const Node& node, size_t most_axes) {
  const Shape& result = node.result()->shape();
  std::vector<Shape> shapes;
  for (const Value* operand : node.operands()) {
    shapes.emplace_back(result.size() - operand->shape().size(), Dim(1));
    shapes.back().insert(shapes.back().end(), operand->shape().begin(), operand->shape().end());
  }
  Shape merged;
  std::vector<Shape> operands(shapes.size());
  std::vector<bool> previous;
  for (size_t a = 0; a < result.size(); ++a) {
    if (result[a].is_one()) continue;
    std::vector<bool> broadcast;
    for (const Shape& shape : shapes) broadcast.push_back(shape[a].is_one());
    if (merged.empty() || broadcast != previous) {
      merged.push_back(1);
      for (Shape& operand : operands) operand.push_back(1);
    }
    merged.back() = merged.back() * result[a];
    for (size_t i = 0; i < shapes.size(); ++i)
      operands[i].back() = operands[i].back() * shapes[i][a];
    previous = std::move(broadcast);
  }
  std::vector<Value*> views;
  for (size_t i = 0; i < operands.size(); ++i) {
    Value* operand = node.operand(static_cast<int>(i));
    views.push_back(merged.size() <= most_axes
                        ? build.view(operand, operands[i])
                        : build.view(expanded(build, operand, result), {element_count(result)}));
  }
  return build.view(build.add(node.op(), std::move(views), node.attributes()), result);
}

/// Groups of neighbouring axes: each axis for which `alone` holds by itself, those between
/// together.
template <typename Alone>
std::vector<std::pair<size_t, size_t>> groups(size_t rank, Alone alone) {
  std::vector<std::pair<size_t, size_t>> result;
  for (size_t a = 0; a < rank; ++a) {
    if (a > 0 && !alone(a) && !alone(a - 1))
      result.back().second = a + 1;
    else
      result.emplace_back(a, a + 1);
  }
  return result;
}

Value* slice(const Builder& build, const Node& node, size_t most_axes) {
  const auto& attrs = node.attrs<SliceAttrs>();
  const Shape& from = node.operand(0)->shape();
  const auto kept = groups(from.size(), [&](size_t a) { return attrs.size[a] != from[a]; });
  if (kept.size() > most_axes) return nullptr;
  Shape merged;
  SliceAttrs fewer;
  for (const auto& [first, last] : kept) {
    const bool whole = last - first > 1;
    merged.push_back(product_of(from, first, last));
    fewer.start.push_back(whole ? 0 : attrs.start[first]);
    fewer.size.push_back(whole ? merged.back() : attrs.size[first]);
    fewer.step.push_back(whole ? 1 : attrs.step[first]);
  }
  Value* y = build.add(Op::slice, {build.view(node.operand(0), merged)}, std::move(fewer));
  return build.view(y, node.result()->shape());
}

Value* pad(const Builder& build, const Node& node, size_t most_axes) {
  const auto& attrs = node.attrs<PadAttrs>();
  const Shape& from = node.operand(0)->shape();
  const auto kept =
      groups(from.size(), [&](size_t a) { return attrs.low[a] != 0 || attrs.high[a] != 0; });
  if (kept.size() > most_axes) return nullptr;
  Shape merged;
  PadAttrs fewer{{}, {}, attrs.mode, attrs.value};
  for (const auto& [first, last] : kept) {
    merged.push_back(product_of(from, first, last));
    fewer.low.push_back(last - first > 1 ? 0 : attrs.low[first]);
    fewer.high.push_back(last - first > 1 ? 0 : attrs.high[first]);
  }
  Value* y = build.add(Op::pad, {build.view(node.operand(0), merged)}, std::move(fewer));
  return build.view(y, node.result()->shape());
}

/// Merges the axes of a concatenation or softmax into three: its own, those outside and those
/// inside.
Value* along_one_axis(const Builder& build, const Node& node) {
  const auto axis = static_cast<size_t>(node.attrs<AxisAttrs>().axis);
  std::vector<Value*> views;
  for (Value* operand : node.operands()) {
    const Shape& shape = operand->shape();
    const Dim outer = product_of(shape, 0, axis), inner = product_of(shape, axis + 1, shape.size());
    views.push_back(build.view(
        operand, inner.is_one() ? Shape{outer, shape[axis]} : Shape{outer, shape[axis], inner}));
  }
  Value* y = build.add(node.op(), std::move(views), AxisAttrs{1});
  return build.view(y, node.result()->shape());
}

Value* linear(const Builder& build, const Node& node) {
  std::vector<Value*> operands(node.operands().begin(), node.operands().end());
  const Shape& shape = operands[0]->shape();
  operands[0] = build.view(operands[0], {product_of(shape, 0, shape.size() - 1), shape.back()});
  Value* y = build.add(Op::linear, std::move(operands), node.attributes());
  return build.view(y, node.result()->shape());
}

/// Merges the batch axes into one, if neither operand broadcasts along them.
Value* matmul(const Builder& build, const Node& node) {
  std::vector<Value*> views;
  const Shape& result = node.result()->shape();
  const size_t batch_axes = result.size() - 2;
  const Dim batch = product_of(result, 0, batch_axes);
  for (Value* operand : node.operands()) {
    const Shape& shape = operand->shape();
    if (!std::equal(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(batch_axes),
                    shape.begin(), shape.end() - 2))
      return nullptr;
    views.push_back(build.view(operand, {batch, shape[batch_axes], shape[batch_axes + 1]}));
  }
  return build.view(build.add(Op::matmul, std::move(views), node.attributes()), result);
}

/// `order` with the block [first, middle) moved behind [middle, last).
Permutation moved(Permutation order, size_t first, size_t middle, size_t last) {
  std::rotate(order.begin() + static_cast<std::ptrdiff_t>(first),
              order.begin() + static_cast<std::ptrdiff_t>(middle),
              order.begin() + static_cast<std::ptrdiff_t>(last));
  return order;
}

/// How many places in `order` are followed by something else than in `goal`: the number of factors
/// in a transpose from one to the other.
size_t factors_between(const Permutation& order, const Permutation& goal) {
  Few<int> next(order.size(), -1);
  for (size_t i = 0; i + 1 < goal.size(); ++i) next[static_cast<size_t>(goal[i])] = goal[i + 1];
  size_t factors = 1;
  for (size_t i = 0; i + 1 < order.size(); ++i)
    factors += next[static_cast<size_t>(order[i])] != order[i + 1];
  return factors;
}

}  // namespace

Value* with_fewer_axes(const Builder& build, const Node& node, size_t most_axes) {
  size_t axes = node.result()->shape().size();
  for (const Value* operand : node.operands()) {
    axes = std::max(axes, operand->shape().size());
    if (!is_static(operand->shape())) return nullptr;
  }
  if (axes <= most_axes) return nullptr;
  if (is_elementwise(node.op())) return elementwise(build, node, most_axes);
  switch (node.op()) {
    case Op::slice:
      return slice(build, node, most_axes);
    case Op::pad:
      return pad(build, node, most_axes);
    case Op::concat:
    case Op::softmax:
      return along_one_axis(build, node);
    case Op::linear:
      return linear(build, node);
    case Op::matmul:
      return matmul(build, node);
    default:
      return nullptr;
  }
}

Value* transpose_in_steps(const Builder& build, const Node& node, size_t most_axes) {
  const Relayout& whole = node.attrs<RelayoutAttrs>().relayout;
  const size_t rank = whole.factors().size();
  if (rank <= most_axes) return nullptr;
  Permutation order(rank);
  std::iota(order.begin(), order.end(), 0);
  auto shape_of = [&](const Permutation& factors) {
    Shape shape;
    for (int factor : factors) shape.push_back(whole.factors()[static_cast<size_t>(factor)]);
    return shape;
  };
  // Until few enough are left, the move of a block after which the fewest are. There is always one
  // that brings together two factors which stay together.
  Value* x = node.operand(0);
  while (factors_between(order, whole.order()) > most_axes) {
    Permutation best;
    Dim outer, first_block, second_block, inner;
    for (size_t first = 0; first < rank; ++first)
      for (size_t middle = first + 1; middle < rank; ++middle)
        for (size_t last = middle + 1; last <= rank; ++last) {
          Permutation next = moved(order, first, middle, last);
          if (!best.empty() &&
              factors_between(next, whole.order()) >= factors_between(best, whole.order()))
            continue;
          best = std::move(next);
          const Shape shape = shape_of(order);
          outer = product_of(shape, 0, first);
          first_block = product_of(shape, first, middle);
          second_block = product_of(shape, middle, last);
          inner = product_of(shape, last, rank);
        }
    const Shape flat = {element_count(x->shape())};
    x = build.relayout(build.view(x, flat),
                       Relayout::from_factors(flat, {outer, first_block, second_block, inner},
                                              {0, 2, 1, 3}, flat));
    order = std::move(best);
  }
  Permutation rest;
  for (int factor : whole.order())
    rest.push_back(static_cast<int>(std::ranges::find(order, factor) - order.begin()));
  return build.relayout(
      x, Relayout::from_factors(x->shape(), shape_of(order), std::move(rest), whole.target()));
}

}  // namespace layline::rewrites

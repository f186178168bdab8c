#include "transforms/carry.h"

#include <algorithm>

#include "base/error.h"

namespace layline {
namespace {

/// The axis of the source that is axis `target_axis` of the target.
std::optional<int64_t> source_axis(const Relayout& relayout, int64_t target_axis) {
  if (const auto perm = relayout.as_permutation()) return (*perm)[static_cast<size_t>(target_axis)];
  return relayout.inverse().target_axis(static_cast<int>(target_axis));
}

/// Gives one axis another size. The axis must be a digit of its own: the factor that contains it is
/// split around it.
std::optional<Relayout> resized(const Relayout& relayout, size_t target_axis, Dim size) {
  Shape source = relayout.source();
  Shape target = relayout.target();
  const auto axis = relayout.inverse().target_axis(static_cast<int>(target_axis));
  const Dim old_size = target[target_axis];
  if (!axis || old_size.is_one() || old_size.is_zero()) return std::nullopt;
  const Dim stride = product(std::span(source).subspan(static_cast<size_t>(*axis) + 1));
  source[static_cast<size_t>(*axis)] = size;
  target[target_axis] = size;

  const std::vector<Dim>& factors = relayout.factors();
  for (size_t f = 0; f < factors.size(); ++f) {
    const auto inner = divide(stride, product(std::span(factors).subspan(f + 1)));
    const auto outer = inner ? divide(factors[f], *inner * old_size) : std::nullopt;
    if (!outer) continue;
    std::vector<Dim> split(factors.begin(), factors.end());
    split[f] = *outer;
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(f) + 1, {size, *inner});
    std::vector<int> order;
    const int whole = static_cast<int>(f);
    for (const int factor : relayout.order()) {
      order.push_back(factor > whole ? factor + 2 : factor);
      if (factor == whole) order.insert(order.end(), {whole + 1, whole + 2});
    }
    return Relayout::from_factors(std::move(source), std::move(split), std::move(order),
                                  std::move(target));
  }
  return std::nullopt;
}

/// The attributes of a single-operand op that treats each axis by itself, on the relayout's source.
/// Each returns false where an axis that the op works along is no axis there.
class CarryAxes {
 public:
  explicit CarryAxes(const Relayout& relayout) : relayout_(relayout) {}

  bool operator()(AxisAttrs& attrs) const { return move(attrs.axis); }

  bool operator()(AxesAttrs& attrs) const {
    if (!std::ranges::all_of(attrs.axes, [&](int64_t& axis) { return move(axis); })) return false;
    std::ranges::sort(attrs.axes);
    return true;
  }

  bool operator()(RollAttrs& attrs) const {
    return std::ranges::all_of(attrs.axes, [&](int64_t& axis) { return move(axis); });
  }

  bool operator()(SliceAttrs& attrs) const {
    const Shape& source = relayout_.source();
    SliceAttrs moved{Ints(source.size(), 0), source, Ints(source.size(), 1)};
    for (size_t axis = 0; axis < attrs.start.size(); ++axis) {
      if (attrs.start[axis] == 0 && attrs.step[axis] == 1 &&
          attrs.size[axis] == relayout_.target()[axis])
        continue;
      const auto to = source_axis(relayout_, static_cast<int64_t>(axis));
      if (!to) return false;
      const auto place = static_cast<size_t>(*to);
      moved.start[place] = attrs.start[axis];
      moved.size[place] = attrs.size[axis];
      moved.step[place] = attrs.step[axis];
    }
    attrs = std::move(moved);
    return true;
  }

  bool operator()(PadAttrs& attrs) const {
    Ints low(relayout_.source().size(), 0), high = low;
    for (size_t axis = 0; axis < attrs.low.size(); ++axis) {
      if (attrs.low[axis] == 0 && attrs.high[axis] == 0) continue;
      const auto to = source_axis(relayout_, static_cast<int64_t>(axis));
      if (!to) return false;
      low[static_cast<size_t>(*to)] = attrs.low[axis];
      high[static_cast<size_t>(*to)] = attrs.high[axis];
    }
    attrs.low = std::move(low);
    attrs.high = std::move(high);
    return true;
  }

  bool operator()(auto&) const { return false; }

 private:
  bool move(int64_t& axis) const {
    const auto to = source_axis(relayout_, axis);
    if (to) axis = *to;
    return to.has_value();
  }

  const Relayout& relayout_;
};

std::optional<Carried> carry_elementwise(const Node& node, const Relayout& relayout) {
  if (relayout.target() != node.result()->shape()) return std::nullopt;
  const Relayout back = relayout.inverse();
  Carried carried{{}, node.attributes(), relayout};
  for (const Value* operand : node.operands()) {
    const Shape& shape = operand->shape();
    const bool broadcasts_anyway = element_count(shape).is_one() && shape != relayout.target() &&
                                   shape.size() <= relayout.source().size();
    if (broadcasts_anyway) {
      carried.operands.push_back(Relayout::identity(shape));
    } else if (auto moved = back.for_broadcast(shape)) {
      carried.operands.push_back(*std::move(moved));
    } else {
      return std::nullopt;
    }
  }
  return carried;
}

std::optional<Carried> carry_along_axes(const Node& node, const Relayout& relayout) {
  auto result = with_target_sizes(relayout, node.result()->shape());
  if (!result) return std::nullopt;
  Carried carried{{}, node.attributes(), *std::move(result)};
  if (!std::visit(CarryAxes(relayout), carried.attributes)) return std::nullopt;
  // The parts of a concat differ along its axis only.
  for (const Value* operand : node.operands()) {
    const auto part = with_target_sizes(relayout, operand->shape());
    if (!part) return std::nullopt;
    carried.operands.push_back(part->inverse());
  }
  return carried;
}

}  // namespace

std::optional<Relayout> with_target_sizes(const Relayout& relayout, const Shape& target) {
  LAYLINE_ASSERT(target.size() == relayout.target().size(), "{} and {} differ in rank",
                 to_string(target), to_string(relayout.target()));
  if (const auto perm = relayout.as_permutation()) {
    Shape source = relayout.source();
    for (size_t i = 0; i < target.size(); ++i) source[static_cast<size_t>((*perm)[i])] = target[i];
    return Relayout::permute(std::move(source), *perm);
  }
  std::optional<Relayout> result = relayout;
  for (size_t i = 0; result && i < target.size(); ++i)
    if (result->target()[i] != target[i]) result = resized(*result, i, target[i]);
  return result;
}

bool can_carry(Op op) {
  return is_elementwise(op) || info(op).op_class == OpClass::axis || op == Op::slice ||
         op == Op::concat || op == Op::pad || op == Op::flip || op == Op::roll;
}

std::optional<Carried> carry(const Node& node, int index, const Relayout& relayout) {
  LAYLINE_ASSERT(relayout.target() == node.operand(index)->shape(),
                 "{} is no relayout to operand {} of {}", to_string(relayout), index,
                 node.result()->name());
  if (!can_carry(node.op())) return std::nullopt;
  return is_elementwise(node.op()) ? carry_elementwise(node, relayout)
                                   : carry_along_axes(node, relayout);
}

}  // namespace layline

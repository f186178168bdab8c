#include "frontend/ops/view.h"

#include <algorithm>
#include <numeric>

#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

std::vector<int> order_of(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Where the channels of [..., C, H, W] are.
size_t channel_axis(const Builder& build, const Value* x) {
  if (x->shape().size() < 3)
    build.fail("takes 3 axes or more, but the input is {}", to_string(x->type()));
  return x->shape().size() - 3;
}

/// The last axes in another order; the others stay.
Value* permute_last(const Builder& build, Value* x, std::initializer_list<int> last) {
  std::vector<int> order = order_of(x->shape().size());
  const auto first = order.end() - static_cast<std::ptrdiff_t>(last.size());
  const int offset = *first;
  std::ranges::transform(last, first, [offset](int axis) { return axis + offset; });
  return build.permute(x, order);
}

}  // namespace

Shape complete_shape(const Builder& build, const std::vector<std::optional<Dim>>& sizes,
                     const Dim& count, const Dim& beside_zero) {
  Shape shape;
  std::optional<size_t> open;
  Dim known = 1;
  for (const auto& size : sizes) {
    if (size)
      known = known * *size;
    else
      open = shape.size();
    shape.push_back(size.value_or(Dim(1)));
  }
  if (open) {
    const auto rest = known.is_zero() ? std::optional(beside_zero) : divide(count, known);
    if (!rest) build.fail("{} elements do not fit {}", to_string(count), to_string(shape));
    shape[*open] = *rest;
  }
  if (element_count(shape) != count)
    build.fail("{} elements do not fit {}", to_string(count), to_string(shape));
  return shape;
}

Value* move_axes(const Builder& build, Value* x, const Ints& from, const Ints& to) {
  const size_t rank = x->shape().size();
  if (from.size() != to.size()) build.fail("moves {} axes to {} places", from.size(), to.size());
  std::vector<int> order(rank, -1);
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < from.size(); ++i) {
    order[static_cast<size_t>(to[i])] = static_cast<int>(from[i]);
    moved[static_cast<size_t>(from[i])] = true;
  }
  size_t next = 0;
  for (int& axis : order) {
    if (axis >= 0) continue;
    while (next < rank && moved[next]) ++next;
    if (next == rank) build.fail("moves an axis twice");
    axis = static_cast<int>(next++);
  }
  return build.permute(x, order);
}

Value* swap_axes(const Builder& build, Value* x, int64_t a, int64_t b) {
  std::vector<int> order = order_of(x->shape().size());
  if (!order.empty()) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return build.permute(x, order);
}

Value* reverse_axes(const Builder& build, Value* x) {
  std::vector<int> order = order_of(x->shape().size());
  std::ranges::reverse(order);
  return build.permute(x, order);
}

Value* pixel_shuffle(const Builder& build, Value* x, int64_t r) {
  const size_t c = channel_axis(build, x);
  const Shape& shape = x->shape();
  const auto channels = divide(shape[c], Dim(r) * r);
  if (!channels)
    build.fail("{} channels do not divide by {}", to_string(shape[c]), to_string(Dim(r) * r));
  Shape split(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(c));
  Shape result = split;
  split.insert(split.end(), {*channels, r, r, shape[c + 1], shape[c + 2]});
  result.insert(result.end(), {*channels, shape[c + 1] * r, shape[c + 2] * r});
  return build.view(permute_last(build, build.view(x, split), {0, 3, 1, 4, 2}), result);
}

Value* pixel_unshuffle(const Builder& build, Value* x, int64_t r) {
  const size_t c = channel_axis(build, x);
  const Shape& shape = x->shape();
  const auto height = divide(shape[c + 1], r), width = divide(shape[c + 2], r);
  if (!height || !width)
    build.fail("{} does not divide by {}", to_string(x->type()), to_string(Dim(r)));
  Shape split(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(c));
  Shape result = split;
  split.insert(split.end(), {shape[c], *height, r, *width, r});
  result.insert(result.end(), {shape[c] * (Dim(r) * r), *height, *width});
  return build.view(permute_last(build, build.view(x, split), {0, 2, 4, 1, 3}), result);
}

Value* channel_shuffle(const Builder& build, Value* x, int64_t groups) {
  if (x->shape().size() < 2)
    build.fail("takes 2 axes or more, but the input is {}", to_string(x->type()));
  const auto each = divide(x->shape()[1], groups);
  if (!each)
    build.fail("{} channels do not divide by {}", to_string(x->shape()[1]), to_string(Dim(groups)));
  Shape split = {x->shape()[0], groups, *each};
  split.insert(split.end(), x->shape().begin() + 2, x->shape().end());
  return build.view(swap_axes(build, build.view(x, split), 1, 2), x->shape());
}

/// [n] -> [1, n] -> [times, n] -> [times * n].
Value* repeat(const Builder& build, Value* x, Ints times) {
  Shape shape = x->shape();
  if (times.size() < shape.size()) times.insert(times.begin(), shape.size() - times.size(), 1);
  shape.insert(shape.begin(), times.size() - shape.size(), Dim(1));
  Shape split, expanded, result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (times[i] < 0) build.fail("repeats {} times", times[i]);
    if (times[i] != 1) {
      split.push_back(1);
      expanded.push_back(times[i]);
    }
    split.push_back(shape[i]);
    expanded.push_back(shape[i]);
    result.push_back(shape[i] * times[i]);
  }
  return build.view(build.expand(build.view(x, split), expanded), result);
}

/// [n] -> [n, 1] -> [n, times] -> [n * times].
Value* quarter_turns(const Builder& build, Value* x, int64_t from, int64_t to, int64_t times) {
  switch ((times % 4 + 4) % 4) {
    case 1:
      return swap_axes(build, build.add(Op::flip, {x}, AxesAttrs{{to}}), from, to);
    case 2:
      return build.add(Op::flip, {x}, AxesAttrs{{std::min(from, to), std::max(from, to)}});
    case 3:
      return swap_axes(build, build.add(Op::flip, {x}, AxesAttrs{{from}}), from, to);
    default:
      return x;
  }
}

Value* repeat_elements(const Builder& build, Value* x, int64_t axis, int64_t times) {
  if (times < 0) build.fail("repeats {} times", times);
  Shape split = x->shape();
  if (split.empty()) split.push_back(1);
  Shape result = split;
  const auto a = static_cast<size_t>(axis);
  result[a] = result[a] * times;
  split.insert(split.begin() + axis + 1, Dim(1));
  Shape expanded = split;
  expanded[a + 1] = times;
  return build.view(build.expand(build.view(x, split), expanded), result);
}

}  // namespace layline::ops

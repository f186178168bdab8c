#include "targets/rewrites/movement.h"

#include <algorithm>
#include <numeric>

#include "ir/evaluate.h"

namespace layline::rewrites {
namespace {

Dim product_of(const Shape& shape, size_t first, size_t last) {
  return product(std::span(shape).subspan(first, last - first));
}

/// x[start::step] on one axis: cut whole groups of `step`, view them as [size, step], take one.
Value* stepped_slice(const Builder& build, Value* x, size_t axis, int64_t start, int64_t size,
                     int64_t step) {
  const int64_t length = x->shape()[axis].value();
  const int64_t groups_end = start + size * step;
  // The element to take within a group; groups may have to begin before `start` to fit.
  int64_t within = std::max<int64_t>(0, groups_end - length);
  if (within > start) {
    PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 0};
    pad.high[axis] = groups_end - length;
    x = build.add(Op::pad, {x}, std::move(pad));
    within = 0;
  }
  const auto a = static_cast<int64_t>(axis);
  x = build.slice(x, a, start - within, size * step);
  Shape result = x->shape();
  const Dim outer = product_of(result, 0, axis),
            inner = product_of(result, axis + 1, result.size());
  result[axis] = size;
  x = build.slice(build.view(x, {outer, size, step, inner}), 2, within, 1);
  return build.view(x, result);
}

/// The element that place i of a padded axis shows.
int64_t padded_source(PadMode mode, int64_t i, int64_t length) {
  switch (mode) {
    case PadMode::reflect:
      return i < 0 ? -i : i >= length ? 2 * (length - 1) - i : i;
    case PadMode::replicate:
      return std::clamp<int64_t>(i, 0, length - 1);
    default:
      return (i + length) % length;
  }
}

/// The element of a spatial axis that each element of the result shows. Sizes are as large as they
/// may be.
Ints nearest_sources(const Builder& build, const Node& node, size_t axis) {
  const SymbolTable& symbols = build.graph().symbol_table();
  auto attrs = node.attrs<ResizeAttrs>();
  const Dim length = symbols.greatest(node.operand(0)->shape()[axis + 1]);
  attrs.size = {symbols.greatest(attrs.size[axis]), 1};
  attrs.step = {attrs.step[axis], 1};
  Tensor numbers({DType::f64, {1, length, 1, 1}});
  for (int64_t i = 0; i < numbers.count(); ++i) numbers.set(i, static_cast<double>(i));
  const Tensor shown = evaluate_op(Op::resize, std::span(&numbers, 1), attrs);
  Ints sources;
  for (int64_t i = 0; i < shown.count(); ++i) sources.push_back(static_cast<int64_t>(shown.get(i)));
  return sources;
}

/// Pads an axis of dynamic length. The elements at its end are the first ones of the flipped axis.
Value* pad_dynamic(const Builder& build, Value* x, int64_t axis, int64_t low, int64_t high,
                   PadMode mode) {
  const auto flipped = [&](Value* value) {
    return build.add(Op::flip, {value}, AxesAttrs{{axis}});
  };
  const auto repeated = [&](Value* value, int64_t count) {
    Shape shape = x->shape();
    shape[static_cast<size_t>(axis)] = count;
    return build.expand(build.slice(value, axis, 0, 1), shape);
  };
  std::vector<Value*> parts;
  if (low > 0 && mode == PadMode::reflect)
    parts.push_back(flipped(build.slice(x, axis, 1, low)));
  else if (low > 0 && mode == PadMode::replicate)
    parts.push_back(repeated(x, low));
  else if (low > 0)
    parts.push_back(flipped(build.slice(flipped(x), axis, 0, low)));
  parts.push_back(x);
  if (high > 0 && mode == PadMode::reflect)
    parts.push_back(build.slice(flipped(x), axis, 1, high));
  else if (high > 0 && mode == PadMode::replicate)
    parts.push_back(repeated(flipped(x), high));
  else if (high > 0)
    parts.push_back(build.slice(x, axis, 0, high));
  return build.concat(std::move(parts), axis);
}

}  // namespace

Value* legal_slice(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<SliceAttrs>();
  Value* x = node.operand(0);
  const bool stepped = std::ranges::any_of(attrs.step, [](int64_t step) { return step != 1; });
  if (!stepped || !is_static(x->shape())) return nullptr;
  if (element_count(node.result()->shape()).is_zero()) return nullptr;
  for (size_t a = 0; a < attrs.start.size(); ++a) {
    const auto axis = static_cast<int64_t>(a);
    x = attrs.step[a] == 1
            ? build.slice(x, axis, attrs.start[a], attrs.size[a])
            : stepped_slice(build, x, a, attrs.start[a], attrs.size[a].value(), attrs.step[a]);
  }
  return x;
}

Value* legal_concat(const Builder& build, const Node& node) {
  std::vector<Value*> parts;
  for (Value* part : node.operands())
    if (!element_count(part->shape()).is_zero()) parts.push_back(part);
  if (parts.empty() || parts.size() == node.operands().size()) return nullptr;
  return build.concat(std::move(parts), node.attrs<AxisAttrs>().axis);
}

Value* legal_pad(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  if (attrs.mode == PadMode::constant) return nullptr;
  Value* x = node.operand(0);
  for (size_t a = 0; a < attrs.low.size(); ++a) {
    const auto axis = static_cast<int64_t>(a);
    if (attrs.low[a] == 0 && attrs.high[a] == 0) continue;
    if (!x->shape()[a].is_static()) {
      x = pad_dynamic(build, x, axis, attrs.low[a], attrs.high[a], attrs.mode);
      continue;
    }
    const int64_t length = x->shape()[a].value();
    // Runs of consecutive source elements, each one slice.
    std::vector<Value*> parts;
    int64_t start = 0, count = 0;
    auto flush = [&] {
      if (count > 0) parts.push_back(build.slice(x, axis, start, count));
      count = 0;
    };
    for (int64_t i = -attrs.low[a]; i < length + attrs.high[a]; ++i) {
      const int64_t source = padded_source(attrs.mode, i, length);
      if (count == 0 || source != start + count) {
        flush();
        start = source;
      }
      ++count;
    }
    flush();
    x = build.concat(std::move(parts), axis);
  }
  return x;
}

Value* fixed_count(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<CountedSliceAttrs>();
  if (!attrs.size[static_cast<size_t>(attrs.axis)].is_static()) return nullptr;
  return build.add(Op::slice, {node.operand(0)},
                   SliceAttrs{attrs.start, attrs.size, Ints(attrs.start.size(), 1)});
}

Value* legal_roll(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<RollAttrs>();
  Value* x = node.operand(0);
  if (!is_static(x->shape()) || element_count(x->shape()).is_zero()) return nullptr;
  for (size_t i = 0; i < attrs.axes.size(); ++i) {
    const int64_t length = x->shape()[static_cast<size_t>(attrs.axes[i])].value();
    const int64_t shift = ((attrs.shifts[i] % length) + length) % length;
    if (shift == 0) continue;
    x = build.concat({build.slice(x, attrs.axes[i], length - shift, shift),
                      build.slice(x, attrs.axes[i], 0, length - shift)},
                     attrs.axes[i]);
  }
  return x;
}

/// Resizes p elements to q, in lowest terms. Each is repeated q times by a broadcast over a new
/// axis, and every p-th of the result is taken.
Value* legal_resize(const Builder& build, const Node& node) {
  constexpr int64_t kMostRepeats = 16;
  const auto& attrs = node.attrs<ResizeAttrs>();
  Value* x = node.operand(0);
  if (attrs.mode != ResizeMode::nearest || x->shape().size() != 4 ||
      !is_static(node.result()->shape()) || !is_static(x->shape()) ||
      element_count(node.result()->shape()).is_zero())
    return nullptr;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t in = x->shape()[i + 1].value(), out = attrs.size[i].value();
    if (out / std::gcd(in, out) > kMostRepeats) return nullptr;
    // The step may not be the ratio of the sizes, and torch rounds it.
    const Ints sources = nearest_sources(build, node, i);
    for (int64_t k = 0; k < out; ++k)
      if (sources[static_cast<size_t>(k)] != k * in / out) return nullptr;
  }
  Ints steps;
  Shape split, repeated, merged = x->shape();
  for (size_t a = 0; a < 4; ++a) {
    split.push_back(x->shape()[a]);
    repeated.push_back(x->shape()[a]);
    if (a == 0 || a == 3) continue;
    const int64_t in = x->shape()[a].value(), out = attrs.size[a - 1].value();
    const int64_t common = std::gcd(in, out);
    split.push_back(1);
    repeated.push_back(out / common);
    merged[a] = in * (out / common);
    steps.push_back(in / common);
  }
  Value* y = build.view(build.expand(build.view(x, split), repeated), merged);
  y = build.slice(y, 1, 0, attrs.size[0], steps[0]);
  return build.slice(y, 2, 0, attrs.size[1], steps[1]);
}

/// An image beside itself along the channels has every pixel twice, and along the width every row.
/// The bytes are those of the result. XNNPACK would find but one dynamic size of a broadcast.
Value* repeated_resize(const Builder& build, const Node& node) {
  constexpr int64_t kMostRepeats = 16;
  const auto& attrs = node.attrs<ResizeAttrs>();
  Value* x = node.operand(0);
  if (attrs.mode != ResizeMode::nearest || x->shape().size() != 4) return nullptr;
  Ints repeats;
  for (size_t i = 0; i < 2; ++i) {
    const auto ratio = divide(attrs.size[i], x->shape()[i + 1]);
    if (!ratio || !ratio->is_static() || ratio->is_zero() || ratio->value() > kMostRepeats)
      return nullptr;
    repeats.push_back(ratio->value());
    const Ints sources = nearest_sources(build, node, i);
    for (size_t k = 0; k < sources.size(); ++k)
      if (sources[k] != static_cast<int64_t>(k) / repeats[i]) return nullptr;
  }
  const auto repeated = [&](Value* value, int64_t count, int64_t axis) {
    return build.concat(std::vector<Value*>(static_cast<size_t>(count), value), axis);
  };
  Value* columns = repeated(x, repeats[1], 3);
  return build.view(repeated(columns, repeats[0], 2), node.result()->shape());
}

}  // namespace layline::rewrites

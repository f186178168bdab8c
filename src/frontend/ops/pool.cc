// Core pools are channels-last, never count padding in an average, and have explicit padding on
// both sides, in which `ceil` is expressed.
#include "frontend/ops/pool.h"

#include <algorithm>
#include <limits>

#include "frontend/ops/channels_first.h"
#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

struct Input {
  Batched given;
  Value* x;  // channels-last, batched
};

Input input(const Builder& build, Value* x, size_t spatial) {
  if (x->shape().size() != spatial + 2 && x->shape().size() != spatial + 1)
    build.fail("the input should have {} or {} axes, but is {}", spatial + 1, spatial + 2,
               to_string(x->type()));
  const Batched given = with_batch(build, x, spatial);
  return {given, build.to_channels_last(given.x)};
}

Value* output(const Builder& build, const Input& in, Value* y) {
  return without_batch(build, in.given, build.from_channels_last(y));
}

PoolAttrs attributes(const Builder& build, const PoolWindow& window) {
  // No tensor is as long as the greatest, and products of two of them still fit.
  constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();
  auto require = [&](const Ints& values, int64_t least, std::string_view what) {
    for (int64_t value : values)
      if (value < least || value > kGreatest)
        build.fail("{} should be from {} to {}, but is {}", what, least, kGreatest, value);
  };
  require(window.kernel, 1, "kernel_size");
  require(window.stride, 1, "stride");
  require(window.dilation, 1, "dilation");
  require(window.low, 0, "padding");
  require(window.high, 0, "padding");
  PoolAttrs attrs;
  attrs.kernel = window.kernel;
  attrs.stride = window.stride;
  attrs.dilation = window.dilation;
  attrs.low = window.low;
  attrs.high = window.high;
  return attrs;
}

/// Adds enough padding behind for a last, partial window, which must start inside the input or the
/// padding before it.
void extend_behind(const Builder& build, const Value* x, PoolAttrs& attrs) {
  for (size_t i = 0; i < attrs.kernel.size(); ++i) {
    const int64_t length = static_length(build, x, static_cast<int64_t>(i) + 1);
    const int64_t extent = attrs.dilation[i] * (attrs.kernel[i] - 1) + 1;
    const int64_t free = length + attrs.low[i] + attrs.high[i] - extent;
    int64_t windows = (free + attrs.stride[i] - 1) / attrs.stride[i] + 1;
    if ((windows - 1) * attrs.stride[i] >= length + attrs.low[i]) --windows;
    attrs.high[i] =
        std::max(attrs.high[i], (windows - 1) * attrs.stride[i] + extent - length - attrs.low[i]);
  }
}

Value* pad_spatial(const Builder& build, Value* x, const Ints& low, const Ints& high) {
  PadAttrs pad;
  pad.low = Ints(x->shape().size(), 0);
  pad.high = pad.low;
  std::ranges::copy(low, pad.low.begin() + 1);
  std::ranges::copy(high, pad.high.begin() + 1);
  return build.add(Op::pad, {x}, std::move(pad));
}

bool any_positive(const Ints& values) {
  return std::ranges::any_of(values, [](int64_t value) { return value > 0; });
}

struct Stretch {
  int64_t start, length;
  bool operator==(const Stretch&) const = default;
};

std::vector<Stretch> adaptive_windows(int64_t in, int64_t out) {
  std::vector<Stretch> windows;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t start = i * in / out;
    windows.push_back({start, ((i + 1) * in + out - 1) / out - start});
  }
  return windows;
}

/// The stride of equally long, evenly spaced windows.
std::optional<int64_t> common_stride(const std::vector<Stretch>& windows) {
  if (windows.size() < 2) return 1;
  const int64_t stride = windows[1].start - windows[0].start;
  for (size_t i = 0; i < windows.size(); ++i)
    if (windows[i] != Stretch{static_cast<int64_t>(i) * stride, windows[0].length})
      return std::nullopt;
  return stride;
}

/// Pools one axis: a mean of means over windows of equal height is the mean over the window, and so
/// is a maximum of maxima.
Value* adaptive_axis(const Builder& build, Op op, Value* x, size_t axis, size_t spatial,
                     int64_t out) {
  const auto a = static_cast<int64_t>(axis) + 1;
  const auto windows = adaptive_windows(static_length(build, x, a), out);
  auto pool = [&](Value* part, int64_t length, int64_t stride) {
    PoolAttrs attrs;
    attrs.kernel = attrs.stride = attrs.dilation = Ints(spatial, 1);
    attrs.low = attrs.high = Ints(spatial, 0);
    attrs.kernel[axis] = length;
    attrs.stride[axis] = stride;
    return build.add(op, {part}, std::move(attrs));
  };
  if (auto stride = common_stride(windows)) return pool(x, windows[0].length, *stride);
  std::vector<Value*> parts;
  for (const Stretch& window : windows)
    parts.push_back(pool(build.slice(x, a, window.start, window.length), window.length, 1));
  return build.concat(std::move(parts), a);
}

/// The window of one pool, if all axes have equally long, evenly spaced windows.
std::optional<PoolAttrs> common_window(const Builder& build, const Value* x, const Ints& sizes) {
  PoolAttrs attrs;
  attrs.dilation = Ints(sizes.size(), 1);
  attrs.low = attrs.high = Ints(sizes.size(), 0);
  bool common = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto windows =
        adaptive_windows(static_length(build, x, static_cast<int64_t>(i) + 1), sizes[i]);
    const auto stride = common_stride(windows);
    common = common && stride;
    attrs.kernel.push_back(windows[0].length);
    attrs.stride.push_back(stride.value_or(0));
  }
  return common ? std::optional(attrs) : std::nullopt;
}

/// How many windows fit an axis.
int64_t window_count(int64_t length, const PoolAttrs& attrs, size_t i) {
  const int64_t extent = attrs.dilation[i] * (attrs.kernel[i] - 1) + 1;
  return (length + attrs.low[i] + attrs.high[i] - extent) / attrs.stride[i] + 1;
}

/// How many elements each window has along an axis whose first `low` and last `high` elements do
/// not count.
Tensor counts_along(const PoolAttrs& attrs, size_t i, int64_t length, DType dtype) {
  const int64_t windows = window_count(length, attrs, i);
  Shape shape(attrs.kernel.size() + 2, Dim(1));
  shape[i + 1] = windows;
  Tensor counts({dtype, shape});
  for (int64_t w = 0; w < windows; ++w) {
    int64_t count = 0;
    for (int64_t k = 0; k < attrs.kernel[i]; ++k) {
      const int64_t place = w * attrs.stride[i] + k * attrs.dilation[i] - attrs.low[i];
      count += place >= 0 && place < length;
    }
    counts.set(w, static_cast<double>(count));
  }
  return counts;
}

/// An average over every other element, which no kernel has: one sum of slices for each axis,
/// divided by how many elements there were.
Value* spread_avg_pool(const Builder& build, Value* x, const PoolAttrs& attrs) {
  Value* sum = pad_spatial(build, x, attrs.low, attrs.high);
  for (size_t i = 0; i < attrs.kernel.size(); ++i) {
    const auto axis = static_cast<int64_t>(i) + 1;
    const int64_t length = static_length(build, x, axis);
    const int64_t windows = window_count(length, attrs, i);
    if (windows < 1) build.fail("the window is longer than {}", to_string(x->type()));
    Value* total = nullptr;
    for (int64_t k = 0; k < attrs.kernel[i]; ++k) {
      Value* part = build.slice(sum, axis, k * attrs.dilation[i], windows, attrs.stride[i]);
      total = total ? build.add(Op::add, {total, part}) : part;
    }
    Value* counts = build.constant(counts_along(attrs, i, length, x->dtype()));
    sum = build.add(Op::div, {total, counts});
  }
  return sum;
}

}  // namespace

Value* max_pool(const Builder& build, Value* x, const PoolWindow& window) {
  const Input in = input(build, x, window.kernel.size());
  PoolAttrs attrs = attributes(build, window);
  if (window.ceil) extend_behind(build, in.x, attrs);
  return output(build, in, build.add(Op::max_pool, {in.x}, std::move(attrs)));
}

/// No kernel tells the places. One place of the window after the other is compared with the
/// maximum.
Value* max_pool_places(const Builder& build, Value* x, Value* maxima, const PoolWindow& window,
                       bool columns_first) {
  constexpr int64_t kMostPlaces = 64;
  constexpr double kNowhere = 1e15;  // greater than any place
  const size_t spatial = window.kernel.size();
  const Shape& out = maxima->shape();
  if (!is_static(x->shape())) build.fail("the places of maxima of dynamic sizes are not supported");
  int64_t places = 1;
  for (const int64_t length : window.kernel) places *= length;
  if (places > kMostPlaces) build.fail("the places in a window of {} are not supported", places);

  PoolAttrs attrs = attributes(build, window);
  PadAttrs pad{Ints(2, 0), Ints(2, 0), PadMode::constant, -std::numeric_limits<double>::infinity()};
  Ints strides(spatial, 1);
  for (size_t i = 0; i < spatial; ++i) {
    // What the last window needs, which `ceil` may have put beyond the padding.
    const int64_t end = (out[i + 2].value() - 1) * attrs.stride[i] +
                        (attrs.kernel[i] - 1) * attrs.dilation[i] + 1 - attrs.low[i];
    pad.low.push_back(attrs.low[i]);
    pad.high.push_back(std::max<int64_t>(end - x->shape()[i + 2].value(), 0));
    for (size_t j = 0; j < spatial; ++j)
      if (columns_first ? j < i : j > i) strides[i] *= x->shape()[j + 2].value();
  }
  Value* padded = build.add(Op::pad, {x}, std::move(pad));

  Value* nowhere = build.scalar(DType::i64, kNowhere);
  Value* best = nullptr;
  for (int64_t place = 0; place < places; ++place) {
    Value* part = padded;
    std::vector<Value*> terms;
    for (size_t i = spatial, rest = static_cast<size_t>(place); i-- > 0;) {
      const auto length = static_cast<size_t>(attrs.kernel[i]);
      const auto offset = static_cast<int64_t>(rest % length) * attrs.dilation[i];
      rest /= length;
      part = build.slice(part, static_cast<int64_t>(i) + 2, offset, out[i + 2], attrs.stride[i]);
      Shape along(spatial + 2, Dim(1));
      along[i + 2] = out[i + 2];
      Tensor numbers({DType::i64, along});
      for (int64_t o = 0; o < numbers.count(); ++o)
        numbers.set_int(o, (o * attrs.stride[i] + offset - attrs.low[i]) * strides[i]);
      terms.push_back(build.constant(numbers));
    }
    Value* number = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) number = build.add(Op::add, {number, terms[i]});
    Value* found = build.add(Op::where, {build.add(Op::equal, {part, maxima}), number, nowhere});
    best = best ? build.add(Op::minimum, {best, found}) : found;
  }
  const Dim image = product({x->shape().begin() + 2, x->shape().end()});
  Shape images(spatial + 2, Dim(1));
  images[0] = x->shape()[0];
  images[1] = x->shape()[1];
  Tensor first({DType::i64, images});
  for (int64_t i = 0; i < first.count(); ++i) first.set_int(i, i * image.value());
  return build.add(Op::add, {best, build.constant(first)});
}

Value* avg_pool(const Builder& build, Value* x, const PoolWindow& window, const Divisor& divisor) {
  Input in = input(build, x, window.kernel.size());
  PoolAttrs attrs = attributes(build, window);
  if (window.ceil) extend_behind(build, in.x, attrs);
  if (divisor.fixed && (any_positive(attrs.low) || any_positive(attrs.high))) {
    // Every window is divided by the same number, so what lies outside is simply zeros.
    in.x = pad_spatial(build, in.x, attrs.low, attrs.high);
    attrs.low = attrs.high = Ints(window.kernel.size(), 0);
  } else if (divisor.count_padding && (any_positive(window.low) || any_positive(window.high))) {
    in.x = pad_spatial(build, in.x, window.low, window.high);
    for (size_t i = 0; i < window.kernel.size(); ++i) {
      attrs.low[i] = 0;
      attrs.high[i] -= window.high[i];
    }
  }
  double elements = 1;
  for (int64_t length : attrs.kernel) elements *= static_cast<double>(length);
  const bool spread = std::ranges::any_of(attrs.dilation, [](int64_t step) { return step > 1; });
  Value* y = spread ? spread_avg_pool(build, in.x, attrs)
                    : build.add(Op::avg_pool, {in.x}, std::move(attrs));
  if (divisor.fixed) {
    const double factor = elements / static_cast<double>(*divisor.fixed);
    y = build.add(Op::mul, {y, build.scalar(y->dtype(), factor)});
  }
  return output(build, in, y);
}

Value* adaptive_pool(const Builder& build, Op op, Value* x, const Ints& sizes) {
  const size_t spatial = sizes.size();
  const Input in = input(build, x, spatial);
  for (size_t i = 0; i < spatial; ++i)
    if (sizes[i] < 1 || in.x->shape()[i + 1].is_zero())
      build.fail("cannot pool {} elements to {}", to_string(in.x->shape()[i + 1]), sizes[i]);
  Value* y = in.x;
  if (op == Op::avg_pool && std::ranges::count(sizes, 1) == std::ssize(sizes)) {
    Ints axes;
    for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 1);
    y = build.add(Op::reduce_mean, {y}, AxesAttrs{axes});
  } else if (auto window = common_window(build, in.x, sizes)) {
    y = build.add(op, {y}, std::move(*window));
  } else {
    for (size_t i = 0; i < spatial; ++i) y = adaptive_axis(build, op, y, i, spatial, sizes[i]);
  }
  return output(build, in, y);
}

}  // namespace layline::ops

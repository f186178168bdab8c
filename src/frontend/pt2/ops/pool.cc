// Pools. Core pools are channels-last, never count padding in an average, and have explicit padding
// on both sides, in which ceil_mode is expressed.
#include <algorithm>
#include <limits>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

struct Input {
  Value* x;  // channels-last, batched
  bool batched;
  size_t spatial;
  Dim length(size_t axis) const { return x->shape()[axis + 1]; }
};

Input input(Call& call, size_t spatial) {
  Value* x = call.tensor("self");
  const bool batched = x->shape().size() == spatial + 2;
  if (!batched && x->shape().size() != spatial + 1)
    call.fail("the input should have {} or {} axes, but is {}", spatial + 1, spatial + 2,
              to_string(x->type()));
  if (!batched) {
    Shape with_batch = x->shape();
    with_batch.insert(with_batch.begin(), Dim(1));
    x = call.view(x, with_batch);
  }
  return {call.to_channels_last(x), batched, spatial};
}

void finish(Call& call, const Input& given, Value* y) {
  y = call.from_channels_last(y);
  if (!given.batched) y = call.view(y, Shape(y->shape().begin() + 1, y->shape().end()));
  call.result(y);
}

void check_window(Call& call, const PoolAttrs& attrs) {
  // No tensor is as long as the greatest, and products of two of them still fit.
  constexpr int64_t kGreatest = std::numeric_limits<int32_t>::max();
  auto require = [&](const Ints& values, int64_t least, std::string_view what) {
    for (int64_t value : values)
      if (value < least || value > kGreatest)
        call.fail("{} should be from {} to {}, but is {}", what, least, kGreatest, value);
  };
  require(attrs.kernel, 1, "kernel_size");
  require(attrs.stride, 1, "stride");
  require(attrs.dilation, 1, "dilation");
  require(attrs.low, 0, "padding");
  for (size_t i = 0; i < attrs.kernel.size(); ++i)
    if (attrs.low[i] > attrs.kernel[i] / 2)
      call.fail("padding should be at most half of kernel_size, but is {} for {}", attrs.low[i],
                attrs.kernel[i]);
}

PoolAttrs window(Call& call, size_t spatial) {
  PoolAttrs attrs;
  attrs.kernel = call.ints_per_axis("kernel_size", spatial, {});
  attrs.stride = call.ints("stride", {});
  if (attrs.stride.empty()) attrs.stride = attrs.kernel;
  if (attrs.stride.size() == 1) attrs.stride.resize(spatial, attrs.stride[0]);
  if (attrs.stride.size() != spatial) call.fail("stride has {} entries", attrs.stride.size());
  attrs.dilation = call.ints_per_axis("dilation", spatial, {1});
  attrs.low = attrs.high = call.ints_per_axis("padding", spatial, {0});
  check_window(call, attrs);
  return attrs;
}

/// ceil_mode: enough padding behind for a last, partial window, which must start inside the input
/// or the padding before it (torch drops it otherwise).
void extend_for_ceil_mode(Call& call, const Input& given, PoolAttrs& attrs) {
  for (size_t i = 0; i < given.spatial; ++i) {
    const int64_t length = call.static_length(given.x, static_cast<int64_t>(i) + 1);
    const int64_t extent = attrs.dilation[i] * (attrs.kernel[i] - 1) + 1;
    const int64_t free = length + attrs.low[i] + attrs.high[i] - extent;
    int64_t windows = (free + attrs.stride[i] - 1) / attrs.stride[i] + 1;
    if ((windows - 1) * attrs.stride[i] >= length + attrs.low[i]) --windows;
    attrs.high[i] =
        std::max(attrs.high[i], (windows - 1) * attrs.stride[i] + extent - length - attrs.low[i]);
  }
}

void max_pool(Call& call, size_t spatial) {
  const Input given = input(call, spatial);
  PoolAttrs attrs = window(call, spatial);
  if (call.flag("ceil_mode", false)) extend_for_ceil_mode(call, given, attrs);
  finish(call, given, call.add(Op::max_pool, {given.x}, std::move(attrs)));
}

Value* pad_spatial(Call& call, Value* x, const Ints& low, const Ints& high) {
  PadAttrs pad;
  pad.low = Ints(x->shape().size(), 0);
  pad.high = pad.low;
  std::ranges::copy(low, pad.low.begin() + 1);
  std::ranges::copy(high, pad.high.begin() + 1);
  return call.add(Op::pad, {x}, std::move(pad));
}

bool any_positive(const Ints& values) {
  return std::ranges::any_of(values, [](int64_t value) { return value > 0; });
}

void avg_pool(Call& call, size_t spatial) {
  Input given = input(call, spatial);
  PoolAttrs attrs = window(call, spatial);
  const Ints padding = attrs.low;
  if (call.flag("ceil_mode", false)) extend_for_ceil_mode(call, given, attrs);
  const bool fixed_divisor = call.has("divisor_override");
  if (fixed_divisor && any_positive(attrs.high)) {
    // Every window is divided by the same number, so what lies outside is simply zeros.
    given.x = pad_spatial(call, given.x, attrs.low, attrs.high);
    attrs.low = attrs.high = Ints(spatial, 0);
  } else if (call.flag("count_include_pad", true) && any_positive(padding)) {
    // Padding counts in the average, the part that ceil_mode adds does not.
    given.x = pad_spatial(call, given.x, padding, padding);
    for (size_t i = 0; i < spatial; ++i) {
      attrs.low[i] = 0;
      attrs.high[i] -= padding[i];
    }
  }
  double elements = 1;
  for (int64_t length : attrs.kernel) elements *= static_cast<double>(length);
  Value* y = call.add(Op::avg_pool, {given.x}, std::move(attrs));
  if (fixed_divisor) {
    const auto divisor = static_cast<double>(call.integer("divisor_override"));
    if (divisor == 0) call.fail("divisor_override is zero");
    y = call.add(Op::mul, {y, call.scalar(y->dtype(), elements / divisor)});
  }
  finish(call, given, y);
}

struct Window {
  int64_t start, length;
  bool operator==(const Window&) const = default;
};

/// Output i of an adaptive pool covers [floor(i * in / out), ceil((i + 1) * in / out)).
std::vector<Window> adaptive_windows(int64_t in, int64_t out) {
  std::vector<Window> windows;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t start = i * in / out;
    windows.push_back({start, ((i + 1) * in + out - 1) / out - start});
  }
  return windows;
}

/// The stride of equally long, evenly spaced windows.
std::optional<int64_t> common_stride(const std::vector<Window>& windows) {
  if (windows.size() < 2) return 1;
  const int64_t stride = windows[1].start - windows[0].start;
  for (size_t i = 0; i < windows.size(); ++i)
    if (windows[i] != Window{static_cast<int64_t>(i) * stride, windows[0].length})
      return std::nullopt;
  return stride;
}

/// One axis at a time: a mean of means over windows of equal height is the mean over the window,
/// and so is a maximum of maxima.
Value* adaptive_axis(Call& call, Op op, Value* x, size_t axis, size_t spatial, int64_t out) {
  const auto windows = adaptive_windows(call.static_length(x, static_cast<int64_t>(axis) + 1), out);
  auto pool = [&](Value* part, int64_t length, int64_t stride) {
    PoolAttrs attrs;
    attrs.kernel = attrs.stride = attrs.dilation = Ints(spatial, 1);
    attrs.low = attrs.high = Ints(spatial, 0);
    attrs.kernel[axis] = length;
    attrs.stride[axis] = stride;
    return call.add(op, {part}, std::move(attrs));
  };
  if (auto stride = common_stride(windows)) return pool(x, windows[0].length, *stride);
  std::vector<Value*> parts;
  const auto a = static_cast<int64_t>(axis) + 1;
  for (const Window& window : windows)
    parts.push_back(pool(call.slice(x, a, window.start, window.length), window.length, 1));
  return call.concat(std::move(parts), a);
}

void adaptive_pool(Call& call, Op op, size_t spatial) {
  const Input given = input(call, spatial);
  Ints sizes = call.ints("output_size", {});
  if (sizes.size() == 1) sizes.resize(spatial, sizes[0]);
  if (sizes.size() != spatial) call.fail("output_size has {} entries", sizes.size());
  bool to_one = true;
  for (size_t i = 0; i < spatial; ++i) {
    const Shape recorded = call.recorded().shape;
    if (sizes[i] < 1 || given.length(i).is_zero() || recorded.size() < spatial ||
        recorded[recorded.size() - spatial + i] != Dim(sizes[i]))
      call.fail("cannot pool {} elements to {}", to_string(given.length(i)), sizes[i]);
    to_one = to_one && sizes[i] == 1;
  }
  Value* y = given.x;
  if (to_one && op == Op::avg_pool) {
    Ints axes;
    for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 1);
    y = call.add(Op::reduce_mean, {y}, AxesAttrs{axes});
  } else {
    PoolAttrs whole;
    whole.dilation = Ints(spatial, 1);
    whole.low = whole.high = Ints(spatial, 0);
    for (size_t i = 0; i < spatial; ++i) {
      const auto windows =
          adaptive_windows(call.static_length(given.x, static_cast<int64_t>(i) + 1), sizes[i]);
      whole.kernel.push_back(windows[0].length);
      whole.stride.push_back(common_stride(windows).value_or(0));
    }
    if (std::ranges::find(whole.stride, 0) == whole.stride.end()) {
      y = call.add(op, {y}, std::move(whole));
    } else {
      for (size_t i = 0; i < spatial; ++i) y = adaptive_axis(call, op, y, i, spatial, sizes[i]);
    }
  }
  finish(call, given, y);
}

constexpr OpRule kRules[] = {
    {"aten.max_pool1d.default", [](Call& call) { max_pool(call, 1); }},
    {"aten.max_pool2d.default", [](Call& call) { max_pool(call, 2); }},
    {"aten.max_pool3d.default", [](Call& call) { max_pool(call, 3); }},
    {"aten.max_pool2d_with_indices.default", [](Call& call) { max_pool(call, 2); }},
    {"aten.max_pool3d_with_indices.default", [](Call& call) { max_pool(call, 3); }},
    {"aten.avg_pool1d.default", [](Call& call) { avg_pool(call, 1); }},
    {"aten.avg_pool2d.default", [](Call& call) { avg_pool(call, 2); }},
    {"aten.avg_pool3d.default", [](Call& call) { avg_pool(call, 3); }},
    {"aten.adaptive_avg_pool1d.default", [](Call& call) { adaptive_pool(call, Op::avg_pool, 1); }},
    {"aten.adaptive_avg_pool2d.default", [](Call& call) { adaptive_pool(call, Op::avg_pool, 2); }},
    {"aten._adaptive_avg_pool2d.default", [](Call& call) { adaptive_pool(call, Op::avg_pool, 2); }},
    {"aten.adaptive_avg_pool3d.default", [](Call& call) { adaptive_pool(call, Op::avg_pool, 3); }},
    {"aten._adaptive_avg_pool3d.default", [](Call& call) { adaptive_pool(call, Op::avg_pool, 3); }},
    {"aten.adaptive_max_pool3d.default", [](Call& call) { adaptive_pool(call, Op::max_pool, 3); }},
    {"aten.adaptive_max_pool1d.default", [](Call& call) { adaptive_pool(call, Op::max_pool, 1); }},
    {"aten.adaptive_max_pool2d.default", [](Call& call) { adaptive_pool(call, Op::max_pool, 2); }},
};

}  // namespace

std::span<const OpRule> pool_rules() { return kRules; }

}  // namespace layline::pt2

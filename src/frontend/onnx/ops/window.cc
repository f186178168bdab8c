#include "frontend/onnx/ops/window.h"

#include <algorithm>

namespace layline::onnx {
namespace {

Ints per_axis(const Call& call, std::string_view attribute, size_t spatial, int64_t otherwise) {
  Ints values = call.ints(attribute, Ints(spatial, otherwise));
  if (values.size() != spatial)
    call.fail("`{}` has {} entries for {} spatial axes", attribute, values.size(), spatial);
  for (const int64_t value : values)
    if (value < 1) call.fail("`{}` is {}", attribute, value);
  return values;
}

/// Padding with which the result has ceil(length / stride) elements.
void pad_to_same(const Call& call, const Value* x, bool more_in_front, Window& window) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const Dim length = x->shape()[i + 2];
    const int64_t stride = window.stride[i];
    const int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
    if (!length.is_static() && stride != 1)
      call.fail("pads to the same size, but axis {} of {} is dynamic; fix it with --dim", i + 2,
                to_string(x->type()));
    int64_t total = reach - 1;
    if (length.is_static()) {
      const int64_t out = (length.value() + stride - 1) / stride;
      total = std::max<int64_t>((out - 1) * stride + reach - length.value(), 0);
    }
    window.low[i] = more_in_front ? total - total / 2 : total / 2;
    window.high[i] = total - window.low[i];
  }
}

}  // namespace

Window read_window(const Call& call, const Value* x, Ints kernel) {
  const size_t spatial = kernel.size();
  if (x->shape().size() != spatial + 2)
    call.fail("its window has {} axes, but its input is {}", spatial, to_string(x->type()));
  Window window;
  window.kernel = std::move(kernel);
  window.stride = per_axis(call, "strides", spatial, 1);
  window.dilation = per_axis(call, "dilations", spatial, 1);
  Ints pads = call.ints("pads", Ints(2 * spatial, 0));
  if (pads.size() != 2 * spatial)
    call.fail("`pads` has {} entries for {} spatial axes", pads.size(), spatial);
  window.low.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  window.high.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  const std::string_view mode = call.string("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
    pad_to_same(call, x, mode == "SAME_LOWER", window);
  else if (mode == "VALID")
    window.low = window.high = Ints(spatial, 0);
  else if (mode != "NOTSET" && !mode.empty())
    call.fail("unknown auto_pad `{}`", mode);
  return window;
}

ops::PoolWindow read_pool_window(const Call& call, const Value* x) {
  const Window window = read_window(call, x, call.ints("kernel_shape", {}));
  if (std::ranges::any_of(window.kernel, [](int64_t size) { return size < 1; }))
    call.fail("`kernel_shape` is not positive");
  ops::PoolWindow pool;
  pool.kernel = window.kernel;
  pool.stride = window.stride;
  pool.dilation = window.dilation;
  pool.low = window.low;
  pool.high = window.high;
  pool.ceil = call.flag("ceil_mode", false);
  return pool;
}

}  // namespace layline::onnx

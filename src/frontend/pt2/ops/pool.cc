// Pools.
#include "frontend/ops/pool.h"

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

ops::PoolWindow window(const Call& call, size_t spatial) {
  ops::PoolWindow window;
  window.kernel = call.ints_per_axis("kernel_size", spatial, {});
  window.stride = call.ints("stride", {});
  if (window.stride.empty()) window.stride = window.kernel;
  if (window.stride.size() == 1) window.stride.resize(spatial, window.stride[0]);
  if (window.stride.size() != spatial) call.fail("stride has {} entries", window.stride.size());
  window.dilation = call.ints_per_axis("dilation", spatial, {1});
  window.low = window.high = call.ints_per_axis("padding", spatial, {0});
  window.ceil = call.flag("ceil_mode", false);
  for (size_t i = 0; i < spatial; ++i)
    if (window.kernel[i] > 0 && window.low[i] > window.kernel[i] / 2)
      call.fail("padding should be at most half of kernel_size, but is {} for {}", window.low[i],
                window.kernel[i]);
  return window;
}

template <size_t spatial>
void max_pool(Call& call) {
  call.result(ops::max_pool(call, call.tensor("self"), window(call, spatial)));
}

template <size_t spatial>
void avg_pool(Call& call) {
  ops::Divisor divisor{call.flag("count_include_pad", true), std::nullopt};
  if (call.has("divisor_override")) divisor.fixed = call.integer("divisor_override");
  if (divisor.fixed == 0) call.fail("divisor_override is zero");
  call.result(ops::avg_pool(call, call.tensor("self"), window(call, spatial), divisor));
}

template <Op op, size_t spatial>
void adaptive_pool(Call& call) {
  Value* x = call.tensor("self");
  Ints sizes = call.ints("output_size", {});
  if (sizes.size() == 1) sizes.resize(spatial, sizes[0]);
  if (sizes.size() != spatial) call.fail("output_size has {} entries", sizes.size());
  // More than the model records would be built before it is refused.
  const Shape recorded = call.recorded().shape;
  for (size_t i = 0; i < spatial && x->shape().size() >= spatial; ++i)
    if (recorded.size() < spatial || recorded[recorded.size() - spatial + i] != Dim(sizes[i]))
      call.fail("cannot pool {} elements to {}",
                to_string(x->shape()[x->shape().size() - spatial + i]), sizes[i]);
  call.result(ops::adaptive_pool(call, op, x, sizes));
}

constexpr OpRule kRules[] = {
    {"aten.max_pool1d.default", max_pool<1>},
    {"aten.max_pool2d.default", max_pool<2>},
    {"aten.max_pool3d.default", max_pool<3>},
    {"aten.max_pool2d_with_indices.default", max_pool<2>},
    {"aten.max_pool3d_with_indices.default", max_pool<3>},
    {"aten.avg_pool1d.default", avg_pool<1>},
    {"aten.avg_pool2d.default", avg_pool<2>},
    {"aten.avg_pool3d.default", avg_pool<3>},
    {"aten.adaptive_avg_pool1d.default", adaptive_pool<Op::avg_pool, 1>},
    {"aten.adaptive_avg_pool2d.default", adaptive_pool<Op::avg_pool, 2>},
    {"aten._adaptive_avg_pool2d.default", adaptive_pool<Op::avg_pool, 2>},
    {"aten.adaptive_avg_pool3d.default", adaptive_pool<Op::avg_pool, 3>},
    {"aten._adaptive_avg_pool3d.default", adaptive_pool<Op::avg_pool, 3>},
    {"aten.adaptive_max_pool3d.default", adaptive_pool<Op::max_pool, 3>},
    {"aten.adaptive_max_pool1d.default", adaptive_pool<Op::max_pool, 1>},
    {"aten.adaptive_max_pool2d.default", adaptive_pool<Op::max_pool, 2>},
};

}  // namespace

std::span<const OpRule> pool_rules() { return kRules; }

}  // namespace layline::pt2

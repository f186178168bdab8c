// Pools.
#include "frontend/ops/pool.h"

#include <algorithm>

#include "frontend/onnx/ops/rules.h"
#include "frontend/onnx/ops/window.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/reduction.h"

namespace layline::onnx {
namespace {

ops::PoolWindow window_of(const Call& call, const Value* x) {
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

void max_pool(Call& call) {
  Value* x = call.input(0);
  const DType dtype = x->dtype();
  // Kernels pool floats, which hold every integer of 8 bits.
  if (dtype == DType::i8 || dtype == DType::u8) x = call.convert(x, DType::f32);
  const ops::PoolWindow window = window_of(call, x);
  Value* maxima = ops::max_pool(call, x, window);
  call.result(call.convert(maxima, dtype));
  if (call.wants(1))
    call.result(ops::max_pool_places(call, x, maxima, window, call.flag("storage_order", false)));
}

void average_pool(Call& call) {
  Value* x = call.input(0);
  ops::Divisor divisor;
  divisor.count_padding = call.flag("count_include_pad", false);
  call.result(ops::avg_pool(call, x, window_of(call, x), divisor));
}

/// (sum of |x|^p)^(1/p) over a window; padding counts as 0.
void lp_pool(Call& call) {
  Value* x = call.input(0);
  const double p = static_cast<double>(call.integer("p", 2));
  const ops::PoolWindow window = window_of(call, x);
  Value* powers = ops::power(call, call.add(Op::abs, {x}), p);
  Value* sum = ops::avg_pool(call, powers, window, {true, 1});
  call.result(ops::power(call, sum, 1 / p));
}

Ints spatial_axes(const Call& call, const Value* x) {
  if (x->shape().size() < 2) call.fail("takes no {}", to_string(x->type()));
  Ints axes;
  for (int64_t axis = 2; axis < x->type().rank(); ++axis) axes.push_back(axis);
  return axes;
}

template <Op op>
void global_pool(Call& call) {
  Value* x = call.input(0);
  call.result(ops::reduce(call, op, x, {spatial_axes(call, x), true}));
}

void global_lp_pool(Call& call) {
  Value* x = call.input(0);
  const auto p = static_cast<double>(call.integer("p", 2));
  call.result(ops::vector_norm(call, x, {spatial_axes(call, x), true}, p));
}

constexpr OpRule kRules[] = {
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"LpPool", lp_pool},
    {"GlobalMaxPool", global_pool<Op::reduce_max>},
    {"GlobalAveragePool", global_pool<Op::reduce_mean>},
    {"GlobalLpPool", global_lp_pool},
};

}  // namespace

std::span<const OpRule> pool_rules() { return kRules; }

}  // namespace layline::onnx

// Pools.
#include "frontend/onnx/ops/pool.h"

#include "frontend/onnx/ops/rules.h"
#include "frontend/onnx/ops/window.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/pool.h"
#include "frontend/ops/quantise.h"
#include "frontend/ops/reduction.h"

namespace layline::onnx {

Value* average_pool(const Call& call, Value* x) {
  ops::Divisor divisor;
  divisor.count_padding = call.flag("count_include_pad", false);
  return ops::avg_pool(call, x, read_pool_window(call, x), divisor);
}

namespace {

/// What integers stand for where the model makes them, or themselves.
Quantisation meaning_of(const Value* integers) {
  const layline::Node* def = integers->def();
  if (def != nullptr && def->is(Op::reinterpret))
    if (const QuantisationRef& made = def->operand(0)->type().quantisation;
        made && made->per_tensor())
      return *made;
  return per_tensor(integers->dtype(), 1, 0);
}

/// Kernels pool floats and quantised numbers. The greatest of integers is that of what they stand
/// for.
void max_pool(Call& call) {
  Value* x = call.input(0);
  const ops::PoolWindow window = read_pool_window(call, x);
  if (is_integer(x->dtype())) {
    const Quantisation meaning = meaning_of(x);
    Value* y = ops::max_pool(call, ops::dequantise(call, x, meaning), window);
    return call.result(ops::quantise(call, y, meaning));
  }
  Value* maxima = ops::max_pool(call, x, window);
  call.result(maxima);
  if (call.wants(1))
    call.result(ops::max_pool_places(call, x, maxima, window, call.flag("storage_order", false)));
}

/// (sum of |x|^p)^(1/p) over a window; padding counts as 0.
void lp_pool(Call& call) {
  Value* x = call.input(0);
  const double p = static_cast<double>(call.integer("p", 2));
  const ops::PoolWindow window = read_pool_window(call, x);
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
    {"AveragePool", [](Call& call) { call.result(average_pool(call, call.input(0))); }},
    {"LpPool", lp_pool},
    {"GlobalMaxPool", global_pool<Op::reduce_max>},
    {"GlobalAveragePool", global_pool<Op::reduce_mean>},
    {"GlobalLpPool", global_lp_pool},
};

}  // namespace

std::span<const OpRule> pool_rules() { return kRules; }

}  // namespace layline::onnx

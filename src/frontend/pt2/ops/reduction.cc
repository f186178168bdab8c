// Reductions. Core reductions keep their axes with size 1; a view drops them where torch does.
#include <algorithm>
#include <cmath>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void reduce(Call& call, Op op, Value* x) {
  const Ints axes = call.axes("dim", x->type().rank());
  call.result(call.view(call.add(op, {x}, AxesAttrs{axes}), call.recorded().shape));
}

template <Op op>
void reduction(Call& call) {
  reduce(call, op, call.convert(call.tensor("self"), call.recorded().dtype));
}

template <Op op>
void logical_reduction(Call& call) {
  reduce(call, op, call.convert(call.tensor("self"), DType::boolean));
}

/// max.dim and min.dim give the values and their places.
void extremum(Call& call, Op values, Op places) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  call.result(call.view(call.add(values, {x}, AxesAttrs{{axis}}), call.recorded(0).shape));
  call.result(call.view(call.add(places, {x}, AxisAttrs{axis}), call.recorded(1).shape));
}

template <Op op>
void place_of_extremum(Call& call) {
  Value* x = call.tensor("self");
  // Without an axis the place is counted in the flattened tensor.
  if (!call.has("dim")) x = call.view(x, {element_count(x->shape())});
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  call.result(call.view(call.add(op, {x}, AxisAttrs{axis}), call.recorded().shape));
}

Value* times(const Call& call, Value* x, double factor) {
  return factor == 1 ? x : call.binary(Op::mul, x, call.scalar(x->dtype(), factor));
}

/// The mean and, about it, the sum of squares divided by the count less `correction`.
struct Moments {
  Value* mean;
  Value* variance;
};

Moments moments(Call& call) {
  Value* x = call.tensor("self");
  const AxesAttrs axes{call.axes("dim", x->type().rank())};
  const double correction =
      call.has("unbiased") ? (call.flag("unbiased", true) ? 1 : 0) : call.number("correction", 1);
  double count = 1;
  for (int64_t axis : axes.axes)
    if (correction != 0) count *= static_cast<double>(call.static_length(x, axis));
  Value* mean = call.add(Op::reduce_mean, {x}, axes);
  Value* squares = call.add(Op::square, {call.binary(Op::sub, x, mean)});
  Value* variance = call.add(Op::reduce_mean, {squares}, axes);
  return {mean,
          times(call, variance, correction == 0 ? 1 : count / std::max(0.0, count - correction))};
}

Value* deviation(const Call& call, Value* variance, bool root) {
  return root ? call.add(Op::sqrt, {variance}) : variance;
}

template <bool root>
void variance(Call& call) {
  Value* y = deviation(call, moments(call).variance, root);
  call.result(call.view(y, call.recorded().shape));
}

template <bool root>
void variance_and_mean(Call& call) {
  const Moments found = moments(call);
  call.result(call.view(deviation(call, found.variance, root), call.recorded(0).shape));
  call.result(call.view(found.mean, call.recorded(1).shape));
}

/// (sum of |x|^p)^(1/p), and its limits.
void vector_norm(Call& call, std::string_view order) {
  Value* x = call.convert(call.tensor("self"), call.recorded().dtype);
  const AxesAttrs axes{call.axes("dim", x->type().rank())};
  const double p = call.number(order, 2);
  Value* magnitude = call.add(Op::abs, {x});
  Value* y = nullptr;
  if (p == 2) {
    y = call.add(Op::sqrt, {call.add(Op::reduce_sum, {call.add(Op::square, {x})}, axes)});
  } else if (p == 1) {
    y = call.add(Op::reduce_sum, {magnitude}, axes);
  } else if (std::isinf(p)) {
    y = call.add(p > 0 ? Op::reduce_max : Op::reduce_min, {magnitude}, axes);
  } else if (p == 0) {
    Value* nonzero = call.binary(Op::not_equal, x, call.scalar(x->dtype(), 0));
    y = call.add(Op::reduce_sum, {call.convert(nonzero, x->dtype())}, axes);
  } else {
    Value* powers = call.binary(Op::pow, magnitude, call.scalar(x->dtype(), p));
    y = call.binary(Op::pow, call.add(Op::reduce_sum, {powers}, axes),
                    call.scalar(x->dtype(), 1 / p));
  }
  call.result(call.view(y, call.recorded().shape));
}

void cumsum(Call& call) {
  Value* x = call.convert(call.tensor("self"), call.recorded().dtype);
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  if (x->shape().empty()) return call.result(x);
  call.result(call.add(Op::cumsum, {x}, AxisAttrs{axis}));
}

constexpr OpRule kRules[] = {
    {"aten.mean.default", reduction<Op::reduce_mean>},
    {"aten.mean.dim", reduction<Op::reduce_mean>},
    {"aten.sum.default", reduction<Op::reduce_sum>},
    {"aten.sum.dim_IntList", reduction<Op::reduce_sum>},
    {"aten.prod.default", reduction<Op::reduce_prod>},
    {"aten.prod.dim_int", reduction<Op::reduce_prod>},
    {"aten.amax.default", reduction<Op::reduce_max>},
    {"aten.amin.default", reduction<Op::reduce_min>},
    {"aten.max.default", reduction<Op::reduce_max>},
    {"aten.min.default", reduction<Op::reduce_min>},
    {"aten.max.dim", [](Call& call) { extremum(call, Op::reduce_max, Op::argmax); }},
    {"aten.min.dim", [](Call& call) { extremum(call, Op::reduce_min, Op::argmin); }},
    {"aten.argmax.default", place_of_extremum<Op::argmax>},
    {"aten.argmin.default", place_of_extremum<Op::argmin>},
    {"aten.any.default", logical_reduction<Op::reduce_any>},
    {"aten.any.dim", logical_reduction<Op::reduce_any>},
    {"aten.any.dims", logical_reduction<Op::reduce_any>},
    {"aten.all.default", logical_reduction<Op::reduce_all>},
    {"aten.all.dim", logical_reduction<Op::reduce_all>},
    {"aten.all.dims", logical_reduction<Op::reduce_all>},
    {"aten.var.default", variance<false>},
    {"aten.var.dim", variance<false>},
    {"aten.var.correction", variance<false>},
    {"aten.std.default", variance<true>},
    {"aten.std.dim", variance<true>},
    {"aten.std.correction", variance<true>},
    {"aten.var_mean.correction", variance_and_mean<false>},
    {"aten.std_mean.correction", variance_and_mean<true>},
    {"aten.linalg_vector_norm.default", [](Call& call) { vector_norm(call, "ord"); }},
    {"aten.norm.Scalar", [](Call& call) { vector_norm(call, "p"); }},
    {"aten.norm.ScalarOpt_dim", [](Call& call) { vector_norm(call, "p"); }},
    {"aten.cumsum.default", cumsum},
};

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace layline::pt2

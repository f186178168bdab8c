// Reductions. Core reductions keep their axes with size 1; a view drops them where torch does.
#include <algorithm>
#include <cmath>
#include <limits>

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
  return factor == 1 ? x : call.add(Op::mul, {x, call.scalar(x->dtype(), factor)});
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
  Value* squares = call.add(Op::square, {call.add(Op::sub, {x, mean})});
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
    Value* nonzero = call.add(Op::not_equal, {x, call.scalar(x->dtype(), 0)});
    y = call.add(Op::reduce_sum, {call.convert(nonzero, x->dtype())}, axes);
  } else {
    Value* powers = call.add(Op::pow, {magnitude, call.scalar(x->dtype(), p)});
    y = call.add(Op::pow,
                 {call.add(Op::reduce_sum, {powers}, axes), call.scalar(x->dtype(), 1 / p)});
  }
  call.result(call.view(y, call.recorded().shape));
}

void cumsum(Call& call) {
  Value* x = call.convert(call.tensor("self"), call.recorded().dtype);
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  if (x->shape().empty()) return call.result(x);
  call.result(call.add(Op::cumsum, {x}, AxisAttrs{axis}));
}

/// max + log(sum(exp(x - max))), where an infinite maximum is left to the sum.
void logsumexp(Call& call) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value* x = call.convert(call.tensor("self"), call.recorded().dtype);
  const AxesAttrs axes{call.axes("dim", x->type().rank())};
  Value* most = call.add(Op::reduce_max, {x}, axes);
  Value* is_infinite =
      call.add(Op::equal, {call.add(Op::abs, {most}), call.scalar(x->dtype(), kInfinity)});
  most = call.add(Op::where, {is_infinite, call.scalar(x->dtype(), 0), most});
  Value* sum = call.add(Op::reduce_sum, {call.add(Op::exp, {call.add(Op::sub, {x, most})})}, axes);
  Value* y = call.add(Op::add, {call.add(Op::log, {sum}), most});
  call.result(call.view(y, call.recorded().shape));
}

/// The sum of what is not NaN, and how many those are.
void sum_of_numbers(Call& call, bool mean) {
  Value* x = call.convert(call.tensor("self"), call.recorded().dtype);
  const AxesAttrs axes{call.axes("dim", x->type().rank())};
  if (is_float(x->dtype())) {
    Value* is_number = call.add(Op::equal, {x, x});
    x = call.add(Op::where, {is_number, x, call.scalar(x->dtype(), 0)});
    Value* sum = call.add(Op::reduce_sum, {x}, axes);
    Value* count = call.add(Op::reduce_sum, {call.convert(is_number, x->dtype())}, axes);
    return call.result(
        call.view(mean ? call.add(Op::div, {sum, count}) : sum, call.recorded().shape));
  }
  call.result(call.view(call.add(Op::reduce_sum, {x}, axes), call.recorded().shape));
}

void count_nonzero(Call& call) {
  Value* x = call.tensor("self");
  Value* nonzero = call.convert(call.convert(x, DType::boolean), DType::i64);
  reduce(call, Op::reduce_sum, nonzero);
}

/// In steps of 1, 2, 4 ...: each multiplies what is that far behind, or 1.
void cumprod(Call& call) {
  Value* x = call.convert(call.tensor("self"), call.recorded().dtype);
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  if (x->shape().empty()) return call.result(x);
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static()) call.fail("along a dynamic axis is not supported");
  for (int64_t step = 1; step < length.value(); step *= 2) {
    PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 1};
    pad.low[static_cast<size_t>(axis)] = step;
    Value* behind =
        call.add(Op::pad, {call.slice(x, axis, 0, length.value() - step)}, std::move(pad));
    x = call.add(Op::mul, {x, behind});
  }
  call.result(x);
}

/// The norm of vectors; of a matrix, that of its elements.
void linalg_norm(Call& call) {
  const int64_t axes =
      call.has("dim") ? std::ssize(call.ints("dim", {})) : call.tensor("self")->type().rank();
  if (call.has("ord") && axes != 1) call.fail("a norm of matrices is not supported");
  vector_norm(call, "ord");
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
    {"aten.var_mean.default", variance_and_mean<false>},
    {"aten.var_mean.dim", variance_and_mean<false>},
    {"aten.std_mean.default", variance_and_mean<true>},
    {"aten.std_mean.dim", variance_and_mean<true>},
    {"aten.logsumexp.default", logsumexp},
    {"aten.nansum.default", [](Call& call) { sum_of_numbers(call, false); }},
    {"aten.nanmean.default", [](Call& call) { sum_of_numbers(call, true); }},
    {"aten.count_nonzero.default", count_nonzero},
    {"aten.count_nonzero.dim_IntList", count_nonzero},
    {"aten.linalg_norm.default", linalg_norm},
    {"aten.cumprod.default", cumprod},
    {"aten.linalg_vector_norm.default", [](Call& call) { vector_norm(call, "ord"); }},
    {"aten.norm.Scalar", [](Call& call) { vector_norm(call, "p"); }},
    {"aten.norm.ScalarOpt_dim", [](Call& call) { vector_norm(call, "p"); }},
    {"aten.cumsum.default", cumsum},
};

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace layline::pt2

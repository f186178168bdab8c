// Reductions and scans.
#include "frontend/ops/reduction.h"

#include "frontend/ops/shapes.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

ops::Reduced reduced(const Call& call, const Value* x) {
  return {call.axes("dim", x->type().rank()), call.flag("keepdim", false)};
}

template <Op op>
void reduction(Call& call) {
  Value* x = self_as_recorded(call);
  call.result(ops::reduce(call, op, x, reduced(call, x)));
}

template <Op op>
void logical_reduction(Call& call) {
  Value* x = call.convert(call.tensor("self"), DType::boolean);
  call.result(ops::reduce(call, op, x, reduced(call, x)));
}

/// max.dim and min.dim give the values and their places.
void extremum(Call& call, Op values, Op places) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  const bool keep = call.flag("keepdim", false);
  call.result(ops::reduce(call, values, x, {{axis}, keep}));
  call.result(ops::place_of_extremum(call, places, x, axis, keep));
}

/// The least and the greatest element, along one axis or of all.
void least_and_greatest(Call& call) {
  Value* x = call.tensor("self");
  const int64_t rank = x->type().rank();
  if (call.has("dim") && rank == 0) call.fail("takes no 0-d tensors");
  const ops::Reduced reduced{call.has("dim") ? Ints{call.axis("dim", 0, rank)} : ops::all_axes(x),
                             call.flag("keepdim", false)};
  call.result(ops::reduce(call, Op::reduce_min, x, reduced));
  call.result(ops::reduce(call, Op::reduce_max, x, reduced));
}

/// Without an axis the place is counted in the flattened tensor.
template <Op op>
void place_of_extremum(Call& call) {
  Value* x = call.tensor("self");
  const bool keep = call.flag("keepdim", false);
  if (call.has("dim")) {
    const int64_t axis = call.axis("dim", 0, x->type().rank());
    return call.result(ops::place_of_extremum(call, op, x, axis, keep));
  }
  Value* flat = call.view(x, {element_count(x->shape())});
  Value* place = ops::place_of_extremum(call, op, flat, 0, true);
  call.result(call.view(place, Shape(keep ? x->shape().size() : 0, Dim(1))));
}

double correction(const Call& call) {
  if (call.has("unbiased")) return call.flag("unbiased", true) ? 1 : 0;
  return call.number("correction", 1);
}

template <ops::Spread spread>
void variance(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::variance(call, spread, x, reduced(call, x), correction(call)));
}

template <ops::Spread spread>
void variance_and_mean(Call& call) {
  Value* x = call.tensor("self");
  const auto found = ops::moments(call, spread, x, reduced(call, x), correction(call));
  call.result(found.spread);
  call.result(found.mean);
}

void vector_norm(Call& call, std::string_view order) {
  Value* x = self_as_recorded(call);
  call.result(ops::vector_norm(call, x, reduced(call, x), call.number(order, 2)));
}

/// The norm of vectors; of a matrix, that of its elements.
void linalg_norm(Call& call) {
  const int64_t axes =
      call.has("dim") ? std::ssize(call.ints("dim", {})) : call.tensor("self")->type().rank();
  if (call.has("ord") && axes != 1) call.fail("a norm of matrices is not supported");
  vector_norm(call, "ord");
}

template <Value* (*function)(const Builder&, Value*, const ops::Reduced&)>
void function_of_axes(Call& call) {
  Value* x = self_as_recorded(call);
  call.result(function(call, x, reduced(call, x)));
}

void count_nonzero(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::count_nonzero(call, x, reduced(call, x)));
}

void histc(Call& call) {
  const int64_t bins = call.integer("bins", 100);
  const double min = call.number("min", 0), max = call.number("max", 0);
  if (bins < 1) call.fail("has {} bins", bins);
  if (!(min < max)) call.fail("takes its range from the data; give min and max");
  call.result(ops::histogram(call, call.tensor("self"), bins, min, max));
}

template <Value* (*function)(const Builder&, Value*, int64_t)>
void scan(Call& call) {
  Value* x = self_as_recorded(call);
  call.result(function(call, x, call.axis("dim", 0, x->type().rank())));
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
    {"aten.aminmax.default", least_and_greatest},
    {"aten.argmax.default", place_of_extremum<Op::argmax>},
    {"aten.argmin.default", place_of_extremum<Op::argmin>},
    {"aten.any.default", logical_reduction<Op::reduce_any>},
    {"aten.any.dim", logical_reduction<Op::reduce_any>},
    {"aten.any.dims", logical_reduction<Op::reduce_any>},
    {"aten.all.default", logical_reduction<Op::reduce_all>},
    {"aten.all.dim", logical_reduction<Op::reduce_all>},
    {"aten.all.dims", logical_reduction<Op::reduce_all>},
    {"aten._is_all_true.default", logical_reduction<Op::reduce_all>},
    {"aten._is_any_true.default", logical_reduction<Op::reduce_any>},
    {"aten.histc.default", histc},
    {"aten.var.default", variance<ops::Spread::variance>},
    {"aten.var.dim", variance<ops::Spread::variance>},
    {"aten.var.correction", variance<ops::Spread::variance>},
    {"aten.std.default", variance<ops::Spread::deviation>},
    {"aten.std.dim", variance<ops::Spread::deviation>},
    {"aten.std.correction", variance<ops::Spread::deviation>},
    {"aten.var_mean.correction", variance_and_mean<ops::Spread::variance>},
    {"aten.std_mean.correction", variance_and_mean<ops::Spread::deviation>},
    {"aten.var_mean.default", variance_and_mean<ops::Spread::variance>},
    {"aten.var_mean.dim", variance_and_mean<ops::Spread::variance>},
    {"aten.std_mean.default", variance_and_mean<ops::Spread::deviation>},
    {"aten.std_mean.dim", variance_and_mean<ops::Spread::deviation>},
    {"aten.logsumexp.default", function_of_axes<ops::logsumexp>},
    {"aten.nansum.default", function_of_axes<ops::sum_of_numbers>},
    {"aten.nanmean.default", function_of_axes<ops::mean_of_numbers>},
    {"aten.count_nonzero.default", count_nonzero},
    {"aten.count_nonzero.dim_IntList", count_nonzero},
    {"aten.linalg_norm.default", linalg_norm},
    {"aten.cumprod.default", scan<ops::cumprod>},
    {"aten.linalg_vector_norm.default", [](Call& call) { vector_norm(call, "ord"); }},
    {"aten.norm.Scalar", [](Call& call) { vector_norm(call, "p"); }},
    {"aten.norm.ScalarOpt_dim", [](Call& call) { vector_norm(call, "p"); }},
    {"aten.cumsum.default", scan<ops::cumsum>},
};

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace layline::pt2

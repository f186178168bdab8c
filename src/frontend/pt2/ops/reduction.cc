// Reductions. Core reductions keep their axes with size 1; a view drops them where torch does.
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
    {"aten.cumsum.default", cumsum},
};

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace layline::pt2

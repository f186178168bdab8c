// Sorts elements along an axis.
#include "frontend/ops/sort.h"

#include <algorithm>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

int64_t axis_of(const Call& call, const Value* x) {
  return call.axis("dim", -1, std::max<int64_t>(x->type().rank(), 1));
}

void give(Call& call, const ops::Sorted& sorted) {
  call.result(sorted.values);
  call.result(sorted.places);
}

void topk(Call& call) {
  Value* x = call.tensor("self");
  const ops::SortOrder order{axis_of(call, x), call.flag("largest", true)};
  give(call, ops::topk(call, x, order, Sum::number(call.integer("k"))));
}

ops::SortOrder sort_order(const Call& call, const Value* x) {
  const bool stable = call.flag("stable", false);
  if (stable && x->dtype() == DType::f64)
    call.fail("keeps equal elements in order (stable=True), which f64 has no key for; use f32");
  return {axis_of(call, x), call.flag("descending", false), stable};
}

void sort(Call& call) {
  Value* x = call.tensor("self");
  give(call, ops::sorted(call, x, sort_order(call, x)));
}

void argsort(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::argsort(call, x, sort_order(call, x)));
}

void kthvalue(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = axis_of(call, x), k = call.integer("k");
  give(call, ops::kth_value(call, x, axis, k, call.flag("keepdim", false)));
}

void median(Call& call) {
  Value* x = call.tensor("self");
  give(call, ops::median(call, x, axis_of(call, x), call.flag("keepdim", false)));
}

void median_of_all(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::median(call, call.view(x, {element_count(x->shape())}), 0, false).values);
}

constexpr OpRule kRules[] = {
    {"aten.topk.default", topk},      {"aten.sort.default", sort},
    {"aten.sort.stable", sort},       {"aten.argsort.default", argsort},
    {"aten.argsort.stable", argsort}, {"aten.kthvalue.default", kthvalue},
    {"aten.median.dim", median},      {"aten.median.default", median_of_all},
};

}  // namespace

std::span<const OpRule> sort_rules() { return kRules; }

}  // namespace layline::pt2

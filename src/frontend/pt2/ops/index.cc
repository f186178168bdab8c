// Reading elements at places that a tensor holds, and writing to a part of a tensor.
#include "frontend/ops/index.h"

#include <algorithm>
#include <limits>

#include "frontend/ops/shapes.h"
#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void embedding(Call& call) {
  Value* table = call.tensor("weight");
  call.result(call.add(Op::gather, {table, call.tensor("indices")}, AxisAttrs{0}));
}

void index_select(Call& call) {
  Value* x = call.tensor("self");
  Value* index = ops::with_some_axis(call, call.tensor("index"));
  call.result(ops::gather(call, x, index, call.axis_of(x)));
}

void gather_elements(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis("dim", 0, std::max<int64_t>(x->type().rank(), 1));
  call.result(ops::gather_elements(call, x, call.tensor("index"), axis));
}

void index(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::index(call, x, call.optional_tensors("indices")));
}

void index_put(Call& call) {
  Value* x = call.tensor("self");
  const std::vector<Value*> indices = call.optional_tensors("indices");
  call.result(
      ops::index_put(call, x, indices, call.tensor("values"), call.flag("accumulate", false)));
}

void index_copy(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis_of(x);
  Value* index = call.tensor("index");
  call.result(ops::index_copy(call, x, axis, index, call.tensor("source")));
}

void slice_scatter(Call& call) {
  Value* x = call.tensor("self");
  const int64_t end = call.integer("end", std::numeric_limits<int64_t>::max());
  call.result(ops::slice_scatter(call, x, call.tensor("src"), call.axis_of(x),
                                 call.integer("start", 0), end, call.integer("step", 1)));
}

void select_scatter(Call& call) {
  Value* x = call.tensor("self");
  call.result(
      ops::select_scatter(call, x, call.tensor("src"), call.axis_of(x), call.integer("index")));
}

constexpr OpRule kRules[] = {
    {"aten.embedding.default", embedding},         {"aten.index_select.default", index_select},
    {"aten.gather.default", gather_elements},      {"aten.index.Tensor", index},
    {"aten.index_put.default", index_put},         {"aten.index_copy.default", index_copy},
    {"aten.slice_scatter.default", slice_scatter}, {"aten.select_scatter.default", select_scatter},
};

}  // namespace

std::span<const OpRule> index_rules() { return kRules; }

}  // namespace layline::pt2

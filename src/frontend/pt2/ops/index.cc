// Reading elements at places that a tensor holds, and writing to a part of a tensor.
#include "frontend/ops/index.h"

#include <algorithm>
#include <limits>

#include "frontend/ops/search.h"
#include "frontend/ops/shapes.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

void embedding(Call& call) {
  Value* table = call.tensor("weight");
  call.result(call.add(Op::gather, {table, call.tensor("indices")}, AxisAttrs{0}));
}

void embedding_bag(Call& call) {
  Value* table = call.tensor("weight");
  Value* indices = call.tensor("indices");
  Value* offsets = call.tensor("offsets");
  const int64_t mode = call.integer("mode", 0);
  if (mode < 0 || mode > 2) call.fail("mode {} is not known", mode);
  if (call.has("padding_idx") && call.integer("padding_idx") != -1)
    call.fail("padding_idx is not supported; give the row's elements the weight 0");
  const int64_t count =
      ops::static_length(call, offsets, 0) - (call.flag("include_last_offset", false) ? 1 : 0);
  call.result(ops::bags(call, table, indices, offsets, count,
                        call.optional_tensor("per_sample_weights"), static_cast<ops::Bag>(mode)));
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

void isin(Call& call, std::string_view elements, std::string_view among) {
  const Operand left = operand(call, elements), right = operand(call, among);
  const DType dtype = promote({left, right});
  Value* x = as(call, left, dtype);
  Value* found = ops::is_among(call, x, as(call, right, dtype));
  call.result(call.flag("invert", false) ? call.add(Op::logical_not, {found}) : found);
}

void place_in_order(Call& call, std::string_view sorted) {
  if (call.has("sorter")) call.fail("sorter is not supported; sort the sequence");
  const std::string_view side = call.string("side", call.flag("right", false) ? "right" : "left");
  const Operand left = operand(call, "self"), right = operand(call, sorted);
  const DType dtype = promote({left, right});
  Value* x = as(call, left, dtype);
  Value* places = ops::places_in_order(call, x, as(call, right, dtype), side == "right");
  call.result(call.convert(places, call.recorded().dtype));
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
    {"aten.embedding.default", embedding},
    {"aten.index_select.default", index_select},
    {"aten.gather.default", gather_elements},
    {"aten.index.Tensor", index},
    {"aten.index_put.default", index_put},
    {"aten.index_copy.default", index_copy},
    {"aten.slice_scatter.default", slice_scatter},
    {"aten.select_scatter.default", select_scatter},
    {"aten.embedding_bag.default", embedding_bag},
    {"aten.embedding_bag.padding_idx", embedding_bag},
    {"aten._embedding_bag.default", embedding_bag},
    {"aten._embedding_bag_forward_only.default", embedding_bag},
    {"aten.isin.Tensor_Tensor", [](Call& call) { isin(call, "elements", "test_elements"); }},
    {"aten.isin.Tensor_Scalar", [](Call& call) { isin(call, "elements", "test_element"); }},
    {"aten.isin.Scalar_Tensor", [](Call& call) { isin(call, "element", "test_elements"); }},
    {"aten.bucketize.Tensor", [](Call& call) { place_in_order(call, "boundaries"); }},
    {"aten.bucketize.Scalar", [](Call& call) { place_in_order(call, "boundaries"); }},
    {"aten.searchsorted.Tensor", [](Call& call) { place_in_order(call, "sorted_sequence"); }},
    {"aten.searchsorted.Scalar", [](Call& call) { place_in_order(call, "sorted_sequence"); }},
};

}  // namespace

std::span<const OpRule> index_rules() { return kRules; }

}  // namespace layline::pt2

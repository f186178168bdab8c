// Writing, or adding, to elements at places that a tensor holds.
#include "frontend/ops/scatter.h"

#include <algorithm>

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/index.h"
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"

namespace layline::pt2 {
namespace {

void write(Call& call, Op op, Value* updates) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis("dim", 0, std::max<int64_t>(x->type().rank(), 1));
  call.result(ops::scatter(call, op, x, call.tensor("index"), updates, axis));
}

void scatter(Call& call) { write(call, Op::scatter_elements, call.tensor("src")); }

void scatter_value(Call& call) {
  Value* number = as(call, operand(call, "value"), call.tensor("self")->dtype());
  write(call, Op::scatter_elements, call.expand(number, call.tensor("index")->shape()));
}

void scatter_add(Call& call) { write(call, Op::scatter_add, call.tensor("src")); }

void scatter_reduce(Call& call) {
  const std::string_view reduce = call.string("reduce", "");
  if (reduce != "sum") call.fail("reduces by {}; only sum is supported", reduce);
  if (!call.flag("include_self", true)) call.fail("include_self=False is not supported");
  scatter_add(call);
}

void index_add(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis_of(x);
  Value* source = call.convert(call.tensor("source"), x->dtype());
  source = ops::times(call, source, call.number("alpha", 1));
  call.result(ops::index_add(call, x, axis, call.tensor("index"), source));
}

void index_fill(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis_of(x);
  Value* index =
      ops::counted_from_start(call, call.tensor("index"), x->shape()[static_cast<size_t>(axis)]);
  Value* number = as(call, operand(call, "value"), x->dtype());
  call.result(ops::index_fill(call, x, axis, index, number));
}

void one_hot(Call& call) {
  const Shape shape = call.recorded().shape;
  if (shape.empty() || !shape.back().is_static())
    call.fail("the number of classes depends on the data; give num_classes");
  call.result(ops::one_hot(call, call.tensor("self"), shape.back().value()));
}

void take(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::take(call, x, call.tensor("index")));
}

/// Without an axis, both tensors are flattened. Negative places count from the end, unlike those of
/// gather.
void take_along_dim(Call& call) {
  Value* x = call.tensor("self");
  Value* index = call.tensor("indices");
  if (!call.has("dim")) {
    x = call.view(x, {element_count(x->shape())});
    index = call.view(index, {element_count(index->shape())});
  }
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  index = ops::counted_from_start(call, index, x->shape()[static_cast<size_t>(axis)]);
  call.result(ops::take_along_axis(call, x, index, axis));
}

constexpr OpRule kRules[] = {
    {"aten.scatter.src", scatter},
    {"aten.scatter.value", scatter_value},
    {"aten.scatter_add.default", scatter_add},
    {"aten.scatter_reduce.two", scatter_reduce},
    {"aten.index_add.default", index_add},
    {"aten.index_fill.int_Scalar", index_fill},
    {"aten.index_fill.int_Tensor", index_fill},
    {"aten.one_hot.default", one_hot},
    {"aten.take.default", take},
    {"aten.take_along_dim.default", take_along_dim},
};

}  // namespace

std::span<const OpRule> scatter_rules() { return kRules; }

}  // namespace layline::pt2

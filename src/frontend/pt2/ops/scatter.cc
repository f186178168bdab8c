// Writing, or adding, to elements at places that a tensor holds.
#include "frontend/pt2/ops/rules.h"
#include "frontend/pt2/promotion.h"
#include "ir/tensor.h"

namespace layline::pt2 {
namespace {

/// The tensor to write to, where, and what, each with an axis at least and as long as the index.
struct Writes {
  Value* data;
  Value* index;
  Value* updates;
  int64_t axis;
};

Writes writes(Call& call, Value* updates) {
  Value* data = call.tensor("self");
  Value* index = call.convert(call.tensor("index"), DType::i64);
  for (Value** operand : {&data, &index, &updates})
    if ((*operand)->shape().empty()) *operand = call.view(*operand, {1});
  if (updates->shape().size() != index->shape().size())
    call.fail("the source is {}, the index {}", to_string(updates->type()),
              to_string(index->type()));
  for (size_t a = 0; a < index->shape().size(); ++a)
    updates = call.slice(updates, static_cast<int64_t>(a), 0, index->shape()[a]);
  return {data, index, call.convert(updates, data->dtype()),
          call.axis("dim", 0, data->type().rank())};
}

void write(Call& call, Op op, const Writes& w) {
  Value* y = call.add(op, {w.data, w.index, w.updates}, AxisAttrs{w.axis});
  call.result(call.view(y, call.recorded().shape));
}

void scatter(Call& call) { write(call, Op::scatter_elements, writes(call, call.tensor("src"))); }

void scatter_value(Call& call) {
  const DType dtype = call.tensor("self")->dtype();
  Value* number = as(call, operand(call, "value"), dtype);
  write(call, Op::scatter_elements,
        writes(call, call.expand(number, call.tensor("index")->shape())));
}

void scatter_add(Call& call) { write(call, Op::scatter_add, writes(call, call.tensor("src"))); }

void scatter_reduce(Call& call) {
  const std::string_view reduce = call.string("reduce", "");
  if (reduce != "sum") call.fail("reduces by {}; only sum is supported", reduce);
  if (!call.flag("include_self", true)) call.fail("include_self=False is not supported");
  scatter_add(call);
}

/// A list of indices along an axis, for every element of `shape`.
Value* spread_index(const Call& call, Value* index, int64_t axis, const Shape& shape) {
  Shape along(shape.size() - static_cast<size_t>(axis), Dim(1));
  along[0] = element_count(index->shape());
  index = call.view(call.convert(index, DType::i64), std::move(along));
  return call.expand(index, shape);
}

void index_add(Call& call) {
  Value* x = call.tensor("self");
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  Value* source = call.convert(call.tensor("source"), x->dtype());
  const double alpha = call.number("alpha", 1);
  if (alpha != 1) source = call.add(Op::mul, {source, call.scalar(x->dtype(), alpha)});
  Value* index = spread_index(call, call.tensor("index"), axis, source->shape());
  call.result(call.add(Op::scatter_add, {x, index, source}, AxisAttrs{axis}));
}

void index_fill(Call& call) {
  Value* x = call.tensor("self");
  if (x->shape().empty()) call.fail("takes no 0-d tensors");
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  Value* index = call.tensor("index");
  Shape shape = x->shape();
  shape[static_cast<size_t>(axis)] = element_count(index->shape());
  Value* number = call.expand(as(call, operand(call, "value"), x->dtype()), shape);
  call.result(call.add(Op::scatter_elements, {x, spread_index(call, index, axis, shape), number},
                       AxisAttrs{axis}));
}

/// 1 where the class is the place along a new last axis.
void one_hot(Call& call) {
  const Shape& shape = call.recorded().shape;
  if (!shape.back().is_static())
    call.fail("the number of classes depends on the data; give num_classes");
  Tensor classes({DType::i64, {shape.back()}});
  for (int64_t i = 0; i < classes.count(); ++i) classes.set_int(i, i);
  Value* numbers = call.constant(Constant::of(classes));
  Value* x = call.convert(call.tensor("self"), DType::i64);
  Shape last = x->shape();
  last.push_back(1);
  call.result(call.convert(call.add(Op::equal, {call.view(x, last), numbers}), DType::i64));
}

/// From the flattened tensor.
void take(Call& call) {
  Value* x = call.tensor("self");
  Value* index = call.tensor("index");
  Value* flat = call.view(x, {element_count(x->shape())});
  Value* y =
      call.add(Op::gather, {flat, call.view(index, {element_count(index->shape())})}, AxisAttrs{0});
  call.result(call.view(y, call.recorded().shape));
}

/// The index broadcasts against the tensor beside the axis.
void take_along_dim(Call& call) {
  Value* x = call.tensor("self");
  Value* index = call.convert(call.tensor("indices"), DType::i64);
  if (!call.has("dim")) {
    x = call.view(x, {element_count(x->shape())});
    index = call.view(index, {element_count(index->shape())});
  }
  const int64_t axis = call.axis("dim", 0, x->type().rank());
  const auto a = static_cast<size_t>(axis);
  if (x->shape().size() != index->shape().size())
    call.fail("indices with other axes than the data");
  Shape data = x->shape(), places = index->shape();
  for (size_t i = 0; i < data.size(); ++i) {
    if (i == a) continue;
    if (data[i].is_one()) data[i] = places[i];
    if (places[i].is_one()) places[i] = data[i];
  }
  call.result(call.add(Op::gather_elements, {call.expand(x, data), call.expand(index, places)},
                       AxisAttrs{axis}));
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

#include "frontend/ops/scatter.h"

#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {

Value* scatter(const Builder& build, Op op, Value* x, Value* index, Value* updates, int64_t axis) {
  index = build.convert(index, DType::i64);
  const Shape shape = x->shape();
  for (Value** operand : {&x, &index, &updates}) *operand = with_some_axis(build, *operand);
  if (updates->shape().size() != index->shape().size())
    build.fail("the source is {}, the index {}", to_string(updates->type()),
               to_string(index->type()));
  for (size_t a = 0; a < index->shape().size(); ++a)
    updates = build.slice(updates, static_cast<int64_t>(a), 0, index->shape()[a]);
  updates = build.convert(updates, x->dtype());
  return build.view(build.add(op, {x, index, updates}, AxisAttrs{axis}), shape);
}

Value* put_slices(const Builder& build, Value* x, int64_t axis, Value* index, Value* slices) {
  Shape along(x->shape().size(), Dim(1));
  along[static_cast<size_t>(axis)] = element_count(index->shape());
  index = build.view(build.convert(index, DType::i64), std::move(along));
  return build.add(Op::scatter, {x, index, slices}, AxisAttrs{axis});
}

Value* index_add(const Builder& build, Value* x, int64_t axis, Value* index, Value* source) {
  index = spread_index(build, index, axis, source->shape());
  return build.add(Op::scatter_add, {x, index, source}, AxisAttrs{axis});
}

Value* index_fill(const Builder& build, Value* x, int64_t axis, Value* index, Value* number) {
  Shape shape = x->shape();
  shape[static_cast<size_t>(axis)] = element_count(index->shape());
  number = build.expand(number, shape);
  return build.add(Op::scatter_elements, {x, spread_index(build, index, axis, shape), number},
                   AxisAttrs{axis});
}

Value* one_hot(const Builder& build, Value* classes, int64_t count) {
  Tensor places({DType::i64, {count}});
  for (int64_t i = 0; i < count; ++i) places.set_int(i, i);
  Value* numbers = build.constant(places);
  Value* x = build.convert(classes, DType::i64);
  x = with_axis(build, x, x->type().rank());
  return build.convert(build.add(Op::equal, {x, numbers}), DType::i64);
}

Value* spread_index(const Builder& build, Value* index, int64_t axis, const Shape& shape) {
  if (static_cast<size_t>(axis) >= shape.size())
    build.fail("has no axis {} in {}", axis, to_string(shape));
  Shape along(shape.size() - static_cast<size_t>(axis), Dim(1));
  along[0] = element_count(index->shape());
  index = build.view(build.convert(index, DType::i64), std::move(along));
  return build.expand(index, shape);
}

}  // namespace layline::ops

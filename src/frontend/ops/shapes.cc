#include "frontend/ops/shapes.h"

#include <algorithm>
#include <numeric>

namespace layline::ops {

Value* view(const Builder& build, Value* x, Shape shape) {
  if (element_count(x->shape()) != element_count(shape))
    build.fail("{} does not have the elements of {}", to_string(x->type()), to_string(shape));
  return build.view(x, std::move(shape));
}

Value* with_axis(const Builder& build, Value* x, int64_t axis) {
  Shape shape = x->shape();
  shape.insert(shape.begin() + axis, Dim(1));
  return build.view(x, std::move(shape));
}

Value* without_axes(const Builder& build, Value* x, const Ints& axes) {
  Shape shape;
  for (size_t a = 0; a < x->shape().size(); ++a)
    if (std::ranges::find(axes, static_cast<int64_t>(a)) == axes.end())
      shape.push_back(x->shape()[a]);
  return build.view(x, std::move(shape));
}

Value* with_some_axis(const Builder& build, Value* x) {
  return x->shape().empty() ? build.view(x, {1}) : x;
}

Ints all_axes(const Value* x) {
  Ints axes(x->shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

int64_t static_length(const Builder& build, const Value* x, int64_t axis) {
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static())
    build.fail(
        "axis {} of {} is dynamic, which layline does not support here; export it with a fixed "
        "size",
        axis, to_string(x->type()));
  return length.value();
}

}  // namespace layline::ops

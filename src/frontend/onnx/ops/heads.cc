#include "frontend/onnx/ops/heads.h"

#include "frontend/ops/view.h"

namespace layline::onnx {

Value* with_heads(const Call& call, Value* x, int64_t heads) {
  const Shape& shape = x->shape();
  if (shape.size() != 3) call.fail("takes no {}", to_string(x->type()));
  const auto width = heads > 0 ? divide(shape[2], heads) : std::nullopt;
  if (!width) call.fail("{} does not divide into {} heads", to_string(x->type()), heads);
  return ops::swap_axes(call, call.view(x, {shape[0], shape[1], heads, *width}), 1, 2);
}

Value* without_heads(const Call& call, Value* x) {
  const Shape shape = x->shape();
  return call.view(ops::swap_axes(call, x, 1, 2), {shape[0], shape[2], shape[1] * shape[3]});
}

}  // namespace layline::onnx

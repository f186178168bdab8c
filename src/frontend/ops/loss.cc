#include "frontend/ops/loss.h"

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {

Value* averaged(const Builder& build, Value* loss, Average how) {
  if (how == Average::none) return loss;
  const Op op = how == Average::mean ? Op::reduce_mean : Op::reduce_sum;
  return reduce(build, op, loss, {all_axes(loss), false});
}

Value* squared_error(const Builder& build, Value* x, Value* y) {
  return build.add(Op::square, {build.add(Op::sub, {x, y})});
}

Value* absolute_error(const Builder& build, Value* x, Value* y) {
  return build.add(Op::abs, {build.add(Op::sub, {x, y})});
}

/// With z = min(|x - y|, width), it is z * (|x - y| - z / 2).
Value* huber(const Builder& build, Value* x, Value* y, double width) {
  Value* error = absolute_error(build, x, y);
  Value* near = build.clamp(error, 0, width);
  Value* rest = build.add(Op::sub, {error, times(build, near, 0.5)});
  return build.add(Op::mul, {near, rest});
}

}  // namespace layline::ops

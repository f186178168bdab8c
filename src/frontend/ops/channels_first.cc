#include "frontend/ops/channels_first.h"

#include "frontend/ops/shapes.h"

namespace layline::ops {

Batched with_batch(const Builder& build, Value* x, size_t spatial) {
  const bool batched = x->shape().size() == spatial + 2;
  return {batched ? x : with_axis(build, x, 0), batched};
}

Value* without_batch(const Builder& build, const Batched& given, Value* y) {
  return given.batched ? y : without_axes(build, y, {0});
}

}  // namespace layline::ops

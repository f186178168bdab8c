#include "frontend/ops/overwrite.h"

#include "frontend/ops/scatter.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

int64_t fixed(const Builder& build, const Dim& length) {
  if (!length.is_static())
    build.fail("writes in place to a part of a dynamic axis, which is not supported");
  return length.value();
}

}  // namespace

Value* overwrite(const Builder& build, Value* base, Value* part, int64_t axis, int64_t start,
                 int64_t step) {
  const auto a = static_cast<size_t>(axis);
  const int64_t count = fixed(build, part->shape()[a]);
  const int64_t length = fixed(build, base->shape()[a]);
  if (count == 0) return base;
  if (count == length) return part;
  Tensor places({DType::i64, {count}});
  for (int64_t i = 0; i < count; ++i) places.set_int(i, start + i * step);
  return put_slices(build, base, axis, build.constant(places), part);
}

}  // namespace layline::ops

#include "frontend/ops/overwrite.h"

#include <algorithm>

namespace layline::ops {
namespace {

int64_t fixed(const Builder& build, const Dim& length) {
  if (!length.is_static())
    build.fail("writes in place to a part of a dynamic axis, which is not supported");
  return length.value();
}

Value* overwrite_run(const Builder& build, Value* base, Value* part, int64_t axis, int64_t start) {
  const auto a = static_cast<size_t>(axis);
  const int64_t length = fixed(build, base->shape()[a]);
  const int64_t end = start + fixed(build, part->shape()[a]);
  std::vector<Value*> pieces;
  if (start > 0) pieces.push_back(build.slice(base, axis, 0, start));
  pieces.push_back(part);
  if (end < length) pieces.push_back(build.slice(base, axis, end, length - end));
  return build.concat(std::move(pieces), axis);
}

}  // namespace

Value* overwrite(const Builder& build, Value* base, Value* part, int64_t axis, int64_t start,
                 int64_t step) {
  const auto a = static_cast<size_t>(axis);
  const int64_t count = fixed(build, part->shape()[a]);
  if (count == 0) return base;
  if (step == 1 || count == 1) return overwrite_run(build, base, part, axis, start);

  // The region as [outer, count, step, inner]: element 0 of each step is replaced. The last step
  // may reach beyond the axis.
  const int64_t missing =
      std::max<int64_t>(0, start + count * step - fixed(build, base->shape()[a]));
  Value* padded = base;
  if (missing > 0) {
    PadAttrs pad{Ints(base->shape().size(), 0), Ints(base->shape().size(), 0)};
    pad.high[a] = missing;
    padded = build.add(Op::pad, {base}, std::move(pad));
  }
  Value* region = build.slice(padded, axis, start, count * step);
  const Shape shape = region->shape();
  const std::span<const Dim> dims(shape);
  const Dim outer = product(dims.first(a)), inner = product(dims.subspan(a + 1));
  Value* kept = build.slice(build.view(region, {outer, count, step, inner}), 2, 1, step - 1);
  Value* joined = build.concat({build.view(part, {outer, count, 1, inner}), kept}, 2);
  Value* replaced = build.slice(build.view(joined, shape), axis, 0, count * step - missing);
  return overwrite_run(build, base, replaced, axis, start);
}

}  // namespace layline::ops

#include "frontend/ops/search.h"

#include "frontend/ops/reduction.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {

Value* is_among(const Builder& build, Value* x, Value* among) {
  const int64_t last = x->type().rank();
  x = with_axis(build, x, last);
  among = build.view(among, {element_count(among->shape())});
  return reduce(build, Op::reduce_any, build.add(Op::equal, {x, among}), {{last}, false});
}

Value* places_in_order(const Builder& build, Value* x, Value* sorted, bool right) {
  const int64_t last = x->type().rank();
  if (sorted->shape().empty() || (sorted->type().rank() != 1 && sorted->type().rank() != last))
    build.fail("looks for {} in {}", to_string(x->type()), to_string(sorted->type()));
  x = with_axis(build, x, last);
  if (sorted->type().rank() > 1) sorted = with_axis(build, sorted, last - 1);
  Value* behind = build.add(right ? Op::greater : Op::greater_equal, {sorted, x});
  Value* before = build.convert(build.add(Op::logical_not, {behind}), DType::i64);
  return reduce(build, Op::reduce_sum, before, {{last}, false});
}

}  // namespace layline::ops

#include "frontend/ops/linear_attention.h"

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"

namespace layline::ops {

LinearAttentionResults linear_attention(const Builder& build, Value* query, Value* key,
                                        Value* value, Value* state, const LinearAttention& how) {
  constexpr int64_t kMostSteps = 1 << 12;
  const int64_t steps = static_length(build, query, 2);
  if (steps < 1 || steps > kMostSteps)
    build.fail("{} steps cannot be unrolled; run from 1 to {} and carry the state over", steps,
               kMostSteps);
  const auto group = divide(query->shape()[1], key->shape()[1]);
  if (!group)
    build.fail("has queries {} and keys {}", to_string(query->type()), to_string(key->type()));
  query = times(build, query, how.scale);
  const Dim batch = query->shape()[0], width = query->shape()[3];
  const Shape read = {batch, key->shape()[1], *group, width};
  std::vector<Value*> outputs;
  for (int64_t t = 0; t < steps; ++t) {
    auto at_step = [&](Value* x) { return build.slice(x, 2, t, 1); };
    Value* row = at_step(key);
    Value* added = at_step(value);
    if (how.decay != nullptr) {
      Value* left = build.add(Op::exp, {swap_axes(build, at_step(how.decay), 2, 3)});
      state = build.add(Op::mul, {state, left});
    }
    if (how.rate != nullptr) {
      Value* held = build.add(Op::matmul, {row, state}, MatmulAttrs{});
      added = build.add(Op::mul, {at_step(how.rate), build.add(Op::sub, {added, held})});
    }
    Value* column = swap_axes(build, row, 2, 3);
    state = build.add(Op::add, {state, build.add(Op::mul, {column, added})});
    Value* asked = build.view(at_step(query), read);
    Value* output = build.add(Op::matmul, {asked, state}, MatmulAttrs{});
    outputs.push_back(build.view(output, {batch, query->shape()[1], 1, value->shape()[3]}));
  }
  return {build.concat(std::move(outputs), 2), state};
}

}  // namespace layline::ops

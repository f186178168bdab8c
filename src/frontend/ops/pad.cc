#include "frontend/ops/pad.h"

#include <algorithm>

namespace layline::ops {

Value* pad(const Builder& build, Value* x, PadAttrs attrs) {
  SymbolTable& symbols = build.graph().symbol_table();
  for (size_t axis = x->shape().size(); axis-- > 0;) {
    const int64_t crop_low = std::max<int64_t>(0, -attrs.low[axis]);
    const int64_t crop_high = std::max<int64_t>(0, -attrs.high[axis]);
    if (crop_low > 0 || crop_high > 0) {
      const Sum left =
          symbols.expand(x->shape()[axis]) - Sum::number(crop_low) - Sum::number(crop_high);
      if (symbols.range(left).min < 0)
        build.fail("crops {} and {} of {}", crop_low, crop_high, to_string(x->shape()[axis]));
      x = build.slice(x, static_cast<int64_t>(axis), crop_low, symbols.dim(left));
    }
    attrs.low[axis] = std::max<int64_t>(0, attrs.low[axis]);
    attrs.high[axis] = std::max<int64_t>(0, attrs.high[axis]);
  }
  return build.add(Op::pad, {x}, std::move(attrs));
}

}  // namespace layline::ops

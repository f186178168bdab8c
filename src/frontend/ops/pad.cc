#include "frontend/ops/pad.h"

#include <algorithm>

#include "ir/tensor.h"

namespace layline::ops {
namespace {

/// The element of an axis that is repeated at a place before it or behind it, however far.
int64_t repeated(int64_t place, int64_t length, PadMode mode) {
  const int64_t period = mode == PadMode::circular ? length : std::max<int64_t>(2 * length - 2, 1);
  const int64_t inside = ((place % period) + period) % period;
  return inside < length ? inside : period - inside;
}

/// Padding that repeats more than the axis has is written as places to read.
Value* pad_far(const Builder& build, Value* x, int64_t axis, PadAttrs& attrs) {
  int64_t &low = attrs.low[static_cast<size_t>(axis)],
          &high = attrs.high[static_cast<size_t>(axis)];
  const Dim size = x->shape()[static_cast<size_t>(axis)];
  if ((attrs.mode != PadMode::reflect && attrs.mode != PadMode::circular) || !size.is_static())
    return x;
  const int64_t length = size.value();
  constexpr int64_t kMost = 1 << 26;
  if (length < 1 || std::max({low, length, high}) > kMost ||
      std::max(low, high) <= (attrs.mode == PadMode::reflect ? length - 1 : length))
    return x;
  Tensor places({DType::i64, {low + length + high}});
  for (int64_t i = 0; i < places.count(); ++i)
    places.set_int(i, repeated(i - low, length, attrs.mode));
  low = high = 0;
  return build.add(Op::gather, {x, build.constant(places)}, AxisAttrs{axis});
}

}  // namespace

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
    x = pad_far(build, x, static_cast<int64_t>(axis), attrs);
  }
  return build.add(Op::pad, {x}, std::move(attrs));
}

}  // namespace layline::ops

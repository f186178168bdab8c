#include "frontend/ops/deform_conv.h"

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/grid.h"
#include "frontend/ops/join.h"
#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {

Value* deform_conv(const Builder& build, Value* x, Value* weight, Value* bias, Value* offsets,
                   Value* mask, const DeformedWindow& window) {
  for (const Value* operand : {x, weight, offsets})
    if (operand->shape().size() != 4 || !is_static(operand->shape()))
      build.fail("takes no {}; two spatial axes of fixed sizes are supported",
                 to_string(operand->type()));
  const std::vector<int64_t> image = static_dims(x->shape()), kernel = static_dims(weight->shape());
  const int64_t batch = image[0], channels = image[1], taps = kernel[2] * kernel[3];
  const int64_t rows = offsets->shape()[2].value(), columns = offsets->shape()[3].value();
  const int64_t groups = window.groups, shared = window.offset_groups;
  if (groups < 1 || shared < 1 || kernel[1] * groups != channels || kernel[0] % groups != 0 ||
      channels % shared != 0)
    build.fail("{} does not fit {} in {} groups", to_string(x->type()), to_string(weight->type()),
               groups);

  // The places from -1 to 1 that grid_sample wants, for all elements of a window in one grid: the
  // element is in front of the rows.
  offsets = view(build, offsets, {batch * shared, taps, 2, rows, columns});
  const auto coordinate = [&](int64_t axis) {
    const auto a = static_cast<size_t>(axis);
    const auto length = static_cast<double>(image[a + 2]);
    Tensor base({x->dtype(), {taps, rows, columns}});
    for (int64_t i = 0; i < base.count(); ++i) {
      const int64_t tap = i / (rows * columns), place = i % (rows * columns);
      const int64_t within = axis == 0 ? tap / kernel[3] : tap % kernel[3];
      const int64_t start = (axis == 0 ? place / columns : place % columns) * window.stride[a];
      const int64_t at = start + within * window.dilation[a] - window.low[a];
      base.set(i, (2 * static_cast<double>(at) + 1) / length - 1);
    }
    Value* moved = select(build, offsets, 2, axis);
    return build.add(Op::add, {times(build, moved, 2 / length), build.constant(base)});
  };
  Value* down = coordinate(0);
  Value* across = coordinate(1);
  Value* grid =
      build.view(stack(build, {across, down}, 4), {batch * shared, taps * rows, columns, 2});
  x = build.view(x, {batch * shared, channels / shared, image[2], image[3]});
  Value* read = grid_sample(build, x, grid, {GridMode::linear, OutsideMode::zeros, false});
  if (mask != nullptr) {
    read = build.view(read, {batch * shared, channels / shared, taps, rows * columns});
    read = build.add(Op::mul, {read, view(build, mask, {batch * shared, 1, taps, rows * columns})});
  }

  read = build.view(read, {batch, groups, kernel[1] * taps, rows * columns});
  weight = build.view(weight, {groups, kernel[0] / groups, kernel[1] * taps});
  Value* y = build.add(Op::matmul, {weight, read}, MatmulAttrs{});
  y = build.view(y, {batch, kernel[0], rows, columns});
  if (bias == nullptr) return y;
  return build.add(Op::add, {y, view(build, bias, {kernel[0], 1, 1})});
}

}  // namespace layline::ops

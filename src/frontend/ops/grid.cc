#include "frontend/ops/grid.h"

#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

/// Place i of a row of `count` from -1 to 1: between the centres of the first and the last pixel,
/// or between their outer edges.
double coordinate(int64_t i, int64_t count, bool align_corners) {
  if (align_corners)
    return count > 1 ? 2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1 : 0;
  return (2 * static_cast<double>(i) + 1) / static_cast<double>(count) - 1;
}

}  // namespace

Value* grid_sample(const Builder& build, Value* x, Value* grid, GridSampleAttrs attrs) {
  if (x->shape().size() != 4)
    build.fail("samples {}; only images are supported", to_string(x->type()));
  Value* y = build.add(Op::grid_sample,
                       {build.to_channels_last(x), build.convert(grid, x->dtype())}, attrs);
  return build.from_channels_last(y);
}

Value* affine_grid(const Builder& build, Value* maps, int64_t rows, int64_t columns,
                   bool align_corners) {
  constexpr int64_t kMostPlaces = 1 << 26;
  if (rows < 1 || columns < 1 || rows > kMostPlaces / columns)
    build.fail("makes a grid of {}x{}", rows, columns);
  Tensor base({maps->dtype(), {rows * columns, 3}});
  for (int64_t i = 0; i < rows * columns; ++i) {
    base.set(3 * i, coordinate(i % columns, columns, align_corners));
    base.set(3 * i + 1, coordinate(i / columns, rows, align_corners));
    base.set(3 * i + 2, 1);
  }
  Value* y = build.add(Op::matmul, {build.constant(base), maps}, MatmulAttrs{true});
  if (y->shape().size() != 3) build.fail("maps {}", to_string(maps->type()));
  return view(build, y, {y->shape()[0], rows, columns, 2});
}

}  // namespace layline::ops

#include "frontend/ops/roi_align.h"

#include <array>
#include <limits>

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/grid.h"
#include "frontend/ops/index.h"
#include "frontend/ops/join.h"
#include "frontend/ops/reduction.h"
#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The samples of all regions along one axis, [regions, samples].
struct Track {
  Value* at;      // in pixels of x, kept on it
  Value* inside;  // 1 where the sample lies on x or within a pixel of it, and 0 elsewhere
};

Track track(const Builder& build, Value* regions, int64_t axis, int64_t length, int64_t count,
            const RoiAlign& how) {
  const DType dtype = regions->dtype();
  auto number = [&](double value) { return build.scalar(dtype, value); };
  auto edge = [&](int64_t column) {
    Value* scaled = times(build, build.slice(regions, 1, column, 1), how.scale);
    return how.half_pixel ? build.add(Op::sub, {scaled, number(0.5)}) : scaled;
  };
  Value* start = edge(axis == 0 ? 1 : 0);
  Value* end = edge(axis == 0 ? 3 : 2);
  Value* size = build.add(Op::sub, {end, start});
  if (!how.half_pixel) size = build.clamp(size, 1, kInfinity);
  const int64_t samples = count * how.samples;
  Tensor fractions({dtype, {samples}});
  for (int64_t i = 0; i < samples; ++i)
    fractions.set(i, (static_cast<double>(i) + 0.5) / static_cast<double>(samples));
  Value* at = build.add(Op::add, {start, build.add(Op::mul, {size, build.constant(fractions)})});
  Value* inside = build.add(Op::logical_and,
                            {build.add(Op::greater_equal, {at, number(-1)}),
                             build.add(Op::less_equal, {at, number(static_cast<double>(length))})});
  return {build.clamp(at, 0, static_cast<double>(length - 1)), build.convert(inside, dtype)};
}

/// [regions, rows] and [regions, columns] for every row and column.
struct Grid {
  Value *rows, *columns;
};

Grid crossed(const Builder& build, Value* rows, Value* columns) {
  const Shape all = {rows->shape()[0], rows->shape()[1], columns->shape()[1]};
  Value* down = build.expand(with_axis(build, rows, 2), all);
  return {down, build.expand(with_axis(build, columns, 1), all)};
}

/// Reads x, [regions or 1, C, height, width], at pixels. Gives [regions, C, rows, columns].
Value* read(const Builder& build, Value* x, Value* rows, Value* columns, GridMode mode) {
  const Dim height = x->shape()[2], width = x->shape()[3];
  auto place = [&](Value* at, const Dim& length) {
    const double pixel = 2 / static_cast<double>(length.value());
    return build.add(Op::add, {times(build, at, pixel), build.scalar(at->dtype(), pixel / 2 - 1)});
  };
  rows = place(rows, height);
  columns = place(columns, width);
  const auto [down, across] = crossed(build, rows, columns);
  const Shape shape = down->shape();
  Value* grid = stack(build, {across, down}, 3);
  const bool one_image = x->shape()[0].is_one();
  if (one_image) grid = build.view(grid, {1, shape[0] * shape[1], shape[2], 2});
  Value* y = grid_sample(build, x, grid, {mode, OutsideMode::border, false});
  if (!one_image) return y;
  static constexpr int kRegionsFirst[] = {1, 0, 2, 3};
  y = build.view(y, {x->shape()[1], shape[0], shape[1], shape[2]});
  return build.permute(y, kRegionsFirst);
}

/// The greatest of the four neighbours of each sample, each times its weight.
Value* greatest_neighbour(const Builder& build, Value* x, const Track& down, const Track& across) {
  struct Neighbour {
    Value *at, *weight;
  };
  auto neighbours = [&](Value* at, const Dim& length) -> std::array<Neighbour, 2> {
    Value* one = build.scalar(at->dtype(), 1);
    Value* low = build.add(Op::floor, {at});
    Value* weight = build.add(Op::sub, {at, low});
    Value* high =
        build.clamp(build.add(Op::add, {low, one}), 0, static_cast<double>(length.value() - 1));
    return {Neighbour{low, build.add(Op::sub, {one, weight})}, Neighbour{high, weight}};
  };
  const auto rows = neighbours(down.at, x->shape()[2]);
  const auto columns = neighbours(across.at, x->shape()[3]);
  Value* greatest = nullptr;
  for (const Neighbour& row : rows)
    for (const Neighbour& column : columns) {
      Value* value = read(build, x, row.at, column.at, GridMode::nearest);
      const auto [vertical, horizontal] = crossed(build, row.weight, column.weight);
      Value* weight = build.add(Op::mul, {vertical, horizontal});
      value = build.add(Op::mul, {value, with_axis(build, weight, 1)});
      greatest = greatest == nullptr ? value : build.add(Op::maximum, {greatest, value});
    }
  return greatest;
}

}  // namespace

Value* roi_align(const Builder& build, Value* x, Value* regions, Value* images,
                 const RoiAlign& how) {
  if (x->shape().size() != 4 || !is_static(x->shape()) || regions->shape().size() != 2)
    build.fail("takes no {} and {}", to_string(x->type()), to_string(regions->type()));
  const Dim count = regions->shape()[0], channels = x->shape()[1];
  const Track down = track(build, regions, 0, x->shape()[2].value(), how.rows, how);
  const Track across = track(build, regions, 1, x->shape()[3].value(), how.columns, how);
  if (!x->shape()[0].is_one()) x = gather(build, x, images, 0);
  Value* y = how.greatest ? greatest_neighbour(build, x, down, across)
                          : read(build, x, down.at, across.at, GridMode::linear);
  const auto [vertical, horizontal] = crossed(build, down.inside, across.inside);
  Value* inside = build.add(Op::mul, {vertical, horizontal});
  y = build.add(Op::mul, {y, with_axis(build, inside, 1)});
  y = build.view(y, {count, channels, how.rows, how.samples, how.columns, how.samples});
  return reduce(build, how.greatest ? Op::reduce_max : Op::reduce_mean, y, {{3, 5}, false});
}

}  // namespace layline::ops

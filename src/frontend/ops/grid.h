// Images and volumes read at the places of a grid, and grids of affine maps.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

enum class GridMode : uint8_t { nearest, linear, cubic };

struct GridSampling {
  GridMode mode = GridMode::linear;
  OutsideMode outside = OutsideMode::zeros;
  bool align_corners = false;
};

/// Reads x, [n, c, spatial...], at the places of a grid, [n, ..., spatial axes]. The first
/// coordinate of a place counts along the last axis. They run from -1 to 1: the centres of the
/// first and the last element (align_corners), or their outer edges.
Value* grid_sample(const Builder& build, Value* x, Value* grid, const GridSampling& sampling);

/// Applies maps, [n, 2, 3] or [n, 3, 4], to the places (x, y, 1) or (x, y, z, 1) of an image or a
/// volume of these sizes; gives a grid [n, sizes..., coordinates].
Value* affine_grid(const Builder& build, Value* maps, const Ints& sizes, bool align_corners);

}  // namespace layline::ops

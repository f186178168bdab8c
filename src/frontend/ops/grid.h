// Images read at the places of a grid, and grids of affine maps.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// Reads x, [n, c, rows, columns], at the places of a grid; GridSampleAttrs says what a grid is.
Value* grid_sample(const Builder& build, Value* x, Value* grid, GridSampleAttrs attrs);

/// Applies [n, 2, 3] maps to the places (x, y, 1) of an image; gives a grid [n, rows, columns, 2].
Value* affine_grid(const Builder& build, Value* maps, int64_t rows, int64_t columns,
                   bool align_corners);

}  // namespace layline::ops

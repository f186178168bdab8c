// Images read at the places of a grid, and grids of affine maps.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// x is [n, c, rows, columns]; GridSampleAttrs says what a grid is.
Value* grid_sample(const Builder& build, Value* x, Value* grid, GridSampleAttrs attrs);

/// [n, 2, 3] maps applied to the places (x, y, 1) of an image: a grid [n, rows, columns, 2].
Value* affine_grid(const Builder& build, Value* maps, int64_t rows, int64_t columns,
                   bool align_corners);

}  // namespace layline::ops

// Regions of images, read at a fixed number of places.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

struct RoiAlign {
  int64_t rows, columns;    // of a result
  int64_t samples;          // along each axis of each of its elements
  double scale = 1;         // from the regions' coordinates to those of x
  bool half_pixel = false;  // pixel i lies at i + 1/2; otherwise regions are at least one wide
  bool greatest = false;    // the greatest weighted neighbour of any sample, and not the mean
};

/// Gives [regions, C, rows, columns] of x, [N, C, height, width]. A region is (left, top, right,
/// bottom), and `images`, i64[regions], says of which image.
Value* roi_align(const Builder& build, Value* x, Value* regions, Value* images,
                 const RoiAlign& how);

}  // namespace layline::ops

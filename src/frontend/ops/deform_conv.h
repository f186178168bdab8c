// Convolutions whose window reads where the model says.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

struct DeformedWindow {
  Ints stride, dilation;  // of two spatial axes
  Ints low;               // zero padding before them
  int64_t groups = 1;
  int64_t offset_groups = 1;  // groups of channels that share places
};

/// Convolves x, [N, C, rows, columns], with a weight [O, C / groups, height, width]. `offsets`,
/// [N, offset groups * height * width * 2, out rows, out columns], moves each element of each
/// window, down and to the right. `mask`, with half as many channels, multiplies them. It and the
/// bias may be null.
Value* deform_conv(const Builder& build, Value* x, Value* weight, Value* bias, Value* offsets,
                   Value* mask, const DeformedWindow& window);

}  // namespace layline::ops

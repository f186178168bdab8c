// A table of integers that stand for real numbers, of which rows are read: only what is read
// becomes real. Embeddings are such tables, much larger than what is read of them.
#pragma once

#include "ir/builder.h"
#include "ir/packed_integers.h"

namespace layline {

struct IntegerRows {
  Value* bytes;  // [rows, bytes of a row]: i8, or u8
  Packing packing = {};
  Shape row;           // the shape of one row
  Shape blocks;        // of the row's scales: as many axes, each a divisor of the row's
  Value* scales;       // f32 [rows, blocks]; [1, blocks] if rows are alike; or one number
  Value* zero_points;  // f32, likewise; null if all are 0. They count from the unpacked integers
};

/// The rows at these indices as real numbers, f32 [indices..., row...]: (integer - zero point) *
/// scale.
Value* real_rows(const Builder& build, const IntegerRows& table, Value* indices);

}  // namespace layline

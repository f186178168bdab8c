// Integers of two or four bits, several to a byte.
#pragma once

#include "ir/builder.h"
#include "ir/constant.h"

namespace layline {

/// How integers share a byte.
struct Packing {
  int bits = 8;           // of one integer: 8, 4 or 2
  bool low_first = true;  // whether the first integer has the lowest bits

  int in_a_byte() const { return 8 / bits; }
};

/// The rows of i8 or u8 [..., columns] with `bits` bits for each integer, the first in the lowest
/// bits, as u8 [rows, bytes of a row]. Signed integers are lifted by half of the range, so that
/// none is negative; what fills up the last byte of a row is a lifted 0. XNNPACK has weights of
/// four bits so. The bytes are computed when they are written.
Constant packed(const Constant& integers, int bits);

/// The first `columns` integers of each row of u8 [rows, bytes of a row], the first in the lowest
/// bits, as i8: lowered by half of the range. They are computed when they are read.
Constant unpacked(const Constant& bytes, int bits, int64_t columns);

/// The integers [..., n] that share the bytes [..., n / in_a_byte()], both f32: bytes from 0 to
/// 255, and integers that are not negative.
Value* unpacked(const Builder& build, Value* bytes, const Packing& packing);

}  // namespace layline

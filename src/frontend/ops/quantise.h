// Quantised tensors.
//
// In models a quantised tensor is one of plain integers, and the ops that make and read it each
// have the scale. Here the scale belongs to the type, so an import writes quantize, reinterpret (to
// plain integers) and reinterpret (back), dequantize; the pairs of reinterprets then cancel.
#pragma once

#include <optional>
#include <string_view>

#include "ir/builder.h"
#include "ir/packed_integers.h"
#include "ir/tensor.h"

namespace layline::ops {

/// The range of integers in use and their dtype.
struct Integers {
  DType dtype;
  int64_t min, max;
};

/// The constant that the value is. `what` names it in the message if it is none.
const Constant& known(const Builder& build, const Value* value, std::string_view what);

/// A table of scales and zero points with these dims, which divide those of the tensor. The zero
/// points may be null.
Quantisation table(const Builder& build, const Integers& range, const Constant& scales,
                   const Constant* zero_points, std::vector<int64_t> dims);
/// Dims of a table: one entry for each index of an axis.
std::vector<int64_t> dims_per_channel(const Value* x, int64_t axis, int64_t count);
/// Dims of a table: one entry for each block of x.
Shape dims_per_block(const Builder& build, const Value* x, const Shape& block);
/// Dims of a table: one entry for each group of so many elements along the last axis.
std::vector<int64_t> dims_per_group(const Builder& build, const Value* x, int64_t group);

/// Quantises x to plain integers.
Value* quantise(const Builder& build, Value* x, Quantisation quantisation);
/// Dequantises plain integers to f32.
Value* dequantise(const Builder& build, Value* x, Quantisation quantisation);

/// Rows of a table of integers at these indices, dequantised to f32. There is one scale for each
/// row [rows], or one for each group of its elements [rows, groups], and as many zero points or
/// none; `lift` is added to the zero points. Integers of fewer than 8 bits share bytes.
struct Embedding {
  Value* bytes;  // [rows, bytes of a row]
  Packing packing;
  int lift;
  Value* scales;
  Value* zero_points;  // may be null
};
Value* embedding(const Builder& build, const Embedding& table, Value* indices);

/// Scales and zero points that are computed at run time: chosen from x, one for each block of a
/// table with the dims `blocks`, or one for all.
struct Parameters {
  Value* scale;
  Value* zero_point;
  Shape blocks = {};
};
Value* quantise_by(const Builder& build, Value* x, const Parameters& by, const Integers& range);
Value* dequantise_by(const Builder& build, Value* x, const Parameters& by);
/// The scale, an f32, and the zero point that fit x.
Parameters choose(const Builder& build, Value* x, ChooseAttrs attrs);

}  // namespace layline::ops

// Arithmetic that is more than one core op.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// x times a number; x itself if that is 1.
Value* times(const Builder& build, Value* x, double factor);
/// a / b, rounded towards zero.
Value* divide_towards_zero(const Builder& build, Value* a, Value* b);
/// x to the power of a number, as a root or a product if it is one.
Value* power(const Builder& build, Value* x, double exponent);
/// Interpolates from `start` to `end`. It starts from the nearer of the two, so that each is met
/// exactly.
Value* lerp(const Builder& build, Value* start, Value* end, double weight);
Value* lerp(const Builder& build, Value* start, Value* end, Value* weight);
/// x with zeros above a diagonal of its matrices, or below it (`upper`). Diagonal d runs from [0,
/// d], or from [-d, 0].
Value* triangle(const Builder& build, Value* x, bool upper, int64_t diagonal);

}  // namespace layline::ops

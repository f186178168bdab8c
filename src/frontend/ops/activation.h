// Activations, and other functions of one tensor.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

Value* relu(const Builder& build, Value* x);
/// x within [min, max]. If `min` exceeds `max`, the result is `max` everywhere. If x is of
/// integers, the bounds are cast to its dtype: -3 is 253 for bytes.
Value* clamp(const Builder& build, Value* x, double min, double max);
/// x within bounds that broadcast; null means none.
Value* clamp(const Builder& build, Value* x, Value* min, Value* max);

/// max(0, min(1, slope * x + offset)) with the slope 1/6 and the offset 1/2.
Value* hardsigmoid(const Builder& build, Value* x);
/// The same with another slope and offset.
Value* hardsigmoid(const Builder& build, Value* x, double slope, double offset);
Value* silu(const Builder& build, Value* x);
/// x * sigmoid(alpha * x).
Value* swish(const Builder& build, Value* x, double alpha);
/// x / (1 + |x|).
Value* softsign(const Builder& build, Value* x);
/// log(1 + exp(beta * x)) / beta, and x where beta * x is above `threshold`.
Value* softplus(const Builder& build, Value* x, double beta = 1, double threshold = 20);
Value* mish(const Builder& build, Value* x);
Value* log_sigmoid(const Builder& build, Value* x);
/// scale * (x, or alpha * (exp(x) - 1) where x is negative).
Value* elu(const Builder& build, Value* x, double alpha, double scale = 1);
/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
Value* celu(const Builder& build, Value* x, double alpha);
Value* selu(const Builder& build, Value* x);
/// x, or slope * x if x is negative. The slope is one for all, one for each channel of axis 1, or
/// broadcasts.
Value* prelu(const Builder& build, Value* x, Value* slope);
/// The first half of an axis times the sigmoid of the second.
Value* glu(const Builder& build, Value* x, int64_t axis);
/// 0 from -bound to bound, x elsewhere.
Value* hardshrink(const Builder& build, Value* x, double bound);
/// x moved towards 0 by `bound`; 0 from -bound to bound.
Value* softshrink(const Builder& build, Value* x, double bound);
/// x above `bound`, `value` elsewhere.
Value* threshold(const Builder& build, Value* x, double bound, double value);

/// `op` is softmax or log_softmax. A tensor without axes has one axis of length 1.
Value* softmax(const Builder& build, Op op, Value* x, int64_t axis);

}  // namespace layline::ops

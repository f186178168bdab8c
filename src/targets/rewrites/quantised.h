// Quantised numbers for targets that have no kernel for them: the ops written out in real numbers.
// Each rule gives the value to use instead of the node's result, or null if it does not apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

/// Real rows, integer weights and a bias: the bias is added apart.
Value* bias_apart(const Builder& build, const Node& node);

/// A quantised op is what it is by definition: computed on real numbers and quantised again.
Value* on_reals(const Builder& build, const Node& node);

/// quantize, dequantize and the choice of scales, in arithmetic.
Value* in_arithmetic(const Builder& build, const Node& node);

}  // namespace layline::rewrites

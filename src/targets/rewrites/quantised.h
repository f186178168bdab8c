// Rewrites ops on quantised numbers for targets that have no kernel for them, as ops on real
// numbers. Each rule gives the value to use instead of the node's result, or null if it does not
// apply.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

/// Takes the bias out of a linear op with real rows and integer weights, and adds it apart.
Value* bias_apart(const Builder& build, const Node& node);

/// Computes a quantised op on real numbers and quantises again, which is its definition.
Value* on_reals(const Builder& build, const Node& node);

/// Rewrites quantize, dequantize and the choice of scales as arithmetic.
Value* in_arithmetic(const Builder& build, const Node& node);

}  // namespace layline::rewrites

// Convolutions and linear ops whose weight and bias are f32 constants, into which other constants
// can be folded.
#pragma once

#include <cstddef>
#include <vector>

#include "transforms/rewrite.h"

namespace layline {

/// Weights beyond this size are not rewritten in memory.
constexpr size_t kMostRewrittenBytes = size_t{64} << 20;

/// Whether it is a conv, conv_transpose or linear whose weight, and bias if any, are constants that
/// may be changed.
bool is_weighted_op(const Node* node);

const Constant& weight_of(const Node& op);
/// The bias of each output channel; zeros if the op has none.
std::vector<double> bias_of(const Node& op);

Constant vector_constant(const std::vector<double>& values);
/// The weight with row i, which makes output channel i, times scale[i]: still a view of its bytes.
Constant scaled_rows(const Constant& weight, const std::vector<double>& scale);

}  // namespace layline

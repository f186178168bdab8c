// Constant weights that a rule rearranges. Quantised ones are rearranged by their integers, and
// keep the scales of their outputs.
#pragma once

#include "ir/builder.h"
#include "ir/tensor.h"

namespace layline::rewrites {

/// Whether a rule can rearrange the weight: it is constant, and if quantised has scales of outputs
/// only.
bool is_plain_weight(const Value* weight);

/// The numbers as they are stored, without what they stand for.
Tensor numbers_of(const Value* weight);
/// A weight with these numbers, and the scales of the outputs of `like`.
Value* weight_of(const Builder& build, const Value* like, const Tensor& numbers);

}  // namespace layline::rewrites

// Constant weights that a rule rearranges: quantised ones by their integers, with the scales of
// their outputs.
#pragma once

#include "ir/builder.h"
#include "ir/tensor.h"

namespace layline::tosa {

/// Whether a rule can rearrange it: constant, and if quantised with scales of outputs only.
bool is_plain_weight(const Value* weight);

/// The numbers as they are stored, without what they stand for.
Tensor numbers_of(const Value* weight);
/// A weight of other numbers, with the scales of the outputs of `like`.
Value* weight_of(const Builder& build, const Value* like, const Tensor& numbers);

}  // namespace layline::tosa

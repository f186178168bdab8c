// Losses: how far a prediction is from a target, element by element, averaged, or added up.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

enum class Average : uint8_t { none, mean, sum };

Value* averaged(const Builder& build, Value* loss, Average how);

/// (x - y) squared.
Value* squared_error(const Builder& build, Value* x, Value* y);
/// |x - y|.
Value* absolute_error(const Builder& build, Value* x, Value* y);
/// A parabola where |x - y| is below `width`, and the line that goes on from it.
Value* huber(const Builder& build, Value* x, Value* y, double width);

}  // namespace layline::ops

// Tensors that are made of numbers: constants, and sizes that are known when the model runs.
#pragma once

#include <functional>

#include "ir/builder.h"

namespace layline::ops {

/// A constant whose sizes may be dynamic. `make` gives it at the upper bounds of its sizes; the
/// front part of it is taken when the model runs.
Value* front_of_constant(const Builder& build, const Shape& shape,
                         const std::function<Constant(const Shape& whole)>& make);

/// The number as i64[]. It may follow from dynamic sizes.
Value* number(const Builder& build, const Sum& sum);

Value* filled(const Builder& build, const TensorType& type, double value);

/// The numbers `start`, `start + step`, ... in row-major order.
Value* arange(const Builder& build, const TensorType& type, double start, double step);

/// Numbers from `start` to `end` in equal steps, as torch counts them: the second half from the
/// end.
Value* linspace(const Builder& build, const TensorType& type, double start, double end);
/// `base` to the power of what linspace gives.
Value* logspace(const Builder& build, const TensorType& type, double start, double end,
                double base);

}  // namespace layline::ops

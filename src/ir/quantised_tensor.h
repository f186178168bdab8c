// Tensors of real numbers and of the integers that stand for them, for the reference evaluator.
#pragma once

#include "ir/tensor.h"

namespace layline {

/// The real numbers of a quantised tensor; any other tensor unchanged.
Tensor real_tensor(const Tensor& tensor);
Tensor quantised_tensor(const Tensor& real, const QuantisationRef& quantisation);

/// The f32 tensor as 8-bit integers can hold it, with a scale and zero point of its own for each
/// index of the first `outer` axes, chosen as XNNPACK does when it runs. (XNNPACK,
/// src/xnnpack/quantization.h, xnn_f32_qd8_asymmetric_quantization_params.)
Tensor dynamically_quantised(const Tensor& real, int64_t outer);

}  // namespace layline

// Normalisation. Images are [N, C, ...], with parameters for each channel.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

/// y * weight + bias; either may be missing.
struct Affine {
  Value* weight = nullptr;
  Value* bias = nullptr;
};

struct Statistics {
  Value* mean;
  Value* variance;
};

/// Batch norm with statistics for each channel from the model. It is one multiplication and one
/// addition, which later fold into a neighbouring convolution.
Value* batch_norm(const Builder& build, Value* x, const Statistics& statistics,
                  const Affine& affine, double eps);
/// Batch norm with statistics of the batch itself.
Value* batch_norm(const Builder& build, Value* x, const Affine& affine, double eps);
/// Normalises each channel of each image by itself.
Value* instance_norm(const Builder& build, Value* x, const Affine& affine, double eps);
/// Normalises each of so many groups of channels by itself.
Value* group_norm(const Builder& build, Value* x, int64_t groups, const Affine& affine, double eps);

/// Normalises over the last `axes` axes, whose shape the parameters have.
Value* layer_norm(const Builder& build, Value* x, size_t axes, const Affine& affine, double eps);
/// Like layer_norm, but without subtracting the mean.
Value* rms_norm(const Builder& build, Value* x, size_t axes, const Affine& affine, double eps);

/// What an element is moved and scaled by when it is normalised over these axes, which stay with
/// length 1.
struct Scaling {
  Value* mean;
  Value* factor;  // 1 / sqrt(variance + eps)
};
Scaling scaling(const Builder& build, Value* x, const Ints& axes, double eps);

/// The weight from a direction and a length for each index of one axis, or a single length.
Value* weight_norm(const Builder& build, Value* direction, Value* length,
                   std::optional<int64_t> axis);

}  // namespace layline::ops

// Normalisation. Images are [N, C, ...], with parameters for each channel.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

/// y * weight + bias, of those that there are.
struct Affine {
  Value* weight = nullptr;
  Value* bias = nullptr;
};

struct Statistics {
  Value* mean;
  Value* variance;
};

/// With statistics for each channel that the model has: one multiplication and one addition, which
/// later fold into a neighbouring convolution.
Value* batch_norm(const Builder& build, Value* x, const Statistics& statistics,
                  const Affine& affine, double eps);
/// With statistics of the batch itself.
Value* batch_norm(const Builder& build, Value* x, const Affine& affine, double eps);
/// Each channel of each image by itself.
Value* instance_norm(const Builder& build, Value* x, const Affine& affine, double eps);
/// So many groups of channels, each by itself.
Value* group_norm(const Builder& build, Value* x, int64_t groups, const Affine& affine, double eps);

/// Over the last `axes` axes, whose shape the parameters have.
Value* layer_norm(const Builder& build, Value* x, size_t axes, const Affine& affine, double eps);
/// Likewise, without taking off the mean.
Value* rms_norm(const Builder& build, Value* x, size_t axes, const Affine& affine, double eps);

/// A weight as a direction and a length for each index of one axis, or a single length.
Value* weight_norm(const Builder& build, Value* direction, Value* length,
                   std::optional<int64_t> axis);

}  // namespace layline::ops

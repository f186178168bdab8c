// Channels-first tensors with or without a batch.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

struct Batched {
  Value* x;      // [N, C, spatial...]
  bool batched;  // whether N was given; otherwise it is 1
};

/// x with a batch. It has `spatial` axes besides C, and perhaps N.
Batched with_batch(const Builder& build, Value* x, size_t spatial);
/// A result [N, ...], without N if the operand was given without it.
Value* without_batch(const Builder& build, const Batched& given, Value* y);

}  // namespace layline::ops

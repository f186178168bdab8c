// Channels-first tensors with or without a batch.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

struct Batched {
  Value* x;      // [N, C, spatial...]
  bool batched;  // as given; otherwise N is 1 and was not there
};

/// x has `spatial` axes besides C, and perhaps N.
Batched with_batch(const Builder& build, Value* x, size_t spatial);
/// A result [N, ...] as the operand was given.
Value* without_batch(const Builder& build, const Batched& given, Value* y);

}  // namespace layline::ops

// Padding.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// Pads x. `low` and `high` have one entry for each axis; a negative entry crops.
Value* pad(const Builder& build, Value* x, PadAttrs attrs);

}  // namespace layline::ops

// Determinants of small matrices.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// The determinants of [..., n, n], written out: n 2^(n-1) products for a fixed n.
Value* determinant(const Builder& build, Value* x);

}  // namespace layline::ops

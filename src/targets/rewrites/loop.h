// Rewrites loops, for targets that have none.
#pragma once

#include "ir/builder.h"

namespace layline::rewrites {

/// The steps of a scan of fixed length, one after the other. Null for a dynamic length.
Value* unrolled_scan(const Builder& build, const Node& node);

}  // namespace layline::rewrites

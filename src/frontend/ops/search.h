// Looking for elements among others. Every element is compared with all that it may equal or lie
// beside, so these are for short lists.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// Whether each element of x is one of `among`.
Value* is_among(const Builder& build, Value* x, Value* among);

/// How many elements of each row of `sorted` are less than each element of x; with `right`, less or
/// equal. NaN is behind all. `sorted` is one row, or has a row for each row of x.
Value* places_in_order(const Builder& build, Value* x, Value* sorted, bool right);

}  // namespace layline::ops

// Elements by their order along an axis.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// Elements in order, and their places along the axis. Equal elements come in any order.
struct Sorted {
  Value* values;
  Value* places;
};

struct SortOrder {
  int64_t axis = 0;
  bool greatest_first = false;
};

Sorted sorted(const Builder& build, Value* x, SortOrder order);
/// The places only.
Value* argsort(const Builder& build, Value* x, SortOrder order);
/// The first k.
Sorted topk(const Builder& build, Value* x, SortOrder order, int64_t k);
/// The k-th least, counted from 1; with `keep` its axis stays, with length 1.
Sorted kth_value(const Builder& build, Value* x, int64_t axis, int64_t k, bool keep);
/// The lower of the two in the middle.
Sorted median(const Builder& build, Value* x, int64_t axis, bool keep);

}  // namespace layline::ops

// Sorts elements along an axis.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// Elements in order, and their places along the axis.
struct Sorted {
  Value* values;
  Value* places;
};

struct SortOrder {
  int64_t axis = 0;
  bool greatest_first = false;
  /// Equal elements stay in the order that they have; otherwise they may come in any. It costs a
  /// key of 64 bits for each element, and f64 has none.
  bool equals_in_order = false;
};

Sorted sorted(const Builder& build, Value* x, SortOrder order);
/// Only the places.
Value* argsort(const Builder& build, Value* x, SortOrder order);
/// The first k elements in order.
Sorted topk(const Builder& build, Value* x, SortOrder order, const Sum& k);
/// The k-th least element, counted from 1. With `keep` its axis stays, with length 1.
Sorted kth_value(const Builder& build, Value* x, int64_t axis, int64_t k, bool keep);
/// The element in the middle; the lower one if there are two.
Sorted median(const Builder& build, Value* x, int64_t axis, bool keep);

}  // namespace layline::ops

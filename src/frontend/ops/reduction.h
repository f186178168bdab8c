// Reductions and scans. Core reductions keep their axes with size 1; a view drops them.
#pragma once

#include "ir/builder.h"

namespace layline::ops {

/// The axes to reduce, sorted, and whether they stay, with size 1.
struct Reduced {
  Ints axes;
  bool keep = false;
};

/// A core reduction.
Value* reduce(const Builder& build, Op op, Value* x, const Reduced& reduced);

/// The place of an extremum along an axis; `op` is argmax or argmin.
Value* place_of_extremum(const Builder& build, Op op, Value* x, int64_t axis, bool keep);

/// The variance, or its root.
enum class Spread : uint8_t { variance, deviation };

/// The sum of squares about the mean, divided by the count less `correction`; or its root.
Value* variance(const Builder& build, Spread spread, Value* x, const Reduced& reduced,
                double correction);

struct Moments {
  Value* mean;
  Value* spread;
};
Moments moments(const Builder& build, Spread spread, Value* x, const Reduced& reduced,
                double correction);

/// The root of the sum of squares.
Value* euclidean_norm(const Builder& build, Value* x, const Reduced& reduced);
/// (sum of |x|^p)^(1/p), and its limits for 0 and the infinities.
Value* vector_norm(const Builder& build, Value* x, const Reduced& reduced, double p);
/// log(sum(exp(x))), without overflow.
Value* logsumexp(const Builder& build, Value* x, const Reduced& reduced);
/// The sum, or the mean, of the elements that are not NaN.
Value* sum_of_numbers(const Builder& build, Value* x, const Reduced& reduced);
Value* mean_of_numbers(const Builder& build, Value* x, const Reduced& reduced);
/// The number of elements that are not 0, an i64.
Value* count_nonzero(const Builder& build, Value* x, const Reduced& reduced);
/// How many elements lie in each of `bins` intervals of equal length between two numbers. The last
/// interval has its end; elements elsewhere do not count.
Value* histogram(const Builder& build, Value* x, int64_t bins, double min, double max);

/// Combines each element with all before it. A tensor without axes is returned unchanged.
Value* cumsum(const Builder& build, Value* x, int64_t axis);
Value* cumprod(const Builder& build, Value* x, int64_t axis);

}  // namespace layline::ops

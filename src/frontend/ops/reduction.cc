#include "frontend/ops/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

Value* kept(const Builder& build, Op op, Value* x, const Ints& axes) {
  return build.add(op, {x}, AxesAttrs{axes});
}

Value* finished(const Builder& build, Value* y, const Reduced& reduced) {
  return reduced.keep ? y : without_axes(build, y, reduced.axes);
}

Moments kept_moments(const Builder& build, Spread spread, Value* x, const Ints& axes,
                     double correction) {
  double count = 1;
  for (int64_t axis : axes)
    if (correction != 0) count *= static_cast<double>(static_length(build, x, axis));
  Value* mean = kept(build, Op::reduce_mean, x, axes);
  Value* squares = build.add(Op::square, {build.add(Op::sub, {x, mean})});
  Value* variance = kept(build, Op::reduce_mean, squares, axes);
  variance =
      times(build, variance, correction == 0 ? 1 : count / std::max(0.0, count - correction));
  return {mean, spread == Spread::deviation ? build.add(Op::sqrt, {variance}) : variance};
}

/// The sum of the elements that are not NaN, and their number.
struct SumOfNumbers {
  Value* sum;
  Value* count;
};

SumOfNumbers numbers_in(const Builder& build, Value* x, const Ints& axes) {
  Value* is_number = build.add(Op::equal, {x, x});
  x = build.add(Op::where, {is_number, x, build.scalar(x->dtype(), 0)});
  Value* sum = kept(build, Op::reduce_sum, x, axes);
  return {sum, kept(build, Op::reduce_sum, build.convert(is_number, x->dtype()), axes)};
}

Value* euclidean(const Builder& build, Value* x, const Ints& axes) {
  return build.add(Op::sqrt, {kept(build, Op::reduce_sum, build.add(Op::square, {x}), axes)});
}

}  // namespace

Value* reduce(const Builder& build, Op op, Value* x, const Reduced& reduced) {
  return finished(build, kept(build, op, x, reduced.axes), reduced);
}

Value* place_of_extremum(const Builder& build, Op op, Value* x, int64_t axis, bool keep) {
  return finished(build, build.add(op, {x}, AxisAttrs{axis}), {{axis}, keep});
}

Value* variance(const Builder& build, Spread spread, Value* x, const Reduced& reduced,
                double correction) {
  return finished(build, kept_moments(build, spread, x, reduced.axes, correction).spread, reduced);
}

Moments moments(const Builder& build, Spread spread, Value* x, const Reduced& reduced,
                double correction) {
  const Moments found = kept_moments(build, spread, x, reduced.axes, correction);
  Value* result = finished(build, found.spread, reduced);
  return {finished(build, found.mean, reduced), result};
}

Value* euclidean_norm(const Builder& build, Value* x, const Reduced& reduced) {
  return finished(build, euclidean(build, x, reduced.axes), reduced);
}

Value* vector_norm(const Builder& build, Value* x, const Reduced& reduced, double p) {
  Value* magnitude = build.add(Op::abs, {x});
  auto sum = [&](Value* terms) { return kept(build, Op::reduce_sum, terms, reduced.axes); };
  Value* y = nullptr;
  if (p == 2) {
    y = euclidean(build, x, reduced.axes);
  } else if (p == 1) {
    y = sum(magnitude);
  } else if (std::isinf(p)) {
    y = kept(build, p > 0 ? Op::reduce_max : Op::reduce_min, magnitude, reduced.axes);
  } else if (p == 0) {
    Value* nonzero = build.add(Op::not_equal, {x, build.scalar(x->dtype(), 0)});
    y = sum(build.convert(nonzero, x->dtype()));
  } else {
    Value* powers = build.add(Op::pow, {magnitude, build.scalar(x->dtype(), p)});
    y = build.add(Op::pow, {sum(powers), build.scalar(x->dtype(), 1 / p)});
  }
  return finished(build, y, reduced);
}

/// max + log(sum(exp(x - max))), where an infinite maximum is left to the sum.
Value* logsumexp(const Builder& build, Value* x, const Reduced& reduced) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value* most = kept(build, Op::reduce_max, x, reduced.axes);
  Value* is_infinite =
      build.add(Op::equal, {build.add(Op::abs, {most}), build.scalar(x->dtype(), kInfinity)});
  most = build.add(Op::where, {is_infinite, build.scalar(x->dtype(), 0), most});
  Value* powers = build.add(Op::exp, {build.add(Op::sub, {x, most})});
  Value* sum = kept(build, Op::reduce_sum, powers, reduced.axes);
  return finished(build, build.add(Op::add, {build.add(Op::log, {sum}), most}), reduced);
}

Value* sum_of_numbers(const Builder& build, Value* x, const Reduced& reduced) {
  if (!is_float(x->dtype())) return reduce(build, Op::reduce_sum, x, reduced);
  return finished(build, numbers_in(build, x, reduced.axes).sum, reduced);
}

Value* mean_of_numbers(const Builder& build, Value* x, const Reduced& reduced) {
  const auto [sum, count] = numbers_in(build, x, reduced.axes);
  return finished(build, build.add(Op::div, {sum, count}), reduced);
}

Value* count_nonzero(const Builder& build, Value* x, const Reduced& reduced) {
  Value* nonzero = build.convert(build.convert(x, DType::boolean), DType::i64);
  return reduce(build, Op::reduce_sum, nonzero, reduced);
}

Value* histogram(const Builder& build, Value* x, int64_t bins, double min, double max) {
  const auto number = [&](double value) { return build.scalar(x->dtype(), value); };
  const auto count = static_cast<double>(bins);
  x = build.view(x, {element_count(x->shape()), 1});
  Value* place = build.add(Op::mul, {build.add(Op::sub, {x, number(min)}), number(count)});
  place = build.add(Op::floor, {build.add(Op::div, {place, number(max - min)})});
  place = build.add(Op::minimum, {place, number(count - 1)});
  Value* is_inside = build.add(Op::less_equal, {x, number(max)});
  place = build.add(Op::where, {is_inside, place, number(-1)});
  Value* is_there = build.add(Op::equal, {place, arange(build, {x->dtype(), {bins}}, 0, 1)});
  return reduce(build, Op::reduce_sum, build.convert(is_there, x->dtype()), {{0}, false});
}

Value* cumsum(const Builder& build, Value* x, int64_t axis) {
  return x->shape().empty() ? x : build.add(Op::cumsum, {x}, AxisAttrs{axis});
}

/// Multiplies in steps of 1, 2, 4 ...: each element by the one so far before it, or by 1.
Value* cumprod(const Builder& build, Value* x, int64_t axis) {
  if (x->shape().empty()) return x;
  const Dim length = x->shape()[static_cast<size_t>(axis)];
  if (!length.is_static()) build.fail("along a dynamic axis is not supported");
  for (int64_t step = 1; step < length.value(); step *= 2) {
    PadAttrs pad{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant, 1};
    pad.low[static_cast<size_t>(axis)] = step;
    Value* behind =
        build.add(Op::pad, {build.slice(x, axis, 0, length.value() - step)}, std::move(pad));
    x = build.add(Op::mul, {x, behind});
  }
  return x;
}

}  // namespace layline::ops

// Reductions and scans.
#include "frontend/ops/reduction.h"

#include <algorithm>
#include <limits>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/pad.h"
#include "frontend/ops/shapes.h"
#include "ir/quantisation.h"

namespace layline::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Without axes, all are reduced, or none.
ops::Reduced reduced(const Call& call, const Value* x) {
  ops::Reduced reduced{{}, call.flag("keepdims", true)};
  const auto given = call.attribute_or_input("axes", 1);
  if (given && !given->empty())
    reduced.axes = call.axes(*given, x->type().rank());
  else if (!call.flag("noop_with_empty_axes", false))
    reduced.axes = ops::all_axes(x);
  return reduced;
}

bool reduces_nothing(const Value* x, const ops::Reduced& reduced) {
  return std::ranges::any_of(
      reduced.axes, [&](int64_t axis) { return x->shape()[static_cast<size_t>(axis)].is_zero(); });
}

/// What a reduction of no elements gives.
Value* filled(const Call& call, const Value* x, const ops::Reduced& reduced, double value) {
  TensorType type = x->type();
  for (size_t i = reduced.axes.size(); i-- > 0;) {
    const auto axis = type.shape.begin() + reduced.axes[i];
    if (reduced.keep)
      *axis = 1;
    else
      type.shape.erase(axis);
  }
  return ops::filled(call, type, value);
}

using Reduction = Value* (*)(const Call& call, Value* x, const ops::Reduced& reduced);

template <Reduction reduction>
void reduce(Call& call) {
  Value* x = call.input(0);
  call.result(reduction(call, x, reduced(call, x)));
}

Value* sum(const Call& call, Value* x, const ops::Reduced& reduced) {
  return ops::reduce(call, Op::reduce_sum, x, reduced);
}

Value* product(const Call& call, Value* x, const ops::Reduced& reduced) {
  return ops::reduce(call, Op::reduce_prod, x, reduced);
}

/// The greatest or the least element; of booleans, whether any or all are true.
template <Op op>
Value* extremum(const Call& call, Value* x, const ops::Reduced& reduced) {
  constexpr bool kGreatest = op == Op::reduce_max;
  const DType dtype = x->dtype();
  if (reduces_nothing(x, reduced)) {
    if (is_float(dtype)) return filled(call, x, reduced, kGreatest ? -kInfinity : kInfinity);
    if (dtype == DType::boolean) return filled(call, x, reduced, kGreatest ? 0 : 1);
    const auto [least, greatest] = integer_range(dtype);
    return filled(call, x, reduced, static_cast<double>(kGreatest ? least : greatest));
  }
  if (dtype == DType::boolean)
    return ops::reduce(call, kGreatest ? Op::reduce_any : Op::reduce_all, x, reduced);
  return ops::reduce(call, op, x, reduced);
}

/// The mean of integers is rounded towards zero.
Value* mean(const Call& call, Value* x, const ops::Reduced& reduced) {
  if (is_float(x->dtype())) return ops::reduce(call, Op::reduce_mean, x, reduced);
  int64_t count = 1;
  for (const int64_t axis : reduced.axes) count *= ops::static_length(call, x, axis);
  Value* total = sum(call, x, reduced);
  return ops::divide_towards_zero(call, total, call.scalar(x->dtype(), static_cast<double>(count)));
}

Value* sum_of_magnitudes(const Call& call, Value* x, const ops::Reduced& reduced) {
  return sum(call, call.add(Op::abs, {x}), reduced);
}

Value* sum_of_squares(const Call& call, Value* x, const ops::Reduced& reduced) {
  return sum(call, call.add(Op::square, {x}), reduced);
}

/// A reduction of floats; integers are taken as such, and the result is cut to an integer again.
template <Reduction reduction>
Value* of_floats(const Call& call, Value* x, const ops::Reduced& reduced) {
  const DType dtype = x->dtype();
  if (!is_float(dtype)) x = call.convert(x, DType::f32);
  return call.convert(reduction(call, x, reduced), dtype);
}

Value* euclidean_norm(const Call& call, Value* x, const ops::Reduced& reduced) {
  return ops::euclidean_norm(call, x, reduced);
}

Value* log_of_sum(const Call& call, Value* x, const ops::Reduced& reduced) {
  return call.add(Op::log, {sum(call, x, reduced)});
}

Value* logsumexp(const Call& call, Value* x, const ops::Reduced& reduced) {
  if (reduces_nothing(x, reduced)) return filled(call, x, reduced, -kInfinity);
  return ops::logsumexp(call, x, reduced);
}

Value* reversed(const Call& call, Value* x, int64_t axis) {
  return call.add(Op::flip, {x}, AxesAttrs{{axis}});
}

/// The place of the first extremum, or of the last, which is the first from behind.
template <Op op>
void place_of_extremum(Call& call) {
  Value* x = ops::with_some_axis(call, call.input(0));
  const int64_t axis = call.axis(call.integer("axis", 0), x->type().rank());
  const bool last = call.flag("select_last_index", false);
  if (last) x = reversed(call, x, axis);
  Value* place = ops::place_of_extremum(call, op, x, axis, call.flag("keepdims", true));
  if (last) {
    const Sum end = call.graph().symbol_table().expand(x->shape()[static_cast<size_t>(axis)]);
    place = call.add(Op::sub, {ops::number(call, end - Sum::number(1)), place});
  }
  call.result(place);
}

/// Each element combined with all before it, or behind it (`reverse`), itself left out if
/// `exclusive`: then the first has `start`.
template <Value* (*scan)(const Builder&, Value*, int64_t), int start>
void scan_along(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer_at(1, "`axis`"), x->type().rank());
  const bool backwards = call.flag("reverse", false);
  if (backwards) x = reversed(call, x, axis);
  if (call.flag("exclusive", false)) {
    PadAttrs shift{Ints(x->shape().size(), 0), Ints(x->shape().size(), 0), PadMode::constant,
                   start};
    shift.low[static_cast<size_t>(axis)] = 1;
    shift.high[static_cast<size_t>(axis)] = -1;
    x = ops::pad(call, x, std::move(shift));
  }
  x = scan(call, x, axis);
  call.result(backwards ? reversed(call, x, axis) : x);
}

constexpr OpRule kRules[] = {
    {"ReduceSum", reduce<sum>},
    {"ReduceMean", reduce<mean>},
    {"ReduceMax", reduce<extremum<Op::reduce_max>>},
    {"ReduceMin", reduce<extremum<Op::reduce_min>>},
    {"ReduceProd", reduce<product>},
    {"ReduceL1", reduce<sum_of_magnitudes>},
    {"ReduceL2", reduce<of_floats<euclidean_norm>>},
    {"ReduceSumSquare", reduce<sum_of_squares>},
    {"ReduceLogSum", reduce<of_floats<log_of_sum>>},
    {"ReduceLogSumExp", reduce<of_floats<logsumexp>>},
    {"ArgMax", place_of_extremum<Op::argmax>},
    {"ArgMin", place_of_extremum<Op::argmin>},
    {"CumSum", scan_along<ops::cumsum, 0>},
    {"CumProd", scan_along<ops::cumprod, 1>},
};

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace layline::onnx

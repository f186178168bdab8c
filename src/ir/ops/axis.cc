// Ops that reduce or scan along axes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ir/ops/checks.h"
#include "ir/ops/walk.h"

namespace layline::rules {

// ---- Types ----

namespace {

/// The type of a reduction: reduced axes stay, with one element.
TensorType reduced(const TensorType& x, const Ints& axes, DType dtype) {
  expect_axes(axes, x);
  Shape shape = x.shape;
  for (const int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return result_type(dtype, std::move(shape));
}

/// Refuses to reduce no elements: there is no least or greatest of them.
void expect_elements(const TensorType& x, const Ints& axes) {
  for (const int64_t axis : axes)
    if (x.shape[static_cast<size_t>(axis)].is_zero())
      throw UserError("expected elements along axis {}, found {}", axis, to_string(x));
}

}  // namespace

TensorType infer_reduce_numeric(Types operands, const Attributes& attributes, SymbolTable&) {
  expect_numeric(operands[0]);
  return reduced(operands[0], std::get<AxesAttrs>(attributes).axes, operands[0].dtype);
}

TensorType infer_reduce_float(Types operands, const Attributes& attributes, SymbolTable&) {
  expect_float(operands[0]);
  return reduced(operands[0], std::get<AxesAttrs>(attributes).axes, operands[0].dtype);
}

TensorType infer_reduce_extremum(Types operands, const Attributes& attributes, SymbolTable&) {
  const Ints& axes = std::get<AxesAttrs>(attributes).axes;
  TensorType type = reduced(operands[0], axes, operands[0].dtype);
  expect_elements(operands[0], axes);
  return type;
}

TensorType infer_reduce_logical(Types operands, const Attributes& attributes, SymbolTable&) {
  return reduced(operands[0], std::get<AxesAttrs>(attributes).axes, DType::boolean);
}

TensorType infer_arg_extremum(Types operands, const Attributes& attributes, SymbolTable&) {
  const Ints axes = {std::get<AxisAttrs>(attributes).axis};
  expect_numeric(operands[0]);
  TensorType type = reduced(operands[0], axes, DType::i64);
  expect_elements(operands[0], axes);
  return type;
}

TensorType infer_argsort(Types operands, const Attributes& attributes, SymbolTable&) {
  expect_numeric(operands[0]);
  expect_axis(std::get<AxisAttrs>(attributes).axis, operands[0]);
  return {DType::i64, operands[0].shape};
}

TensorType infer_softmax(Types operands, const Attributes& attributes, SymbolTable&) {
  expect_float(operands[0]);
  expect_axis(std::get<AxisAttrs>(attributes).axis, operands[0]);
  return operands[0];
}

TensorType infer_cumsum(Types operands, const Attributes& attributes, SymbolTable&) {
  expect_numeric(operands[0]);
  expect_axis(std::get<AxisAttrs>(attributes).axis, operands[0]);
  return operands[0];
}

TensorType infer_normalize(Types operands, const Attributes& attributes, SymbolTable&) {
  const NormalizeAttrs& attrs = std::get<NormalizeAttrs>(attributes);
  expect_float(operands[0]);
  expect_axes(attrs.axes, operands[0]);
  if (!(attrs.eps >= 0)) throw UserError("eps must not be negative, found {}", attrs.eps);
  return operands[0];
}

// ---- Elements ----

namespace {

/// Folds the elements that share a result element, each group from `start`.
template <typename T, typename Combine>
std::vector<T> fold(const Tensor& x, const Ints& result_dims, T start, Combine combine) {
  int64_t groups = 1;
  for (const int64_t size : result_dims) groups *= size;
  std::vector<T> folded(static_cast<size_t>(groups), start);
  const std::vector<T> elements = values<T>(x);
  walk(x.dims(), std::array{broadcast_strides(result_dims, x.dims())},
       [&](int64_t position, const auto& group) {
         T& value = folded[static_cast<size_t>(group[0])];
         value = combine(value, elements[static_cast<size_t>(position)]);
       });
  return folded;
}

template <typename T>
Tensor stored(const std::vector<T>& numbers, const TensorType& result) {
  Tensor out(result);
  for (size_t i = 0; i < numbers.size(); ++i) store(out, static_cast<int64_t>(i), numbers[i]);
  return out;
}

/// The reduction that `combine` makes of numbers, whichever type they have.
template <typename Start, typename Combine>
Tensor reduce(const Tensor& x, const TensorType& result, Start start, Combine combine) {
  Tensor out(result);
  with_number_type(x.dtype(), [&]<typename T>(T) {
    out = stored(fold<T>(x, out.dims(), start(T()), combine), result);
  });
  return out;
}

/// The first index along the axis whose element no other `beats`; a NaN beats all, as in torch.
template <typename Beats>
Tensor first_best(const Tensor& x, const Attributes& attributes, const TensorType& result,
                  Beats beats) {
  const Lanes lanes(x.dims(), std::get<AxisAttrs>(attributes).axis);
  Tensor out(result);
  with_number_type(x.dtype(), [&]<typename T>(T) {
    const std::vector<T> elements = values<T>(x);
    lanes.each([&](int64_t lane, int64_t first) {
      const auto at = [&](int64_t i) {
        return elements[static_cast<size_t>(first + i * lanes.inner)];
      };
      int64_t best = 0;
      for (int64_t i = 1; i < lanes.length; ++i)
        if (at(best) == at(best) && (at(i) != at(i) || beats(at(i), at(best)))) best = i;
      out.set_int(lane, best);
    });
  });
  return out;
}

/// Both softmaxes subtract the greatest element first, so that no exponential overflows.
template <typename Finish>
Tensor normalise(const Tensor& x, const Attributes& attributes, const TensorType& result,
                 Finish finish) {
  const Lanes lanes(x.dims(), std::get<AxisAttrs>(attributes).axis);
  Tensor out(result);
  lanes.each([&](int64_t, int64_t first) {
    double greatest = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < lanes.length; ++i)
      greatest = larger(greatest, x.get(first + i * lanes.inner));
    double total = 0;
    for (int64_t i = 0; i < lanes.length; ++i)
      total += std::exp(x.get(first + i * lanes.inner) - greatest);
    for (int64_t i = 0; i < lanes.length; ++i) {
      const int64_t at = first + i * lanes.inner;
      out.set(at, finish(x.get(at) - greatest, total));
    }
  });
  return out;
}

constexpr auto kPlus = [](auto a, auto b) { return plus(a, b); };
constexpr auto kTimes = [](auto a, auto b) { return times(a, b); };

}  // namespace

Tensor evaluate_reduce_sum(Tensors operands, const Attributes&, const TensorType& result) {
  return reduce(
      operands[0], result, [](auto number) { return number; }, kPlus);
}

Tensor evaluate_reduce_mean(Tensors operands, const Attributes& attributes,
                            const TensorType& result) {
  double count = 1;
  for (const int64_t axis : std::get<AxesAttrs>(attributes).axes)
    count *= static_cast<double>(operands[0].dim(axis));
  std::vector<double> means = fold<double>(operands[0], static_dims(result.shape), 0.0, kPlus);
  for (double& mean : means) mean /= count;
  return stored(means, result);
}

Tensor evaluate_reduce_prod(Tensors operands, const Attributes&, const TensorType& result) {
  return reduce(
      operands[0], result, [](auto number) { return decltype(number)(1); }, kTimes);
}

Tensor evaluate_reduce_max(Tensors operands, const Attributes&, const TensorType& result) {
  const auto least = []<typename T>(T) {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  };
  return reduce(operands[0], result, least, [](auto a, auto b) { return larger(a, b); });
}

Tensor evaluate_reduce_min(Tensors operands, const Attributes&, const TensorType& result) {
  const auto greatest = []<typename T>(T) {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  };
  return reduce(operands[0], result, greatest, [](auto a, auto b) { return smaller(a, b); });
}

Tensor evaluate_reduce_any(Tensors operands, const Attributes&, const TensorType& result) {
  return reduce(
      operands[0], result, [](auto number) { return number; },
      []<typename T>(T a, T b) { return T(a != 0 || b != 0); });
}

Tensor evaluate_reduce_all(Tensors operands, const Attributes&, const TensorType& result) {
  return reduce(
      operands[0], result, [](auto number) { return decltype(number)(1); },
      []<typename T>(T a, T b) { return T(a != 0 && b != 0); });
}

Tensor evaluate_argmax(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return first_best(operands[0], attributes, result, [](auto a, auto b) { return a > b; });
}

Tensor evaluate_argmin(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return first_best(operands[0], attributes, result, [](auto a, auto b) { return a < b; });
}

/// Equal elements stay in their order; NaN counts as the greatest number.
Tensor evaluate_argsort(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const Lanes lanes(operands[0].dims(), std::get<AxisAttrs>(attributes).axis);
  Tensor out(result);
  with_number_type(operands[0].dtype(), [&]<typename T>(T) {
    const std::vector<T> elements = values<T>(operands[0]);
    Ints order(static_cast<size_t>(lanes.length));
    lanes.each([&](int64_t, int64_t first) {
      auto element = [&](int64_t i) {
        return elements[static_cast<size_t>(first + i * lanes.inner)];
      };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int64_t i, int64_t j) {
        const T a = element(i), b = element(j);
        return a > b || (a != a && b == b);
      });
      for (int64_t i = 0; i < lanes.length; ++i)
        out.set_int(first + i * lanes.inner, order[static_cast<size_t>(i)]);
    });
  });
  return out;
}

Tensor evaluate_softmax(Tensors operands, const Attributes& attributes, const TensorType& result) {
  return normalise(operands[0], attributes, result,
                   [](double x, double total) { return std::exp(x) / total; });
}

Tensor evaluate_log_softmax(Tensors operands, const Attributes& attributes,
                            const TensorType& result) {
  return normalise(operands[0], attributes, result,
                   [](double x, double total) { return x - std::log(total); });
}

Tensor evaluate_cumsum(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const Lanes lanes(operands[0].dims(), std::get<AxisAttrs>(attributes).axis);
  Tensor out(result);
  with_number_type(result.dtype, [&]<typename T>(T) {
    const std::vector<T> elements = values<T>(operands[0]);
    lanes.each([&](int64_t, int64_t first) {
      T total{};
      for (int64_t i = 0; i < lanes.length; ++i) {
        const int64_t at = first + i * lanes.inner;
        total = plus(total, elements[static_cast<size_t>(at)]);
        store(out, at, total);
      }
    });
  });
  return out;
}

Tensor evaluate_normalize(Tensors operands, const Attributes& attributes,
                          const TensorType& result) {
  const NormalizeAttrs& attrs = std::get<NormalizeAttrs>(attributes);
  const Tensor& x = operands[0];
  Ints group_dims = x.dims();
  double count = 1;
  for (const int64_t axis : attrs.axes)
    count *= static_cast<double>(std::exchange(group_dims[static_cast<size_t>(axis)], 1));
  std::vector<double> means = fold<double>(x, group_dims, 0.0, kPlus);
  for (double& mean : means) mean = attrs.center ? mean / count : 0;
  std::vector<double> squares(means.size(), 0.0);
  const std::array groups = {broadcast_strides(group_dims, x.dims())};
  const auto centred = [&](int64_t i, const auto& group) {
    return x.get(i) - means[static_cast<size_t>(group[0])];
  };
  walk(x.dims(), groups, [&](int64_t i, const auto& group) {
    squares[static_cast<size_t>(group[0])] += centred(i, group) * centred(i, group);
  });
  Tensor out(result);
  walk(x.dims(), groups, [&](int64_t i, const auto& group) {
    const double variance = squares[static_cast<size_t>(group[0])] / count;
    out.set(i, centred(i, group) / std::sqrt(variance + attrs.eps));
  });
  return out;
}

}  // namespace layline::rules

#include "frontend/ops/signal.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "frontend/ops/conv.h"
#include "frontend/ops/products.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

constexpr int64_t kMostWeights = 1 << 26;

/// A transform as a matrix: element [(i, p), (j, q)] is what part q of the j-th number contributes
/// to part p of the i-th.
struct Matrix {
  int64_t rows, row_parts;
  int64_t columns, column_parts;
};

/// The contribution of number j to number i as a complex factor.
struct Factor {
  double real, imaginary;
};

Tensor filled_in(const Builder& build, const Matrix& matrix, DType dtype,
                 const std::function<Factor(int64_t i, int64_t j)>& factor) {
  const int64_t height = matrix.rows * matrix.row_parts;
  const int64_t width = matrix.columns * matrix.column_parts;
  if (height < 1 || width < 1 || height > kMostWeights / width)
    build.fail("a transform from {} to {} numbers is too large", matrix.columns, matrix.rows);
  Tensor weights({dtype, {height, width}});
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j) {
      const auto [real, imaginary] = factor(i, j);
      const double parts[2][2] = {{real, -imaginary}, {imaginary, real}};
      for (int64_t p = 0; p < matrix.row_parts; ++p)
        for (int64_t q = 0; q < matrix.column_parts; ++q)
          weights.set((i * matrix.row_parts + p) * width + j * matrix.column_parts + q,
                      parts[p][q]);
    }
  return weights;
}

/// e^(2 pi i * turns / length).
Factor unit(int64_t turns, int64_t length) {
  const double angle =
      2 * std::numbers::pi * static_cast<double>(turns % length) / static_cast<double>(length);
  return {std::cos(angle), std::sin(angle)};
}

int64_t parts_of(const Builder& build, const Value* x) {
  const int64_t parts = static_length(build, x, x->type().rank() - 1);
  if (parts != 1 && parts != 2) build.fail("takes no {}", to_string(x->type()));
  return parts;
}

}  // namespace

Value* dft(const Builder& build, Value* x, const Dft& how) {
  const int64_t axis = x->type().rank() - 2;
  const bool to_real = how.inverse && how.one_sided;
  const int64_t given = static_length(build, x, axis);
  const int64_t length = how.length.value_or(to_real ? 2 * (given - 1) : given);
  if (length < 1 || length > kMostWeights) build.fail("its length is {}", length);
  const int64_t frequencies = length / 2 + 1;
  Matrix matrix;
  matrix.rows = how.one_sided && !to_real ? frequencies : length;
  matrix.row_parts = to_real ? 1 : 2;
  matrix.columns = std::min(given, to_real ? frequencies : length);
  matrix.column_parts = parts_of(build, x);
  const double scale = how.inverse ? 1 / static_cast<double>(length) : 1;
  const Tensor weights = filled_in(build, matrix, x->dtype(), [&](int64_t i, int64_t j) -> Factor {
    const auto [real, imaginary] = unit(i * j, length);
    // A frequency that is left out is the conjugate of one that is not.
    const bool twice = to_real && j > 0 && 2 * j != length;
    const double factor = twice ? 2 * scale : scale;
    return {factor * real, factor * (how.inverse ? imaginary : -imaginary)};
  });
  Shape shape = x->shape();
  shape.pop_back();
  shape.back() = matrix.columns * matrix.column_parts;
  x = build.view(build.slice(x, axis, 0, matrix.columns), shape);
  Value* y = linear(build, x, build.constant(weights), nullptr);
  shape.back() = matrix.rows;
  shape.push_back(matrix.row_parts);
  return build.view(y, shape);
}

/// Pieces that overlap are what a convolution reads, so that none has to be copied.
Value* stft(const Builder& build, Value* x, Value* window, int64_t length, int64_t step,
            bool one_sided) {
  if (length < 1 || length > kMostWeights || step < 1)
    build.fail("has pieces of {} elements, one every {}", length, step);
  const int64_t parts = parts_of(build, x);
  const Matrix matrix{one_sided ? length / 2 + 1 : length, 2, length, parts};
  const Tensor weights = filled_in(build, matrix, x->dtype(), [&](int64_t i, int64_t j) -> Factor {
    const auto [real, imaginary] = unit(i * j, length);
    return {real, -imaginary};
  });
  Value* weight = build.view(build.constant(weights), {matrix.rows * 2, length, parts});
  weight = swap_axes(build, weight, 1, 2);
  if (window != nullptr)
    weight = build.add(Op::mul, {weight, view(build, build.convert(window, x->dtype()), {length})});
  ConvAttrs attrs;
  attrs.stride = {step};
  attrs.dilation = {1};
  attrs.low = attrs.high = {0};
  Value* y = conv(build, swap_axes(build, x, 1, 2), weight, nullptr, std::move(attrs));
  y = swap_axes(build, y, 1, 2);
  Shape shape = y->shape();
  shape.back() = matrix.rows;
  shape.push_back(2);
  return build.view(y, shape);
}

}  // namespace layline::ops

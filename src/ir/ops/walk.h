// The few ways in which evaluators go through the elements of tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "ir/ops/op_rules.h"

namespace layline::rules {

Ints row_major_strides(const Ints& dims);
/// How an operand moves while an index runs over `result`, to which it broadcasts: by 0 along the
/// axes that it repeats.
Ints broadcast_strides(const Ints& operand, const Ints& result);

/// Calls visit(position, offsets) for every index of `dims` in row-major order: its position, and
/// for each k the sum of index[a] * strides[k][a].
template <size_t n, typename Visit>
void walk(const Ints& dims, const std::array<Ints, n>& strides, Visit visit) {
  if (std::ranges::find(dims, 0) != dims.end()) return;
  if (dims.empty()) return visit(0, std::array<int64_t, n>{});
  int64_t position = 0;
  const auto along = [&](const auto& self, size_t axis, std::array<int64_t, n> offsets) -> void {
    std::array<int64_t, n> steps;
    for (size_t k = 0; k < n; ++k) steps[k] = strides[k][axis];
    const auto step = [&] {
      for (size_t k = 0; k < n; ++k) offsets[k] += steps[k];
    };
    if (axis + 1 < dims.size()) {
      for (int64_t i = 0; i < dims[axis]; ++i, step()) self(self, axis + 1, offsets);
      return;
    }
    // This loop makes no call and touches no memory for an element.
    const int64_t first = position;
    position += dims[axis];
    for (int64_t i = 0; i < dims[axis]; ++i, step()) visit(first + i, offsets);
  };
  along(along, 0, {});
}

/// A tensor seen as outer x length x inner around one axis. A lane is what runs along the axis.
struct Lanes {
  int64_t outer = 1, length = 1, inner = 1;

  Lanes(const Ints& dims, int64_t axis);

  /// Calls visit(lane, first) for each lane: its number, and the position of its first element; the
  /// others follow `inner` apart.
  template <typename Visit>
  void each(Visit visit) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) visit(o * inner + i, o * length * inner + i);
  }
};

/// The elements as numbers to compute with; T is double or int64_t.
template <typename T>
std::vector<T> values(const Tensor& x);
template <>
std::vector<double> values(const Tensor& x);
template <>
std::vector<int64_t> values(const Tensor& x);

/// Calls compute(T()) with the type in which elements of `dtype` are computed with.
template <typename Compute>
void with_number_type(DType dtype, Compute compute) {
  if (is_float(dtype))
    compute(double());
  else
    compute(int64_t());
}

/// Calls move(E()) with an integer as wide as elements of `dtype`: for ops that move elements and
/// need not know what they are.
template <typename Move>
void with_element_type(DType dtype, Move move) {
  switch (byte_size(dtype)) {
    case 1:
      return move(uint8_t());
    case 2:
      return move(uint16_t());
    case 4:
      return move(uint32_t());
    default:
      return move(uint64_t());
  }
}

/// min and max as in torch: NaN stays NaN.
template <typename T>
T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}
template <typename T>
T larger(T a, T b) {
  return a != a || a > b ? a : b;
}

double clamp(double x, const Bounds& bounds);
int64_t clamp(int64_t x, const Bounds& bounds);

/// Integers wrap around as the machine's do; the tensor's own width wraps when it is stored.
inline double plus(double a, double b) { return a + b; }
inline double minus(double a, double b) { return a - b; }
inline double times(double a, double b) { return a * b; }
int64_t plus(int64_t a, int64_t b);
int64_t minus(int64_t a, int64_t b);
int64_t times(int64_t a, int64_t b);

/// Stores a number as Tensor::set or set_int does.
inline void store(Tensor& x, int64_t i, double value) { x.set(i, value); }
inline void store(Tensor& x, int64_t i, int64_t value) { x.set_int(i, value); }
/// Stores all elements at once, which is faster.
void store(Tensor& x, const std::vector<double>& values);
void store(Tensor& x, const std::vector<int64_t>& values);

}  // namespace layline::rules

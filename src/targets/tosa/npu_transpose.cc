#include "targets/tosa/npu_transpose.h"

#include <algorithm>

#include "targets/tosa/kernels.h"
#include "targets/tosa/npu_limits.h"

namespace layline::tosa {
namespace {

using Transpose = Relayout::Transpose;

std::vector<int64_t> without_units(const Shape& shape) {
  std::vector<int64_t> sizes = static_dims(shape);
  std::erase(sizes, 1);
  return sizes;
}

bool runs(const Transpose& transpose, size_t element_bytes, const Accelerator& accelerator) {
  return transpose.dims.size() <= kMostAxes &&
         can_transpose(without_units(transpose.dims), static_cast<int>(element_bytes), accelerator);
}

/// The same movement with the axis split in two, the inner one of the given size.
Transpose split(const Transpose& whole, size_t axis, int64_t inner) {
  Transpose result;
  for (size_t a = 0; a < whole.dims.size(); ++a) {
    if (a != axis) {
      result.dims.push_back(whole.dims[a]);
      continue;
    }
    result.dims.push_back(whole.dims[a].value() / inner);
    result.dims.push_back(inner);
  }
  for (int from : whole.perm) {
    const auto a = static_cast<size_t>(from);
    result.perm.push_back(a > axis ? from + 1 : from);
    if (a == axis) result.perm.push_back(from + 1);
  }
  return result;
}

/// The divisor of a size that is nearest to its root, from below.
int64_t middle(int64_t size) {
  int64_t result = 1;
  for (int64_t divisor = 2; divisor * divisor <= size; ++divisor)
    if (size % divisor == 0) result = divisor;
  return result;
}

/// If two axes change places, splits the last one into rows of the length that the NPU reads best.
/// These lengths take the fewest cycles that Vela 5.1.0 counts, over many shapes.
std::optional<Transpose> in_short_rows(const Transpose& whole, size_t element_bytes,
                                       const Accelerator& accelerator) {
  constexpr int64_t kShort = 32, kShortWide = 64;  // rows of bytes, and of wider elements
  constexpr int64_t kLong = 256;                   // a row that is better cut
  constexpr int64_t kMany = int64_t{1} << 14;      // the elements of all rows
  constexpr int64_t kLeast = 16;                   // a row that is not worse than a long one
  if (accelerator.rows == 0 || whole.dims.size() != 2) return std::nullopt;
  const int64_t size = whole.dims.back().value();
  if (size <= kLong) return std::nullopt;
  std::vector<int64_t> lengths = {kShortWide};
  if (element_bytes == 1) lengths = {size >= kMany ? accelerator.rows : kShort, kShort};
  for (int64_t length : lengths)
    if (size % length == 0) return split(whole, 1, length);
  if (middle(size) >= kLeast) return split(whole, 1, middle(size));
  return std::nullopt;
}

}  // namespace

std::optional<Transpose> npu_transpose(const Relayout& relayout, size_t element_bytes,
                                       const Accelerator& accelerator) {
  const auto permutation = relayout.as_permutation();
  const Transpose whole = relayout.as_transpose();
  const bool merges = without_units(relayout.source()).size() > whole.dims.size();
  if (permutation && !accelerator.merges_axes) {
    const Transpose axes{relayout.source(), *permutation};
    // Vela transposes an image where the operator beside it reads or writes it: no view between.
    if (merges && runs(axes, element_bytes, accelerator)) return axes;
    if (auto rows = in_short_rows(whole, element_bytes, accelerator)) return rows;
    if (runs(axes, element_bytes, accelerator)) return axes;
  }
  if (auto rows = in_short_rows(whole, element_bytes, accelerator)) return rows;
  if (runs(whole, element_bytes, accelerator)) return whole;
  // The axis that is too long as two, of about the same length.
  for (size_t axis = 0; axis < whole.dims.size(); ++axis) {
    const int64_t inner = middle(whole.dims[axis].value());
    if (inner == 1) continue;
    const Transpose parts = split(whole, axis, inner);
    if (runs(parts, element_bytes, accelerator)) return parts;
  }
  return std::nullopt;
}

}  // namespace layline::tosa

#include "targets/tosa/npu_transpose.h"

#include <algorithm>

#include "targets/rewrites/rank.h"
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
  return transpose.dims.size() <= rewrites::kMostAxes &&
         can_transpose(without_units(transpose.dims), static_cast<int>(element_bytes), accelerator);
}

/// The same movement with the axis in two, the inner one of the given size.
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

}  // namespace

std::optional<Transpose> npu_transpose(const Relayout& relayout, size_t element_bytes,
                                       const Accelerator& accelerator) {
  const auto permutation = relayout.as_permutation();
  if (permutation && !accelerator.merges_axes) {
    const Transpose axes{relayout.source(), *permutation};
    if (runs(axes, element_bytes, accelerator)) return axes;
  }
  const Transpose whole = relayout.as_transpose();
  if (runs(whole, element_bytes, accelerator)) return whole;
  // The axis that is too long as two, of about the same length.
  for (size_t axis = 0; axis < whole.dims.size(); ++axis) {
    const int64_t size = whole.dims[axis].value();
    int64_t inner = 1;
    for (int64_t divisor = 2; divisor * divisor <= size; ++divisor)
      if (size % divisor == 0) inner = divisor;
    if (inner == 1) continue;
    const Transpose parts = split(whole, axis, inner);
    if (runs(parts, element_bytes, accelerator)) return parts;
  }
  return std::nullopt;
}

}  // namespace layline::tosa

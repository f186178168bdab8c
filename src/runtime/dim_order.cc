#include "runtime/dim_order.h"

#include <cstring>
#include <vector>

#include "base/error.h"

namespace layline {
namespace {

/// The strides, in bytes, of the axes of `shape` when they are nested as `order` says.
std::vector<size_t> strides_of(std::span<const int64_t> shape, std::span<const uint8_t> order,
                               size_t element_size) {
  std::vector<size_t> strides(shape.size());
  size_t stride = element_size;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= static_cast<size_t>(shape[order[i]]);
  }
  return strides;
}

bool is_row_major(std::span<const int64_t> shape, std::span<const uint8_t> order) {
  int last = -1;
  for (const uint8_t axis : order) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

/// Visits the elements in the order of `shape`'s axes nested row-major, reading and writing by
/// strides.
void copy_strided(const std::byte* source, const std::vector<size_t>& source_strides,
                  std::byte* target, const std::vector<size_t>& target_strides,
                  std::span<const int64_t> shape, size_t element_size) {
  const size_t inner = shape.size() - 1;
  const size_t inner_count = static_cast<size_t>(shape[inner]);
  std::vector<int64_t> index(shape.size(), 0);
  for (;;) {
    const std::byte* from = source;
    std::byte* to = target;
    for (size_t i = 0; i < inner_count; ++i) {
      std::memcpy(to, from, element_size);
      from += source_strides[inner];
      to += target_strides[inner];
    }
    size_t axis = inner;
    for (;;) {
      if (axis == 0) return;
      --axis;
      source += source_strides[axis];
      target += target_strides[axis];
      if (++index[axis] < shape[axis]) break;
      source -= source_strides[axis] * static_cast<size_t>(shape[axis]);
      target -= target_strides[axis] * static_cast<size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
}

enum class Direction { to_order, from_order };

void convert(std::span<const std::byte> source, std::span<const int64_t> shape,
             std::span<const uint8_t> order, size_t element_size, std::span<std::byte> target,
             Direction direction) {
  LAYLINE_ASSERT(order.size() == shape.size(), "dim order of rank {} for a tensor of rank {}",
                 order.size(), shape.size());
  std::vector<uint8_t> row_major(shape.size());
  std::vector<bool> seen(shape.size(), false);
  size_t bytes = element_size;
  for (size_t i = 0; i < shape.size(); ++i) {
    row_major[i] = static_cast<uint8_t>(i);
    LAYLINE_ASSERT(order[i] < shape.size() && !seen[order[i]], "dim order is not a permutation");
    seen[order[i]] = true;
    bytes *= static_cast<size_t>(shape[i]);
  }
  LAYLINE_ASSERT(source.size() == bytes && target.size() == bytes,
                 "a tensor of {} bytes has {} and {} bytes of storage", bytes, source.size(),
                 target.size());
  if (bytes == 0) return;
  if (is_row_major(shape, order)) {
    std::memcpy(target.data(), source.data(), bytes);
    return;
  }
  const std::vector<size_t> plain = strides_of(shape, row_major, element_size);
  const std::vector<size_t> ordered = strides_of(shape, order, element_size);
  const bool to_order = direction == Direction::to_order;
  copy_strided(source.data(), to_order ? plain : ordered, target.data(), to_order ? ordered : plain,
               shape, element_size);
}

}  // namespace

void to_dim_order(std::span<const std::byte> row_major, std::span<const int64_t> shape,
                  std::span<const uint8_t> dim_order, size_t element_size,
                  std::span<std::byte> ordered) {
  convert(row_major, shape, dim_order, element_size, ordered, Direction::to_order);
}

void from_dim_order(std::span<const std::byte> ordered, std::span<const int64_t> shape,
                    std::span<const uint8_t> dim_order, size_t element_size,
                    std::span<std::byte> row_major) {
  convert(ordered, shape, dim_order, element_size, row_major, Direction::from_order);
}

}  // namespace layline

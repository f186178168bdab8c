// Dim order is how ExecuTorch describes memory: the axes of the logical shape from the outermost
// in memory to the innermost. [0, 1, 2, 3] is row-major, [0, 2, 3, 1] is channels-last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace layline {

/// Copies a tensor that is row-major over `shape` into one nested by `dim_order`, a permutation
/// of the axes. Both spans hold exactly the elements of `shape`, each of `element_size` bytes.
void to_dim_order(std::span<const std::byte> row_major, std::span<const int64_t> shape,
                  std::span<const uint8_t> dim_order, size_t element_size,
                  std::span<std::byte> ordered);

/// The inverse of to_dim_order.
void from_dim_order(std::span<const std::byte> ordered, std::span<const int64_t> shape,
                    std::span<const uint8_t> dim_order, size_t element_size,
                    std::span<std::byte> row_major);

}  // namespace layline

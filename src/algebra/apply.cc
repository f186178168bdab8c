// Moves data at the speed of memory: weights are reordered once, on their way into the output.
#include <algorithm>
#include <cstring>
#include <utility>

#include "algebra/relayout.h"
#include "base/error.h"

namespace layline {
namespace {

/// One loop of the nest, with its strides in bytes.
struct Loop {
  int64_t size;
  int64_t source_stride;
  int64_t target_stride;
};

/// The loops of a relayout in target order, so that writing is sequential.
std::vector<Loop> loops_of(const Relayout& relayout, int64_t element_size) {
  const std::vector<int64_t> sizes = static_dims(relayout.factors());
  std::vector<int64_t> source_strides(sizes.size());
  int64_t stride = element_size;
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) source_strides[i] = stride;
  std::vector<Loop> loops(sizes.size());
  stride = element_size;
  for (size_t i = sizes.size(); i-- > 0; stride *= loops[i].size) {
    const int factor = relayout.order()[i];
    loops[i] = {sizes[factor], source_strides[factor], stride};
  }
  return loops;
}

/// Calls `body(source, target)` at every iteration of the loops.
template <typename Body>
void for_each(std::span<const Loop> loops, const std::byte* source, std::byte* target,
              const Body& body) {
  if (loops.empty()) return body(source, target);
  const Loop& loop = loops.front();
  for (int64_t i = 0; i < loop.size; ++i)
    for_each(loops.subspan(1), source + i * loop.source_stride, target + i * loop.target_stride,
             body);
}

// A fixed size makes memcpy one move instruction, for any alignment.
template <size_t kSize>
void copy_element(std::byte* target, const std::byte* source) {
  std::memcpy(target, source, kSize);
}

/// Transposes one tile: rows are contiguous in the source, columns in the target.
template <size_t kSize>
void transpose_tile(int64_t rows, int64_t columns, const std::byte* source, int64_t source_stride,
                    std::byte* target, int64_t target_stride) {
  for (int64_t column = 0; column < columns; ++column) {
    const std::byte* from = source + column * static_cast<int64_t>(kSize);
    std::byte* to = target + column * target_stride;
    for (int64_t row = 0; row < rows; ++row, from += source_stride, to += kSize)
      copy_element<kSize>(to, from);
  }
}

/// A full tile, one cache line each way. It goes through a buffer so that every line of the source
/// and of the target is touched once: with strides that are powers of two, 16 lines of a tile fall
/// into one or two sets of the cache and evict each other.
template <size_t kSize, int64_t kTile>
void transpose_full_tile(const std::byte* source, int64_t source_stride, std::byte* target,
                         int64_t target_stride) {
  constexpr int64_t kLine = kTile * static_cast<int64_t>(kSize);
  alignas(64) std::byte rows[kTile * kLine];
  alignas(64) std::byte columns[kTile * kLine];
  for (int64_t row = 0; row < kTile; ++row)
    std::memcpy(rows + row * kLine, source + row * source_stride, kLine);
  transpose_tile<kSize>(kTile, kTile, rows, kLine, columns, kLine);
  for (int64_t column = 0; column < kTile; ++column)
    std::memcpy(target + column * target_stride, columns + column * kLine, kLine);
}

/// Transposes a matrix: `row` is the loop that is innermost in the target, `column` the one that is
/// innermost in the source.
template <size_t kSize>
void transpose(const Loop& row, const Loop& column, const std::byte* source, std::byte* target) {
  constexpr int64_t kTile = std::max<int64_t>(64 / kSize, 8);
  constexpr int64_t kTallTile = 16 * kTile;  // narrow matrices: long runs of writes, reads from L1
  const bool narrow = column.size < kTile;
  const int64_t tile_rows = narrow ? kTallTile : kTile;
  for (int64_t c = 0; c < column.size; c += kTile) {
    const int64_t columns = std::min(kTile, column.size - c);
    for (int64_t r = 0; r < row.size; r += tile_rows) {
      const int64_t rows = std::min(tile_rows, row.size - r);
      const std::byte* from = source + r * row.source_stride + c * static_cast<int64_t>(kSize);
      std::byte* to = target + r * static_cast<int64_t>(kSize) + c * column.target_stride;
      if (rows == kTile && columns == kTile)
        transpose_full_tile<kSize, kTile>(from, row.source_stride, to, column.target_stride);
      else
        transpose_tile<kSize>(rows, columns, from, row.source_stride, to, column.target_stride);
    }
  }
}

/// The loop nest of a relayout that moves single elements of kSize bytes: a matrix transpose over
/// the innermost loops of both sides, inside all the others.
template <size_t kSize>
void move_elements(std::vector<Loop> loops, const std::byte* source, std::byte* target) {
  const Loop row = loops.back();
  loops.pop_back();
  const auto innermost_source =
      std::ranges::find(loops, static_cast<int64_t>(kSize), &Loop::source_stride);
  const Loop column = *innermost_source;
  loops.erase(innermost_source);
  for_each(loops, source, target,
           [&](const std::byte* from, std::byte* to) { transpose<kSize>(row, column, from, to); });
}

}  // namespace

void apply(const Relayout& relayout, std::span<const std::byte> in, std::span<std::byte> out,
           size_t element_size) {
  const Dim bytes = element_count(relayout.source()) * Dim(static_cast<int64_t>(element_size));
  LAYLINE_ASSERT(in.size() == static_cast<size_t>(bytes.value()) && out.size() == in.size(),
                 "a relayout of {} bytes applied to {} and {}", bytes.value(), in.size(),
                 out.size());
  if (in.empty()) return;
  if (relayout.is_view()) {
    std::memcpy(out.data(), in.data(), in.size());
    return;
  }
  std::vector<Loop> loops = loops_of(relayout, static_cast<int64_t>(element_size));
  // What is innermost on both sides moves in one piece: a larger element.
  if (loops.back().source_stride == loops.back().target_stride) {
    element_size *= static_cast<size_t>(loops.back().size);
    loops.pop_back();
  }
  switch (element_size) {
    case 1:
      return move_elements<1>(std::move(loops), in.data(), out.data());
    case 2:
      return move_elements<2>(std::move(loops), in.data(), out.data());
    case 4:
      return move_elements<4>(std::move(loops), in.data(), out.data());
    case 8:
      return move_elements<8>(std::move(loops), in.data(), out.data());
    case 16:
      return move_elements<16>(std::move(loops), in.data(), out.data());
    default:
      for_each(loops, in.data(), out.data(),
               [&](const std::byte* from, std::byte* to) { std::memcpy(to, from, element_size); });
  }
}

}  // namespace layline

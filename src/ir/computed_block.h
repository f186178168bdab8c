// Constants that are computed when they are read. Their bytes are in memory only while somebody
// reads them, so a program may have more of them than memory should hold.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace layline {

class ComputedBlock {
 public:
  /// Where a part's bytes lie in the block. The bytes of its first and its last element are known
  /// beforehand.
  struct Part {
    size_t begin = 0, size = 0;
    std::array<std::byte, 8> first{}, last{};
  };
  /// Fills a whole block; writes the same bytes whenever it is called.
  using Compute = std::function<void(std::span<std::byte> block)>;

  ComputedBlock(size_t bytes, std::vector<Part> parts, Compute compute);

  const Part& part(size_t index) const { return parts_[index]; }

  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> keep_alive;
  };
  /// The bytes of a part. The block is computed at the first call and kept until every part has
  /// been read. A writer reads each part once; the memory is then free for the next block.
  Bytes read(size_t index);

 private:
  const size_t size_;
  const std::vector<Part> parts_;
  const Compute compute_;
  std::mutex reading_;
  std::shared_ptr<std::byte[]> block_;  // null while nobody reads it
  std::vector<bool> read_;
};

}  // namespace layline

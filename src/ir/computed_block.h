// Constants that are computed when they are read. Their bytes are in memory only while somebody
// reads them, so a program may have more of them than memory should hold. Those that can be
// computed from front to back are written in pieces, and never in memory as a whole.
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

  /// Takes the bytes of a block, a piece at a time.
  using Write = std::function<void(std::span<const std::byte> piece)>;
  /// Gives a whole block to `write` in consecutive pieces; the same bytes whenever it is called.
  using Stream = std::function<void(const Write& write)>;

  ComputedBlock(size_t bytes, std::vector<Part> parts, Compute compute);
  /// A block of one part, which is computed in pieces.
  ComputedBlock(Part whole, Stream stream);

  /// Whether stream() may be called.
  bool has_pieces() const { return stream_ != nullptr; }
  /// Gives the block to `write` in consecutive pieces, none of which stays in memory.
  void stream(const Write& write) const { stream_(write); }

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
  const Stream stream_;  // empty if the block is computed as a whole
  const Compute compute_;
  std::mutex reading_;
  std::shared_ptr<std::byte[]> block_;  // null while nobody reads it
  std::vector<bool> read_;
};

}  // namespace layline

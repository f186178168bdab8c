// Writes a file on a thread of its own, while what follows is being made: scaling and moving a
// network's weights takes as long as writing them.
#pragma once

#include <sys/uio.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace layline {

class BlockWriter {
 public:
  /// Writes are of this size, at multiples of it, wherever that much is there: the system then
  /// caches the file in large pages, which takes half the time.
  static constexpr size_t kBlock = size_t{1} << 20;

  /// Of a new file that nobody else writes to; it is not closed here.
  explicit BlockWriter(int descriptor) : descriptor_(descriptor) {}
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  /// Nothing more is written, not even what waits.
  ~BlockWriter();

  // All of these return 0, or the errno of what failed: after that nothing is written any more.

  /// Takes bytes, to be written after those before. Waits while there are too many.
  int write(std::vector<std::byte> bytes);
  /// The same for bytes that stay where they are for as long as somebody has the owner, or until
  /// finish().
  int lend(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  /// Waits until everything is written.
  int finish();

 private:
  struct Piece {
    std::span<const std::byte> bytes;  // that are left to be written
    std::vector<std::byte> taken;
    std::shared_ptr<const void> owner;
  };

  int add(Piece piece);
  bool has_room() const;
  void run();
  int find_next(std::span<iovec> pieces) const;
  void advance(size_t count);

  const int descriptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  size_t taken_ = 0;      // bytes that were taken and are in memory for no one else
  size_t left_ = 0;       // bytes of all pieces
  uint64_t written_ = 0;  // bytes before them
  int waiting_ = 0;       // for something to be written
  int error_ = 0;
  bool ended_ = false;
  std::jthread thread_;
};

}  // namespace layline

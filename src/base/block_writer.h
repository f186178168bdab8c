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
  /// The size of writes, which begin at multiples of it, if that many bytes are there. The system
  /// then caches the file in large pages, which takes half the time.
  static constexpr size_t kBlock = size_t{1} << 20;

  /// Writes to a new file that nobody else writes to. The writer does not close it.
  explicit BlockWriter(int descriptor) : descriptor_(descriptor) {}
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  /// Stops writing, even what still waits to be written.
  ~BlockWriter();

  // All of these return 0, or the errno of what failed. After a failure nothing more is written.

  /// Takes bytes, to be written after earlier ones. Waits while too many are left.
  int write(std::vector<std::byte> bytes);
  /// Writes bytes without taking them: they stay where they are for as long as somebody has the
  /// owner, or until finish().
  int lend(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  /// Waits until everything is written.
  int finish();

 private:
  struct Piece {
    std::span<const std::byte> bytes;  // what is left to be written
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
  size_t taken_ = 0;      // bytes that were taken: only the writer needs them
  size_t left_ = 0;       // bytes of all pieces
  uint64_t written_ = 0;  // bytes before the pieces
  int waiting_ = 0;       // threads that wait for something to be written
  int error_ = 0;
  bool ended_ = false;
  std::jthread thread_;
};

}  // namespace layline

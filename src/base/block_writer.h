// Writes the blocks of a file on a thread of its own, while the next ones are being made: scaling
// and moving a network's weights takes as long as writing them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace layline {

/// Writes all bytes where the file stands; 0, or the errno of what failed.
int write_all(int descriptor, std::span<const std::byte> bytes);

class BlockWriter {
 public:
  BlockWriter() = default;
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  /// Blocks that are not written yet are lost: see finish().
  ~BlockWriter();

  /// Takes the block, to be written after those before, and leaves an empty one with room for as
  /// much. Waits while too many are to be written. 0, or the errno of a block that failed: then no
  /// more are written.
  int write(int descriptor, std::vector<std::byte>& block);
  /// Waits until everything is written; 0, or the errno of what failed.
  int finish();

 private:
  void run(int descriptor);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<std::byte>> blocks_;  // the first is being written
  std::vector<std::vector<std::byte>> spare_;
  int error_ = 0;
  bool ended_ = false;
  std::jthread thread_;  // the last: it ends before the others go
};

}  // namespace layline

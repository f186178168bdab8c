#include "base/block_writer.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace layline {
namespace {

// One is written while the next is made.
constexpr size_t kMostBlocks = 1;

}  // namespace

int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

BlockWriter::~BlockWriter() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

int BlockWriter::write(int descriptor, std::vector<std::byte>& block) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::jthread([this, descriptor] { run(descriptor); });
    } catch (const std::system_error&) {  // no more threads are allowed
      const int error = write_all(descriptor, block);
      block.clear();
      return error;
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return blocks_.size() < kMostBlocks; });
  const size_t room = block.capacity();
  blocks_.push_back(std::exchange(block, {}));
  if (!spare_.empty()) {
    block = std::move(spare_.back());
    spare_.pop_back();
  }
  const int error = error_;
  lock.unlock();
  changed_.notify_all();
  block.reserve(room);
  return error;
}

int BlockWriter::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return blocks_.empty(); });
  return error_;
}

void BlockWriter::run(int descriptor) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || !blocks_.empty(); });
    if (ended_) return;
    if (error_ == 0) {
      const std::span<const std::byte> block = blocks_.front();  // nobody else takes it away
      lock.unlock();
      const int error = write_all(descriptor, block);
      lock.lock();
      error_ = error;
    }
    blocks_.front().clear();
    spare_.push_back(std::move(blocks_.front()));
    blocks_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace layline

#include "base/block_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace layline {
namespace {

// The most bytes that are taken at once: one block is written while the next is made.
constexpr size_t kMostTaken = BlockWriter::kBlock;
// The most bytes that are left in all: as many as the largest weights have, so that the next ones
// are computed while these are written.
constexpr size_t kMostLeft = size_t{16} << 20;
constexpr size_t kMostAtOnce = 4 * BlockWriter::kBlock;
constexpr size_t kMostPieces = 64;  // fewer than IOV_MAX

int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return errno;
    bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return 0;
}

}  // namespace

int BlockWriter::write(std::vector<std::byte> bytes) {
  Piece piece;
  piece.taken = std::move(bytes);
  piece.bytes = piece.taken;
  return add(std::move(piece));
}

int BlockWriter::lend(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  return add({bytes, {}, std::move(owner)});
}

int BlockWriter::finish() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return pieces_.empty(); });
  --waiting_;
  return error_;
}

BlockWriter::~BlockWriter() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  thread_ = {};  // has ended, while what it uses is still there
}

int BlockWriter::add(Piece piece) {
  std::unique_lock lock(mutex_);
  if (piece.bytes.empty() || error_ != 0) return error_;
  if (!thread_.joinable()) {
    try {
      if (written_ + piece.bytes.size() >= kBlock)  // less is not worth a thread
        thread_ = std::jthread([this] { run(); });
    } catch (const std::system_error&) {  // no more threads are allowed
    }
  }
  if (!thread_.joinable()) {
    written_ += piece.bytes.size();
    return error_ = write_all(descriptor_, piece.bytes);
  }
  pieces_.push_back(std::move(piece));
  taken_ += pieces_.back().taken.size();
  left_ += pieces_.back().bytes.size();
  changed_.notify_all();
  if (has_room()) return error_;
  ++waiting_;
  changed_.wait(lock, [&] { return has_room(); });
  --waiting_;
  return error_;
}

bool BlockWriter::has_room() const { return taken_ <= kMostTaken && left_ <= kMostLeft; }

/// The thread. It allocates nothing: nobody would catch what that throws.
void BlockWriter::run() {
  std::array<iovec, kMostPieces> pieces;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      return ended_ || left_ >= kBlock - written_ % kBlock || (waiting_ > 0 && left_ > 0);
    });
    if (ended_) return;
    const int some = find_next(pieces);
    lock.unlock();
    const ssize_t count = ::writev(descriptor_, pieces.data(), some);
    const int error = count < 0 && errno != EINTR ? errno : 0;
    lock.lock();
    error_ = error;
    advance(error != 0 ? left_ : static_cast<size_t>(std::max<ssize_t>(count, 0)));
    changed_.notify_all();
  }
}

/// Finds what to write at once: whole blocks, or else all there is. Returns the number of pieces.
int BlockWriter::find_next(std::span<iovec> pieces) const {
  const uint64_t whole = (written_ + left_) / kBlock * kBlock;
  size_t size = whole > written_ ? static_cast<size_t>(whole - written_) : left_;
  size = std::min(size, kMostAtOnce - written_ % kBlock);
  size_t count = 0;
  for (auto piece = pieces_.begin(); size > 0 && count < pieces.size(); ++piece) {
    const auto bytes = piece->bytes.first(std::min(size, piece->bytes.size()));
    pieces[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    size -= bytes.size();
  }
  return static_cast<int>(count);
}

void BlockWriter::advance(size_t count) {
  left_ -= count;
  written_ += count;
  while (count > 0) {
    Piece& first = pieces_.front();
    const size_t size = std::min(count, first.bytes.size());
    first.bytes = first.bytes.subspan(size);
    count -= size;
    if (!first.bytes.empty()) continue;
    taken_ -= first.taken.size();
    pieces_.pop_front();
  }
}

}  // namespace layline

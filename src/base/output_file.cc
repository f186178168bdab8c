#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace layline {
namespace {

// Writes are of this size, at multiples of it: the system then caches the file in large pages,
// which takes half the time.
constexpr size_t kBlock = size_t{1} << 20;

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    // The rename would otherwise replace a device such as /dev/null.
    throw UserError("cannot write '{}': it is {}", path_,
                    S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
  }
  temporary_ = path_ + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  buffer_.reserve(kBlock);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void OutputFile::reserve(uint64_t bytes) {
  LAYLINE_ASSERT(descriptor_ >= 0, "reserving in '{}' after commit", path_);
  // Only for speed, so it does not matter where the file system cannot; the size stays that of what
  // is written.
  if (bytes >= kBlock)
    (void)::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
}

void OutputFile::write(std::span<const std::byte> bytes) {
  LAYLINE_ASSERT(descriptor_ >= 0, "write to '{}' after commit", path_);
  position_ += bytes.size();
  while (!bytes.empty()) {
    size_t size = bytes.size();
    if (buffer_.empty() && size >= kBlock) {
      size -= size % kBlock;
      write_through(bytes.first(size));
    } else {
      size = std::min(size, kBlock - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
      if (buffer_.size() == kBlock) flush();
    }
    bytes = bytes.subspan(size);
  }
}

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::pad_to(uint64_t alignment) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  const auto end = checked_align(position_, alignment);
  LAYLINE_ASSERT(end.has_value(), "padding past the largest offset");
  while (position_ < *end)
    write(std::span(kZeros).first(std::min<uint64_t>(*end - position_, kZeros.size())));
}

void OutputFile::commit() {
  LAYLINE_ASSERT(descriptor_ >= 0, "'{}' committed twice", path_);
  flush();
  // mkstemp makes files private; give the result the mode that open() would have given it.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(descriptor_, 0666 & ~mask) != 0) fail(errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail(error);
  }
}

void OutputFile::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void OutputFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void OutputFile::fail(int error) const {
  throw UserError("cannot write '{}': {}", path_, std::strerror(error));
}

}  // namespace layline

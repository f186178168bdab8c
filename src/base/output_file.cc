#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

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

constexpr size_t kBlock = BlockWriter::kBlock;
constexpr size_t kLeastLent = size_t{1} << 16;  // less is copied
// How often another temporary name is tried when one is taken.
constexpr int kMostAttempts = 100;

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporary_name(const std::string& path, int attempt) {
  return fmt::format("{}.{}-{}", path, ::getpid(), attempt);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  // Standard output could not be taken back if something fails half way.
  if (path_ == "-")
    throw UserError("cannot write '-': give the name of a file ('./-' for one that is named so)");
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0) {
    // The rename would otherwise replace a device such as /dev/null, or a file that its owner has
    // protected.
    if (!S_ISREG(status.st_mode))
      throw UserError("cannot write '{}': it is {}", path_,
                      S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
    if (::access(path_.c_str(), W_OK) != 0) fail(errno);
  }
  descriptor_ = ::open(directory_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  // How a kernel or a file system says that it has no nameless files: see open(2).
  if (descriptor_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    for (int i = 0; descriptor_ < 0 && i < kMostAttempts; ++i) {
      temporary_ = temporary_name(path_, i);
      descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && errno != EEXIST) break;
    }
  }
  if (descriptor_ < 0) fail(errno);
  blocks_.emplace(descriptor_);
  buffer_.reserve(kBlock);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  blocks_.reset();
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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
  if (bytes.size() >= kBlock) {  // is not copied
    pass_on(bytes, nullptr);
    return check(blocks_->finish());
  }
  position_ += bytes.size();
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kBlock - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    if (buffer_.size() == kBlock) hand_over();
    bytes = bytes.subspan(size);
  }
}

void OutputFile::lend(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  LAYLINE_ASSERT(descriptor_ >= 0, "write to '{}' after commit", path_);
  if (bytes.size() < kLeastLent || owner == nullptr) return write(bytes);
  pass_on(bytes, std::move(owner));
}

void OutputFile::pass_on(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  position_ += bytes.size();
  hand_over();
  check(blocks_->lend(bytes, std::move(owner)));
}

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::pad_to(uint64_t alignment) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  const auto end = checked_align(position_, alignment);
  LAYLINE_ASSERT(end.has_value(), "padding past the largest offset");
  while (position_ < *end)
    write(std::span(kZeros).first(std::min<uint64_t>(*end - position_, kZeros.size())));
}

void OutputFile::sync() {
  LAYLINE_ASSERT(descriptor_ >= 0, "sync of '{}' after commit", path_);
  flush();
  if (::fsync(descriptor_) != 0) fail(errno);
}

void OutputFile::name_temporary() {
  const std::string itself = fmt::format("/proc/self/fd/{}", descriptor_);
  for (int i = 0; i < kMostAttempts; ++i) {
    temporary_ = temporary_name(path_, i);
    if (::linkat(AT_FDCWD, itself.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return;
    if (errno != EEXIST) break;
  }
  temporary_.clear();
  fail(errno);
}

void OutputFile::commit() {
  LAYLINE_ASSERT(descriptor_ >= 0, "'{}' committed twice", path_);
  flush();
  // Only a file with a name can replace another one.
  if (temporary_.empty()) name_temporary();
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    fail(error);
  }
}

void OutputFile::hand_over() {
  // A full buffer goes itself: a copy of less takes no more memory than it needs.
  std::vector<std::byte> taken;
  if (buffer_.size() == kBlock)
    taken.swap(buffer_);
  else
    taken = buffer_;
  buffer_.clear();
  check(blocks_->write(std::move(taken)));
  buffer_.reserve(kBlock);
}

void OutputFile::flush() {
  hand_over();
  check(blocks_->finish());
}

void OutputFile::check(int error) const {
  if (error != 0) fail(error);
}

void OutputFile::fail(int error) const {
  // The bytes were those of a mapped file: see exit_on_truncated_map().
  if (error == EFAULT)
    throw UserError(
        "a file was cut short, or its disk failed, while it was read; nothing was written");
  throw UserError("cannot write '{}': {}", path_, std::strerror(error));
}

}  // namespace layline

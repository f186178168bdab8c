#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace layline {
namespace {

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // Non-blocking, so that a FIFO is refused below instead of waiting for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) throw UserError("cannot open '{}': {}", path, std::strerror(errno));
  struct stat status {};
  if (::fstat(file.value, &status) != 0)
    throw UserError("cannot read '{}': {}", path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw UserError("'{}' is a directory, not a file", path);
  if (!S_ISREG(status.st_mode)) throw UserError("'{}' is not a regular file", path);
  if (status.st_size == 0) throw UserError("'{}' is empty", path);
  const auto size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (data == MAP_FAILED) throw UserError("cannot map '{}': {}", path, std::strerror(errno));
  // Only advice: start reading ahead, since nearly every byte is used once.
  ::madvise(data, size, MADV_WILLNEED);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const std::byte*>(data), size));
}

MappedFile::MappedFile(std::string path, const std::byte* data, size_t size)
    : path_(std::move(path)), data_(data), size_(size) {}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(data_), size_); }

}  // namespace layline

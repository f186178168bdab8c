#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
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

/// Maps pages, in steps after which it can be stopped. Only advice: kernels before 5.14 do not know
/// it, and where the file was cut short there is nothing to map. A step locks the process's memory
/// map; without the pauses, other threads that allocate memory waited for all of them.
void map_pages(const std::stop_token& stop, std::byte* data, size_t size) {
  constexpr size_t kStep = size_t{1} << 20;
  constexpr std::chrono::microseconds kPause{20};
  for (size_t done = 0; done < size && !stop.stop_requested(); done += kStep) {
    if (::madvise(data + done, std::min(kStep, size - done), MADV_POPULATE_READ) != 0) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) { return map(path); }

std::shared_ptr<const MappedFile> MappedFile::open_ahead(const std::string& path) {
  constexpr size_t kLeast = size_t{1} << 20;  // worth a thread
  const std::shared_ptr<MappedFile> file = map(path);
  try {
    if (file->bytes_.size() >= kLeast)
      file->ahead_ =
          std::jthread(map_pages, static_cast<std::byte*>(file->mapping_), file->bytes_.size());
  } catch (const std::system_error&) {  // no more threads are allowed
  }
  return file;
}

std::shared_ptr<const MappedFile> MappedFile::of_memory(std::span<const std::byte> bytes,
                                                        std::string name) {
  if (bytes.empty()) throw UserError("'{}' is empty", name);
  return std::shared_ptr<MappedFile>(new MappedFile(std::move(name), bytes, nullptr));
}

std::shared_ptr<MappedFile> MappedFile::map(const std::string& path) {
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
  const std::span bytes(static_cast<const std::byte*>(data), size);
  return std::shared_ptr<MappedFile>(new MappedFile(path, bytes, data));
}

MappedFile::MappedFile(std::string path, std::span<const std::byte> bytes, void* mapping)
    : path_(std::move(path)), bytes_(bytes), mapping_(mapping) {}

MappedFile::~MappedFile() {
  ahead_ = {};  // has ended
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

}  // namespace layline

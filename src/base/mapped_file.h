// A file mapped read-only into memory. Weights are used where they lie in the mapping, so whoever
// hands out spans of it also keeps the shared_ptr.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace layline {

class MappedFile {
 public:
  /// Maps the whole file. UserError if it is missing, unreadable, not a regular file or empty.
  static std::shared_ptr<const MappedFile> open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, const std::byte* data, size_t size);

  std::string path_;
  const std::byte* data_;
  size_t size_;
};

}  // namespace layline

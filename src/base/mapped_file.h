// A file mapped read-only into memory. Weights are used where they lie in the mapping, so whoever
// hands out spans of it also keeps the shared_ptr.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>

namespace layline {

class MappedFile {
 public:
  /// Maps the whole file. UserError if it is missing, unreadable, not a regular file or empty.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  /// The same for a file of which nearly every byte will be read: another thread maps its pages
  /// meanwhile, which takes a tenth of the time of compiling a model whose weights are large.
  static std::shared_ptr<const MappedFile> open_ahead(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::byte* data, size_t size);
  static std::shared_ptr<MappedFile> map(const std::string& path);

  std::string path_;
  std::byte* data_;
  size_t size_;
  std::jthread ahead_;
};

}  // namespace layline

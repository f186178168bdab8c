// A file in memory, read-only: mapped, or read by somebody else. Weights are used where they lie,
// so whoever hands out spans of it also keeps the shared_ptr.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

namespace layline {

class MappedFile {
 public:
  /// Maps the whole file. Throws UserError if it is missing, unreadable, not a regular file or
  /// empty.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  /// Maps a file whose bytes will nearly all be read. Another thread maps its pages meanwhile: that
  /// takes a tenth of the time of compiling a model whose weights are large.
  static std::shared_ptr<const MappedFile> open_ahead(const std::string& path);
  /// A file that the caller has read, and keeps for as long as anybody has the result. `name`
  /// stands for it in messages. Throws UserError if it is empty.
  static std::shared_ptr<const MappedFile> of_memory(std::span<const std::byte> bytes,
                                                     std::string name);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  const std::string& path() const { return path_; }
  /// Whether it is a file; otherwise its path is only a name.
  bool is_file() const { return mapping_ != nullptr; }

 private:
  MappedFile(std::string path, std::span<const std::byte> bytes, void* mapping);
  static std::shared_ptr<MappedFile> map(const std::string& path);

  std::string path_;
  std::span<const std::byte> bytes_;
  void* mapping_;  // null if the memory is not ours
  std::jthread ahead_;
};

}  // namespace layline

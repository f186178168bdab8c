// A file that appears whole or not at all. It is written without a name in its target's directory,
// and commit() gives it the target's name. A process that is killed before that leaves nothing
// behind. If the file system has no nameless files, a temporary name stands in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/block_writer.h"

namespace layline {

class OutputFile {
 public:
  /// Creates the file, without its name. Every failure, here and below, is a UserError naming
  /// `path`.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Without a commit(), what was written is gone, and the target is as before.
  ~OutputFile();

  /// Says how many bytes will come, if that is known. Writing them is then faster.
  void reserve(uint64_t bytes);
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Appends bytes that stay where they are for as long as somebody has the owner: without a copy,
  /// and perhaps later.
  void lend(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  /// Appends zeros until position() is a multiple of `alignment`, a power of two.
  void pad_to(uint64_t alignment);
  /// Bytes written so far.
  uint64_t position() const { return position_; }
  /// Waits until what is written is on the disk: commit() then survives a loss of power.
  void sync();
  /// Flushes and takes the target's name. Nothing may be written afterwards.
  void commit();

 private:
  void pass_on(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  void hand_over();
  void flush();
  void check(int error) const;
  void name_temporary();
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string temporary_;  // empty while the file has no name
  int descriptor_ = -1;
  uint64_t position_ = 0;
  std::vector<std::byte> buffer_;
  std::optional<BlockWriter> blocks_;  // writes to the open file what came before the buffer
};

}  // namespace layline

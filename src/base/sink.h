// Where written bytes go: a file, memory, or a counter. Writers see nothing more than this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace layline {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Called once, before the first write, by a writer that knows how many bytes it will write.
  virtual void expect(uint64_t /*bytes*/) {}
  virtual void write(std::span<const std::byte> bytes) = 0;
  /// Writes bytes that stay where they are for as long as somebody has the owner: a sink may write
  /// them later.
  virtual void lend(std::span<const std::byte> bytes,
                    const std::shared_ptr<const void>& /*owner*/) {
    write(bytes);
  }
};

/// Collects everything in memory.
class MemorySink : public ByteSink {
 public:
  void expect(uint64_t bytes) override { bytes_.reserve(bytes); }
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace layline

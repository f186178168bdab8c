// Where written bytes go: a file, memory, or a counter. Writers see nothing more than this.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace layline {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
};

/// Collects everything in memory.
class MemorySink : public ByteSink {
 public:
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace layline

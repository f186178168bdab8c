// Zero-filled memory, aligned for vector loads and with room after its end for the bytes that
// XNNPACK's kernels may read, though not use (XNN_EXTRA_BYTES).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "base/checked.h"

namespace layline {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(uint64_t size) : size_(size) {
    const auto total = checked_add(size, kSlack + kAlignment);
    if (!total) throw std::bad_alloc();
    // calloc takes large blocks straight from the system: untouched pages cost nothing.
    block_.reset(std::calloc(*total, 1));
    if (!block_) throw std::bad_alloc();
    const auto address = reinterpret_cast<uintptr_t>(block_.get());
    data_ = static_cast<std::byte*>(block_.get()) + (-address & (kAlignment - 1));
  }

  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  static constexpr uint64_t kAlignment = 128;  // as for segments in a `.pte`
  static constexpr uint64_t kSlack = 128;

  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  std::unique_ptr<void, Free> block_;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace layline

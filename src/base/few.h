// A list that takes no memory while it is short, for what is made and dropped a million times.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace layline {

template <typename T>
class Few {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  Few() = default;
  explicit Few(size_t count, const T& value = {}) {
    for (size_t i = 0; i < count; ++i) push_back(value);
  }

  void push_back(const T& value) {
    if (size_ < kShort) {
      short_[size_] = value;
    } else {
      if (size_ == kShort) long_.assign(short_.begin(), short_.end());
      long_.push_back(value);
    }
    ++size_;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return size_ <= kShort ? short_.data() : long_.data(); }
  const T* data() const { return size_ <= kShort ? short_.data() : long_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t index) { return data()[index]; }
  const T& operator[](size_t index) const { return data()[index]; }
  T& back() { return data()[size_ - 1]; }

 private:
  static constexpr size_t kShort = 8;
  std::array<T, kShort> short_;
  std::vector<T> long_;  // everything, once that is more
  size_t size_ = 0;
};

}  // namespace layline

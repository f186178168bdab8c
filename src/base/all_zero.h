// Whether bytes are all 0: a model stores caches of zeros, and zero points that are none.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace layline {

/// Bytes that begin with 0, and of which each is equal to the next, are all 0.
inline bool all_zero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace layline

// Mixes one word into a hash, for tables that are looked up often.
#pragma once

#include <cstddef>

namespace layline {

inline size_t mixed(size_t hash, size_t word) {
  return (hash ^ word) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

}  // namespace layline

// Which random graphs a test makes: those of its own seeds, or LAYLINE_GRAPHS of them from
// LAYLINE_SEED.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace layline {

inline uint32_t from_environment(const char* name, uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

inline uint32_t first_seed(uint32_t otherwise = 1) {
  return from_environment("LAYLINE_SEED", otherwise);
}
inline uint32_t graph_count(uint32_t otherwise) {
  return from_environment("LAYLINE_GRAPHS", otherwise);
}

}  // namespace layline

// Where in one arena each buffer lives, so that buffers in use at the same time never overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace layline::pte {

/// A buffer and the steps of the program, both inclusive, between which its bytes matter.
struct BufferLife {
  uint64_t bytes;
  int32_t first_use;
  int32_t last_use;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  ///< one per buffer, multiples of kBufferAlignment
  uint64_t arena_bytes = 0;       ///< the whole arena, slack included
  uint64_t lower_bound = 0;       ///< no plan has a smaller arena: most bytes alive at one step
};

inline constexpr uint64_t kBufferAlignment = 16;

/// Bytes after the last buffer that kernels may read, though not use: XNNPACK's over-read.
inline constexpr uint64_t kOverReadSlack = 64;

/// The smallest of a few plans, or the first that reaches the lower bound. `slack` is added to the
/// end of a non-empty arena.
MemoryPlan plan_memory(const std::vector<BufferLife>& buffers, uint64_t slack = kOverReadSlack);

}  // namespace layline::pte

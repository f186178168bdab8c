#include "pte/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/error.h"

namespace layline::pte {
namespace {

uint64_t align_up(uint64_t bytes) {
  const auto rounded = checked_align(bytes, kBufferAlignment);
  LAYLINE_ASSERT(rounded, "a buffer of 2^64 bytes");
  return *rounded;
}

void add_to(uint64_t& total, uint64_t bytes) {
  LAYLINE_ASSERT(!__builtin_add_overflow(total, bytes, &total), "an arena of 2^64 bytes");
}

using Lives = std::vector<BufferLife>;
/// The key that buffers are sorted by, the least first.
using Key = std::pair<long double, long double>;
using KeyOf = Key (*)(const BufferLife& buffer);

long double size(const BufferLife& buffer) { return static_cast<long double>(buffer.bytes); }
long double birth(const BufferLife& buffer) { return buffer.first_use; }
long double duration(const BufferLife& buffer) {
  return static_cast<long double>(buffer.last_use) - birth(buffer) + 1;
}

Key by_birth(const BufferLife& buffer) { return {birth(buffer), -size(buffer)}; }

/// The buffers sorted by key. Ties are broken by index, so that a plan depends on nothing else.
std::vector<size_t> sorted(const Lives& buffers, KeyOf key) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t index) { return key(buffers[index]); });
  return order;
}

/// For each buffer, the others whose lives meet its own. There are no lists if they would have more
/// than kMostPairs entries, as in a program of ten thousand outputs: they would take all memory.
constexpr size_t kMostPairs = size_t{1} << 22;
using Neighbours = std::vector<std::vector<size_t>>;
std::optional<Neighbours> neighbours_in_time(const Lives& buffers) {
  Neighbours neighbours(buffers.size());
  std::vector<size_t> alive;
  size_t pairs = 0;
  for (size_t born : sorted(buffers, by_birth)) {
    std::erase_if(alive,
                  [&](size_t old) { return buffers[old].last_use < buffers[born].first_use; });
    if ((pairs += alive.size()) > kMostPairs) return std::nullopt;
    for (size_t other : alive) {
      neighbours[other].push_back(born);
      neighbours[born].push_back(other);
    }
    alive.push_back(born);
  }
  return neighbours;
}

/// The most (aligned) bytes alive at one step.
uint64_t most_alive(const Lives& buffers) {
  struct Change {
    uint64_t born = 0, died = 0;
  };
  std::map<int64_t, Change> changes;
  for (const BufferLife& buffer : buffers) {
    add_to(changes[buffer.first_use].born, align_up(buffer.bytes));
    changes[int64_t{buffer.last_use} + 1].died += align_up(buffer.bytes);
  }
  uint64_t alive = 0, most = 0;
  for (const auto& [step, change] : changes) {
    alive -= change.died;
    add_to(alive, change.born);
    most = std::max(most, alive);
  }
  return most;
}

/// Orders in which buffers can be placed, beside that of their births. No one of them is always
/// best: large ones first leaves gaps that small ones fill, but a small buffer that lives long may
/// then sit in the way; by time, a chain of layers goes up and down without a gap.
constexpr KeyOf kOrders[] = {
    [](const BufferLife& buffer) -> Key {
      return {-size(buffer), birth(buffer)};
    },
    [](const BufferLife& buffer) -> Key {
      return {-size(buffer) * duration(buffer), birth(buffer)};
    },
    [](const BufferLife& buffer) -> Key {
      return {-duration(buffer), -size(buffer)};
    },
};

void place(MemoryPlan& plan, size_t index, uint64_t offset, uint64_t bytes) {
  plan.offsets[index] = offset;
  add_to(offset, bytes);
  plan.arena_bytes = std::max(plan.arena_bytes, offset);
}

/// Places buffers one after the other, each in the tightest gap that fits between those alive with
/// it, lowest first.
MemoryPlan place_in_order(const Lives& buffers, KeyOf key, const Neighbours& neighbours) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<bool> placed(buffers.size());
  for (size_t index : sorted(buffers, key)) {
    const uint64_t bytes = align_up(buffers[index].bytes);
    if (bytes == 0) continue;
    std::vector<size_t> others;
    for (size_t other : neighbours[index])
      if (placed[other]) others.push_back(other);
    std::ranges::sort(others, {}, [&](size_t other) { return plan.offsets[other]; });

    uint64_t end = 0;  // where the space taken so far ends, walking up
    std::optional<uint64_t> best_offset;
    uint64_t best_gap = std::numeric_limits<uint64_t>::max();
    for (size_t other : others) {
      const uint64_t start = plan.offsets[other], gap = std::max(start, end) - end;
      if (gap >= bytes && gap < best_gap) {
        best_offset = end;
        best_gap = gap;
      }
      end = std::max(end, start + align_up(buffers[other].bytes));
    }
    place(plan, index, best_offset.value_or(end), bytes);
    placed[index] = true;
  }
  return plan;
}

/// The space that no living buffer takes. It has no end.
class FreeSpace {
 public:
  FreeSpace() { add(0, std::numeric_limits<uint64_t>::max()); }

  /// The offset of the tightest gap that fits, lowest first.
  uint64_t take(uint64_t bytes) {
    const auto tightest = by_size_.lower_bound({bytes, 0});
    LAYLINE_ASSERT(tightest != by_size_.end(), "an arena of 2^64 bytes");
    const auto [size, offset] = *tightest;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(uint64_t offset, uint64_t bytes) {
    auto above = by_offset_.upper_bound(offset);  // there always is one: the space has no end
    if (above->first == offset + bytes) {
      bytes += above->second;
      remove(above->first, above->second);
      above = by_offset_.upper_bound(offset);
    }
    if (above != by_offset_.begin()) {
      const auto [start, size] = *std::prev(above);
      if (start + size == offset) {
        remove(start, size);
        offset = start;
        bytes += size;
      }
    }
    add(offset, bytes);
  }

 private:
  void add(uint64_t offset, uint64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void remove(uint64_t offset, uint64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
};

/// Places buffers in the order of their births, each where place_in_order would. Buffers that were
/// placed earlier and are alive with a buffer are those alive at its birth, so no list of
/// neighbours is needed.
MemoryPlan place_by_time(const Lives& buffers) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  FreeSpace free;
  std::set<std::pair<int32_t, size_t>> alive;  // by death
  for (size_t index : sorted(buffers, by_birth)) {
    const uint64_t bytes = align_up(buffers[index].bytes);
    if (bytes == 0) continue;
    while (!alive.empty() && alive.begin()->first < buffers[index].first_use) {
      const size_t dead = alive.begin()->second;
      free.give_back(plan.offsets[dead], align_up(buffers[dead].bytes));
      alive.erase(alive.begin());
    }
    place(plan, index, free.take(bytes), bytes);
    alive.emplace(buffers[index].last_use, index);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const Lives& buffers, uint64_t slack) {
  for (const BufferLife& buffer : buffers)
    LAYLINE_ASSERT(buffer.first_use <= buffer.last_use, "a buffer that dies before it is born");
  const uint64_t lower_bound = most_alive(buffers);
  std::optional<MemoryPlan> best;
  const auto try_plan = [&](MemoryPlan plan) {
    if (!best || plan.arena_bytes < best->arena_bytes) best = std::move(plan);
    return best->arena_bytes == lower_bound;
  };
  const auto neighbours = neighbours_in_time(buffers);
  const bool is_tight = neighbours && std::ranges::any_of(kOrders, [&](KeyOf key) {
                          return try_plan(place_in_order(buffers, key, *neighbours));
                        });
  if (!is_tight) try_plan(place_by_time(buffers));
  best->lower_bound = lower_bound;
  if (best->arena_bytes != 0) {
    add_to(best->arena_bytes, slack);
    add_to(best->lower_bound, slack);
  }
  return *std::move(best);
}

}  // namespace layline::pte

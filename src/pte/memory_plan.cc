#include "pte/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace layline::pte {
namespace {

uint64_t align_up(uint64_t bytes) {
  uint64_t rounded = 0;
  LAYLINE_ASSERT(!__builtin_add_overflow(bytes, kBufferAlignment - 1, &rounded),
                 "a buffer of 2^64 bytes");
  return rounded / kBufferAlignment * kBufferAlignment;
}

uint64_t checked_sum(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  LAYLINE_ASSERT(!__builtin_add_overflow(a, b, &sum), "an arena of 2^64 bytes");
  return sum;
}

using Lives = std::vector<BufferLife>;
using Before = bool (*)(const BufferLife& a, const BufferLife& b);

bool is_born_first(const BufferLife& a, const BufferLife& b) {
  return a.first_use != b.first_use ? a.first_use < b.first_use : a.bytes > b.bytes;
}

/// Ties are broken by index, so that a plan depends on nothing else.
std::vector<size_t> sorted(const Lives& buffers, Before before) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return before(buffers[a], buffers[b]); });
  return order;
}

/// For each buffer, the others whose lives meet its own. Nothing if that is more than kMostPairs,
/// as in a program of ten thousand outputs: lists of them all would take all memory.
constexpr size_t kMostPairs = size_t{1} << 22;
using Neighbours = std::vector<std::vector<size_t>>;
std::optional<Neighbours> neighbours_in_time(const Lives& buffers) {
  Neighbours neighbours(buffers.size());
  std::vector<size_t> alive;
  size_t pairs = 0;
  for (size_t born : sorted(buffers, is_born_first)) {
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
    Change& birth = changes[buffer.first_use];
    birth.born = checked_sum(birth.born, align_up(buffer.bytes));
    changes[int64_t{buffer.last_use} + 1].died += align_up(buffer.bytes);
  }
  uint64_t alive = 0, most = 0;
  for (const auto& [step, change] : changes) {
    alive = checked_sum(alive - change.died, change.born);
    most = std::max(most, alive);
  }
  return most;
}

int64_t duration(const BufferLife& buffer) {
  return int64_t{buffer.last_use} - buffer.first_use + 1;
}

/// Orders in which buffers can be placed, beside that of their births. No one of them is always
/// best: large ones first leaves gaps that small ones fill, but a small buffer that lives long may
/// then sit in the way; by time, a chain of layers goes up and down without a gap.
constexpr Before kOrders[] = {
    [](const BufferLife& a, const BufferLife& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.first_use < b.first_use;
    },
    [](const BufferLife& a, const BufferLife& b) {
      const auto area = [](const BufferLife& c) {
        return static_cast<long double>(c.bytes) * static_cast<long double>(duration(c));
      };
      return area(a) != area(b) ? area(a) > area(b) : a.first_use < b.first_use;
    },
    [](const BufferLife& a, const BufferLife& b) {
      return duration(a) != duration(b) ? duration(a) > duration(b) : a.bytes > b.bytes;
    },
};

/// Places buffers one after the other, each in the tightest gap that fits between those alive with
/// it, lowest first.
MemoryPlan place_in_order(const Lives& buffers, Before before, const Neighbours& neighbours) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<bool> placed(buffers.size());
  for (size_t index : sorted(buffers, before)) {
    const uint64_t bytes = align_up(buffers[index].bytes);
    if (bytes == 0) continue;
    std::vector<size_t> others;
    for (size_t other : neighbours[index])
      if (placed[other]) others.push_back(other);
    std::sort(others.begin(), others.end(),
              [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; });

    uint64_t end = 0;  // of the space that is taken so far, walking up
    std::optional<uint64_t> best_offset;
    uint64_t best_gap = 0;
    for (size_t other : others) {
      const uint64_t gap = plan.offsets[other] > end ? plan.offsets[other] - end : 0;
      if (gap >= bytes && (!best_offset || gap < best_gap)) {
        best_offset = end;
        best_gap = gap;
      }
      end = std::max(end, plan.offsets[other] + align_up(buffers[other].bytes));
    }
    plan.offsets[index] = best_offset.value_or(end);
    plan.arena_bytes = std::max(plan.arena_bytes, checked_sum(plan.offsets[index], bytes));
    placed[index] = true;
  }
  return plan;
}

/// The space that no living buffer takes, without end.
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
    auto above = by_offset_.upper_bound(offset);
    if (above != by_offset_.end() && above->first == offset + bytes) {
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

/// Places buffers in the order of their births, each where place_in_order would: those placed
/// before it and alive with it are those that live when it is born, so no list of neighbours is
/// needed.
MemoryPlan place_by_time(const Lives& buffers) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  FreeSpace free;
  std::set<std::pair<int32_t, size_t>> alive;  // by death
  for (size_t index : sorted(buffers, is_born_first)) {
    const uint64_t bytes = align_up(buffers[index].bytes);
    if (bytes == 0) continue;
    while (!alive.empty() && alive.begin()->first < buffers[index].first_use) {
      const size_t dead = alive.begin()->second;
      free.give_back(plan.offsets[dead], align_up(buffers[dead].bytes));
      alive.erase(alive.begin());
    }
    plan.offsets[index] = free.take(bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, checked_sum(plan.offsets[index], bytes));
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
  const bool is_tight = neighbours && std::ranges::any_of(kOrders, [&](Before before) {
                          return try_plan(place_in_order(buffers, before, *neighbours));
                        });
  if (!is_tight) try_plan(place_by_time(buffers));
  best->lower_bound = lower_bound;
  if (best->arena_bytes > 0) {
    best->arena_bytes = checked_sum(best->arena_bytes, slack);
    best->lower_bound = checked_sum(best->lower_bound, slack);
  }
  return *std::move(best);
}

}  // namespace layline::pte

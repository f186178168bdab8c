#include "pte/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

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

/// For each buffer, the others whose lives meet its own.
std::vector<std::vector<size_t>> neighbours_in_time(const std::vector<BufferLife>& buffers) {
  std::vector<size_t> by_birth(buffers.size());
  std::iota(by_birth.begin(), by_birth.end(), size_t{0});
  std::stable_sort(by_birth.begin(), by_birth.end(),
                   [&](size_t a, size_t b) { return buffers[a].first_use < buffers[b].first_use; });
  std::vector<std::vector<size_t>> neighbours(buffers.size());
  std::vector<size_t> alive;
  for (size_t born : by_birth) {
    std::erase_if(alive,
                  [&](size_t old) { return buffers[old].last_use < buffers[born].first_use; });
    for (size_t other : alive) {
      neighbours[other].push_back(born);
      neighbours[born].push_back(other);
    }
    alive.push_back(born);
  }
  return neighbours;
}

/// The most (aligned) bytes alive at one step.
uint64_t most_alive(const std::vector<BufferLife>& buffers) {
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

using Lives = std::vector<BufferLife>;

int64_t duration(const BufferLife& buffer) {
  return int64_t{buffer.last_use} - buffer.first_use + 1;
}

/// Orders in which buffers can be placed. No one of them is always best: large ones first leaves
/// gaps that small ones fill, but a small buffer that lives long may then sit in the way; by time,
/// a chain of layers goes up and down without a gap.
struct Order {
  bool (*before)(const BufferLife& a, const BufferLife& b);
};
constexpr Order kOrders[] = {
    {[](const BufferLife& a, const BufferLife& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.first_use < b.first_use;
    }},
    {[](const BufferLife& a, const BufferLife& b) {
      const auto area = [](const BufferLife& c) {
        return static_cast<long double>(c.bytes) * static_cast<long double>(duration(c));
      };
      return area(a) != area(b) ? area(a) > area(b) : a.first_use < b.first_use;
    }},
    {[](const BufferLife& a, const BufferLife& b) {
      return duration(a) != duration(b) ? duration(a) > duration(b) : a.bytes > b.bytes;
    }},
    {[](const BufferLife& a, const BufferLife& b) {
      return a.first_use != b.first_use ? a.first_use < b.first_use : a.bytes > b.bytes;
    }},
};

/// Places buffers one after the other, each in the tightest gap that fits between those alive with
/// it, lowest first. Ties in the order are broken by index, so that the plan depends on nothing
/// else.
MemoryPlan place_in_order(const Lives& buffers, const Order& wanted,
                          const std::vector<std::vector<size_t>>& neighbours) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted.before(buffers[a], buffers[b]); });
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<bool> placed(buffers.size());
  for (size_t index : order) {
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

}  // namespace

MemoryPlan plan_memory(const Lives& buffers, uint64_t slack) {
  for (const BufferLife& buffer : buffers)
    LAYLINE_ASSERT(buffer.first_use <= buffer.last_use, "a buffer that dies before it is born");
  const auto neighbours = neighbours_in_time(buffers);
  const uint64_t lower_bound = most_alive(buffers);
  std::optional<MemoryPlan> best;
  for (const Order& order : kOrders) {
    MemoryPlan plan = place_in_order(buffers, order, neighbours);
    if (!best || plan.arena_bytes < best->arena_bytes) best = std::move(plan);
    if (best->arena_bytes == lower_bound) break;
  }
  best->lower_bound = lower_bound;
  if (best->arena_bytes > 0) {
    best->arena_bytes = checked_sum(best->arena_bytes, slack);
    best->lower_bound = checked_sum(best->lower_bound, slack);
  }
  return *std::move(best);
}

}  // namespace layline::pte

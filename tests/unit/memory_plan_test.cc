#include "pte/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"

namespace layline::pte {
namespace {

bool alive_together(const BufferLife& a, const BufferLife& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

/// The smallest arena: some order of placing each buffer at its lowest free offset gives it,
/// because any plan stays valid when its buffers are moved down in the order of their offsets.
/// Sizes must be multiples of the alignment.
uint64_t smallest_arena(const std::vector<BufferLife>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  uint64_t best = std::numeric_limits<uint64_t>::max();
  do {
    std::vector<uint64_t> offsets(buffers.size());
    uint64_t arena = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      uint64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < i; ++j) {
          const BufferLife& other = buffers[order[j]];
          const uint64_t other_offset = offsets[order[j]];
          if (alive_together(buffers[order[i]], other) && offset < other_offset + other.bytes &&
              other_offset < offset + buffers[order[i]].bytes) {
            offset = other_offset + other.bytes;
            moved = true;
          }
        }
      }
      offsets[order[i]] = offset;
      arena = std::max(arena, offset + buffers[order[i]].bytes);
    }
    best = std::min(best, arena);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

void expect_valid(const std::vector<BufferLife>& buffers, const MemoryPlan& plan, uint64_t slack) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kBufferAlignment, 0u);
    if (buffers[i].bytes > 0) {
      EXPECT_LE(plan.offsets[i] + buffers[i].bytes + slack, plan.arena_bytes);
    }
    for (size_t j = 0; j < i; ++j) {
      if (!alive_together(buffers[i], buffers[j])) continue;
      EXPECT_TRUE(plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] ||
                  plan.offsets[j] + buffers[j].bytes <= plan.offsets[i])
          << i << " and " << j << " overlap";
    }
  }
}

TEST(MemoryPlan, NothingNeedsNothing) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.arena_bytes, 0u);
  EXPECT_EQ(plan.lower_bound, 0u);
  EXPECT_EQ(plan_memory({{0, 0, 9}}).arena_bytes, 0u);
}

TEST(MemoryPlan, AChainNeedsTwoNeighbours) {
  const std::vector<BufferLife> chain{{160, 0, 1}, {320, 1, 2}, {160, 2, 3}, {320, 3, 4}};
  const MemoryPlan plan = plan_memory(chain);
  expect_valid(chain, plan, kOverReadSlack);
  EXPECT_EQ(plan.arena_bytes, 480 + kOverReadSlack);
  EXPECT_EQ(plan.lower_bound, plan.arena_bytes);
}

TEST(MemoryPlan, OffsetsAreAligned) {
  const MemoryPlan plan = plan_memory({{1, 0, 0}, {17, 0, 0}, {16, 0, 0}}, /*slack=*/0);
  EXPECT_EQ(plan.arena_bytes, 16u + 32u + 16u);
}

TEST(MemoryPlan, TheTightestGapIsTaken) {
  // At step 1 two gaps are free below the buffers that outlive it: 64 bytes and 32 bytes.
  const std::vector<BufferLife> buffers{{640, 0, 1}, {64, 0, 0},  {320, 0, 1},
                                        {32, 0, 0},  {160, 0, 1}, {32, 1, 1}};
  const MemoryPlan plan = plan_memory(buffers, 0);
  expect_valid(buffers, plan, 0);
  EXPECT_EQ(plan.arena_bytes, plan.lower_bound);
}

/// As many bytes as live together are enough for each of these, in one order or another: by size,
/// by size and time, by time, or by birth, in gaps that fit exactly and in such as are grown
/// together.
TEST(MemoryPlan, NoOrderIsAlwaysBest) {
  const std::vector<BufferLife> cases[] = {
      {{16, 1, 2}, {64, 4, 7}, {48, 2, 4}},
      {{96, 4, 7}, {48, 1, 3}, {64, 2, 5}, {48, 2, 2}},
      {{64, 0, 3}, {32, 4, 7}, {48, 4, 6}, {64, 3, 4}},
      {{48, 3, 3}, {32, 3, 6}, {64, 5, 7}, {32, 3, 4}},
      {{48, 3, 5}, {64, 1, 2}, {48, 3, 3}, {48, 1, 3}},
      {{80, 5, 6}, {96, 1, 1}, {96, 1, 2}, {48, 2, 4}, {80, 3, 5}},
      {{32, 1, 1}, {48, 1, 4}, {64, 4, 7}, {48, 1, 3}},
      {{64, 2, 3}, {80, 4, 4}, {64, 1, 2}, {16, 3, 4}},
      {{64, 4, 6}, {96, 5, 8}, {96, 2, 4}, {96, 0, 3}},
      {{64, 2, 3}, {64, 0, 2}, {64, 2, 4}, {64, 4, 7}, {80, 5, 8}},
      {{64, 5, 6}, {64, 0, 2}, {96, 4, 7}, {64, 3, 4}, {64, 1, 4}, {80, 2, 2}},
      {{96, 0, 2},
       {96, 5, 8},
       {64, 2, 4},
       {80, 4, 6},
       {48, 1, 1},
       {64, 3, 5},
       {64, 1, 2},
       {0, 1, 3}},
  };
  for (const std::vector<BufferLife>& buffers : cases) {
    uint64_t most = 0;  // alive at one step
    for (int32_t step = 0; step <= 8; ++step) {
      uint64_t alive = 0;
      for (const BufferLife& buffer : buffers)
        if (buffer.first_use <= step && step <= buffer.last_use) alive += buffer.bytes;
      most = std::max(most, alive);
    }
    const MemoryPlan plan = plan_memory(buffers, 0);
    expect_valid(buffers, plan, 0);
    EXPECT_EQ(plan.lower_bound, most);
    EXPECT_EQ(plan.arena_bytes, most) << "case " << &buffers - cases;
  }
}

/// The rules of every order, by what they do: where each of these buffers goes. Some of them show
/// what is done at the border of a rule: a gap that fits exactly, the first of gaps or plans that
/// are equally good, a buffer of no bytes, and space that is whole again when both halves are free.
TEST(MemoryPlan, EveryBufferHasItsPlace) {
  struct Case {
    std::vector<BufferLife> buffers;
    std::vector<uint64_t> offsets;
    uint64_t arena, bound;
  };
  const Case cases[] = {
      {{{96, 0, 0}, {48, 1, 1}, {16, 2, 2}, {80, 4, 4}, {16, 1, 4}, {32, 0, 1}, {32, 3, 4}},
       {0, 0, 0, 0, 80, 96, 96},
       128,
       128},
      {{{96, 1, 1}, {64, 2, 5}, {96, 4, 4}, {80, 1, 2}, {48, 5, 5}, {0, 4, 7}},
       {0, 0, 64, 96, 64, 0},
       176,
       176},
      {{{0, 3, 3}, {80, 5, 5}, {64, 2, 5}, {48, 0, 2}, {80, 0, 0}}, {0, 64, 0, 80, 0}, 144, 144},
      {{{48, 1, 2},
        {64, 1, 2},
        {48, 2, 4},
        {16, 2, 4},
        {80, 4, 4},
        {80, 3, 6},
        {64, 2, 3},
        {16, 0, 1}},
       {80, 16, 192, 0, 96, 16, 128, 0},
       240,
       240},
      {{{16, 2, 4},
        {0, 5, 7},
        {48, 4, 4},
        {0, 2, 2},
        {64, 2, 4},
        {80, 2, 5},
        {96, 3, 6},
        {0, 4, 4}},
       {288, 0, 240, 0, 176, 96, 0, 0},
       304,
       304},
      {{{96, 4, 7}, {64, 2, 5}, {80, 4, 5}, {80, 5, 8}, {32, 5, 6}, {96, 2, 4}, {32, 4, 5}},
       {96, 272, 192, 0, 368, 0, 336},
       400,
       384},
      {{{16, 3, 6}, {16, 1, 2}, {16, 1, 4}, {0, 3, 5}, {16, 3, 4}, {96, 5, 6}},
       {96, 0, 16, 0, 0, 0},
       112,
       112},
      {{{48, 4, 7},
        {80, 3, 4},
        {64, 2, 3},
        {16, 5, 5},
        {64, 5, 8},
        {32, 3, 6},
        {32, 0, 0},
        {16, 5, 7}},
       {80, 0, 80, 64, 0, 144, 0, 128},
       176,
       176},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases);
    const MemoryPlan plan = plan_memory(c.buffers, 0);
    EXPECT_EQ(plan.offsets, c.offsets);
    EXPECT_EQ(plan.arena_bytes, c.arena);
    EXPECT_EQ(plan.lower_bound, c.bound);
  }
}

TEST(MemoryPlan, KernelsMayRead64BytesBehindTheLast) {
  const MemoryPlan plan = plan_memory({{1, 0, 0}});
  EXPECT_EQ(plan.arena_bytes, 80u);
  EXPECT_EQ(plan.lower_bound, 80u);
}

TEST(MemoryPlan, TinyCasesAgainstBruteForce) {
  std::mt19937 random(7);
  int optimal = 0;
  constexpr int kCases = 300;
  for (int i = 0; i < kCases; ++i) {
    std::vector<BufferLife> buffers(1 + random() % 6);
    for (BufferLife& buffer : buffers) {
      buffer.bytes = 16 * (1 + random() % 8);
      buffer.first_use = static_cast<int32_t>(random() % 6);
      buffer.last_use = buffer.first_use + static_cast<int32_t>(random() % 4);
    }
    const MemoryPlan plan = plan_memory(buffers, 0);
    expect_valid(buffers, plan, 0);
    const uint64_t smallest = smallest_arena(buffers);
    EXPECT_LE(plan.lower_bound, smallest);
    EXPECT_GE(plan.arena_bytes, smallest);
    optimal += plan.arena_bytes == smallest;
  }
  EXPECT_GE(optimal, kCases * 9 / 10);
}

TEST(MemoryPlan, ManyBuffersStayValid) {
  std::mt19937 random(11);
  std::vector<BufferLife> buffers(400);
  for (BufferLife& buffer : buffers) {
    buffer.bytes = random() % 5000;
    buffer.first_use = static_cast<int32_t>(random() % 400);
    buffer.last_use = buffer.first_use + static_cast<int32_t>(random() % 20);
  }
  const MemoryPlan plan = plan_memory(buffers);
  expect_valid(buffers, plan, kOverReadSlack);
  EXPECT_LE(plan.arena_bytes, plan.lower_bound * 5 / 4);
  EXPECT_EQ(plan_memory(buffers).offsets, plan.offsets);
}

TEST(MemoryPlan, LongChainsAreQuick) {
  std::vector<BufferLife> buffers;
  for (int32_t i = 0; i < 100'000; ++i) buffers.push_back({1024, i, i + 1});
  EXPECT_EQ(plan_memory(buffers, 0).arena_bytes, 2048u);
}

TEST(MemoryPlan, ManyBuffersThatAllMeetNeedNoListOfPairs) {
  // 10^10 pairs would be 150 GB. Every other buffer dies early, and what comes after it fills its
  // gap exactly.
  constexpr int32_t kCount = 100'000;
  std::vector<BufferLife> buffers;
  for (int32_t i = 0; i < kCount; ++i)
    buffers.push_back({16u * (1u + static_cast<unsigned>(i) % 7), 0, i % 2 == 0 ? 1 : 3});
  for (int32_t i = 0; i < kCount; i += 2) buffers.push_back({buffers[i].bytes, 2, 3});
  const MemoryPlan plan = plan_memory(buffers, 0);
  EXPECT_EQ(plan.arena_bytes, plan.lower_bound);
  for (const int32_t step : {0, 3}) {
    std::vector<std::pair<uint64_t, uint64_t>> places;
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].first_use <= step && step <= buffers[i].last_use)
        places.emplace_back(plan.offsets[i], plan.offsets[i] + buffers[i].bytes);
    std::ranges::sort(places);
    for (size_t i = 1; i < places.size(); ++i) ASSERT_LE(places[i - 1].second, places[i].first);
  }
}

TEST(MemoryPlan, RefusesNonsense) {
  EXPECT_THROW(plan_memory({{16, 3, 2}}), InternalError);
  const uint64_t huge = std::numeric_limits<uint64_t>::max();
  EXPECT_THROW(plan_memory({{huge, 0, 0}}), InternalError);
  EXPECT_THROW(plan_memory({{huge / 2 + 1, 0, 0}, {huge / 2 + 1, 0, 0}}), InternalError);
  EXPECT_THROW(plan_memory({{huge / 2 + 1, 0, 1}, {huge / 2 + 1, 1, 2}}), InternalError);
  EXPECT_THROW(plan_memory({{16, 0, 0}}, huge - 15), InternalError);
  EXPECT_EQ(plan_memory({{16, 0, 0}}, huge - 16).arena_bytes, huge);
}

}  // namespace
}  // namespace layline::pte

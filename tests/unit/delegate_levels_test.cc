// The fewest delegates, by brute force: every way to group the delegated nodes of small random
// graphs is tried, and none that can be run one group after the other has fewer groups.
#include "targets/delegate_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

namespace layline {
namespace {

DelegateGraph random_graph(std::mt19937& random, int nodes) {
  DelegateGraph graph;
  for (int n = 0; n < nodes; ++n) {
    DelegateGraph::Node node{random() % 3 != 0, random() % 5 == 0,
                             static_cast<int64_t>(random() % 9)};
    for (int operand = 0; operand < n; ++operand)
      if (random() % 3 == 0) node.operands.push_back(operand);
    graph.nodes.push_back(node);
  }
  return graph;
}

/// Whether groups, and kernels each by itself, can run one after the other.
bool can_run(const DelegateGraph& graph, const std::vector<int>& group) {
  const size_t count = graph.nodes.size();
  std::vector<std::set<int>> waits_for(count);
  for (size_t n = 0; n < count; ++n)
    for (int operand : graph.nodes[n].operands)
      if (group[static_cast<size_t>(operand)] != group[n])
        waits_for[static_cast<size_t>(group[n])].insert(group[static_cast<size_t>(operand)]);
  std::set<int> pending(group.begin(), group.end());
  while (!pending.empty()) {
    const auto ready = std::ranges::find_if(pending, [&](int g) {
      return std::ranges::none_of(waits_for[static_cast<size_t>(g)],
                                  [&](int other) { return pending.contains(other); });
    });
    if (ready == pending.end()) return false;
    pending.erase(ready);
  }
  return true;
}

/// A number for each group: that of its first node.
int fewest_by_brute_force(const DelegateGraph& graph) {
  std::vector<int> group(graph.nodes.size());
  int fewest = static_cast<int>(graph.nodes.size()) + 1;
  const std::function<void(size_t, std::vector<int>)> choose = [&](size_t n,
                                                                   std::vector<int> groups) {
    if (n == graph.nodes.size()) {
      if (can_run(graph, group)) fewest = std::min(fewest, static_cast<int>(groups.size()));
      return;
    }
    group[n] = static_cast<int>(n);
    if (!graph.nodes[n].delegated) return choose(n + 1, groups);
    for (int known : groups) {
      group[n] = known;
      choose(n + 1, groups);
    }
    group[n] = static_cast<int>(n);
    groups.push_back(group[n]);
    choose(n + 1, groups);
  };
  choose(0, {});
  return fewest;
}

int delegates(const DelegateGraph& graph, const std::vector<int>& levels) {
  std::set<int> used;
  for (size_t n = 0; n < levels.size(); ++n)
    if (graph.nodes[n].delegated) used.insert(levels[n]);
  return static_cast<int>(used.size());
}

/// Delegates and kernels run by level, delegates first: everything is there when it is read.
void expect_runs(const DelegateGraph& graph, const std::vector<int>& levels) {
  for (size_t n = 0; n < levels.size(); ++n) {
    for (int operand : graph.nodes[n].operands) {
      const auto from = static_cast<size_t>(operand);
      const bool next = graph.nodes[n].delegated && !graph.nodes[from].delegated;
      EXPECT_GE(levels[n], levels[from] + (next ? 1 : 0)) << operand << " -> " << n;
    }
  }
}

/// Bytes that are written by one delegate for something outside it.
int64_t crossing(const DelegateGraph& graph, const std::vector<int>& levels) {
  std::set<size_t> leaving;
  for (size_t n = 0; n < levels.size(); ++n) {
    if (graph.nodes[n].delegated && graph.nodes[n].is_output) leaving.insert(n);
    for (int operand : graph.nodes[n].operands) {
      const auto from = static_cast<size_t>(operand);
      if (graph.nodes[from].delegated && (!graph.nodes[n].delegated || levels[n] != levels[from]))
        leaving.insert(from);
    }
  }
  int64_t bytes = 0;
  for (size_t n : leaving) bytes += graph.nodes[n].bytes;
  return bytes;
}

TEST(DelegateLevels, AreTheFewestOfAllPartitions) {
  std::mt19937 random(7);
  int several = 0;
  for (int round = 0; round < 400; ++round) {
    const DelegateGraph graph = random_graph(random, 3 + static_cast<int>(random() % 7));
    std::vector<int> levels = delegate_levels(graph);
    expect_runs(graph, levels);
    const int fewest = fewest_by_brute_force(graph);
    EXPECT_EQ(delegates(graph, levels), fewest) << "round " << round;
    several += fewest > 1;

    const int64_t before = crossing(graph, levels);
    sink_nodes(graph, levels);
    expect_runs(graph, levels);
    EXPECT_LE(delegates(graph, levels), fewest) << "round " << round;
    EXPECT_LE(crossing(graph, levels), before) << "round " << round;
  }
  EXPECT_GT(several, 50);
}

TEST(DelegateLevels, AKernelThatWaitsForNoDelegateRunsBeforeAll) {
  // An embedding, then a network that also has an input of its own.
  const DelegateGraph graph{{{false, false, 8}, {true, false, 8}, {true, true, 8, {0, 1}}}};
  EXPECT_EQ(delegate_levels(graph), (std::vector<int>{0, 1, 1}));
}

TEST(DelegateLevels, AProducerOfMuchGoesToItsUser) {
  // 0 is small; 1 makes much of it, which only 3 reads, after the kernel 2.
  DelegateGraph graph{
      {{true, false, 1}, {true, false, 100, {0}}, {false, false, 1, {0}}, {true, true, 1, {1, 2}}}};
  std::vector<int> levels = delegate_levels(graph);
  EXPECT_EQ(levels, (std::vector<int>{1, 1, 1, 2}));
  sink_nodes(graph, levels);
  EXPECT_EQ(levels, (std::vector<int>{1, 2, 1, 2}));
}

/// 0 and 1 are delegated, then the kernel 2, then 3, which reads 1: 1 may run with either.
std::vector<int> sunk(DelegateGraph::Node zero, DelegateGraph::Node one) {
  const DelegateGraph graph{{zero, one, {false, false, 1, {0}}, {true, true, 1, {1, 2}}}};
  std::vector<int> levels = delegate_levels(graph);
  EXPECT_EQ(levels, (std::vector<int>{1, 1, 1, 2}));
  sink_nodes(graph, levels);
  return levels;
}

TEST(DelegateLevels, ANodeMovesOnlyWhereFewerBytesCross) {
  const std::vector<int> stays{1, 1, 1, 2}, moves{1, 2, 1, 2};
  // 0 crosses in any case, for the kernel: what 1 makes of it is saved.
  EXPECT_EQ(sunk({true, false, 9}, {true, false, 1, {0}}), moves);
  EXPECT_EQ(sunk({true, false, 9}, {true, false, 0, {0}}), stays);
  // An output crosses wherever it is computed.
  EXPECT_EQ(sunk({true, false, 9}, {true, true, 1, {0}}), stays);
}

/// 1 is read only by 2, which is read behind the kernel 3: either crosses.
TEST(DelegateLevels, AnOperandThatOnlyTheNodeReadsCrossesInItsPlace) {
  const auto last = [](int64_t operand, int64_t own, std::vector<int> operands) {
    const DelegateGraph graph{{{true, true, 0},
                               {true, false, operand, {0}},
                               {true, false, own, std::move(operands)},
                               {false, false, 1, {0}},
                               {true, true, 1, {2, 3}}}};
    std::vector<int> levels = {1, 1, 1, 1, 2};
    sink_nodes(graph, levels);
    return levels[2];
  };
  EXPECT_EQ(last(5, 6, {1}), 2);
  EXPECT_EQ(last(6, 6, {1}), 1);
  EXPECT_EQ(last(7, 6, {1}), 1);
  EXPECT_EQ(last(7, 6, {0, 1}), 1);
  // An operand that is read twice crosses once.
  EXPECT_EQ(last(5, 6, {1, 1}), 2);
}

TEST(DelegateLevels, TheFirstNodeMovesLikeAnyOther) {
  const DelegateGraph graph{
      {{true, false, 9}, {true, false, 1}, {false, false, 1, {1}}, {true, true, 1, {0, 2}}}};
  std::vector<int> levels = delegate_levels(graph);
  sink_nodes(graph, levels);
  EXPECT_EQ(levels, (std::vector<int>{2, 1, 1, 2}));
}

TEST(DelegateLevels, AKernelOnTheWayBeginsAnother) {
  // Kernels run after the delegate of their level, and delegates read them from the next on.
  const DelegateGraph graph{{{false, false, 1},
                             {true, false, 1, {0}},
                             {false, false, 1, {1}},
                             {false, false, 1, {2}},
                             {true, false, 1, {3, 1}},
                             {true, true, 1, {4}}}};
  EXPECT_EQ(delegate_levels(graph), (std::vector<int>{0, 1, 1, 1, 2, 2}));
}

TEST(DelegateLevels, WhatNothingReadsStays) {
  const DelegateGraph graph{
      {{true, false, 5}, {true, false, 1}, {false, false, 1, {1}}, {true, true, 1, {2}}}};
  std::vector<int> levels = delegate_levels(graph);
  sink_nodes(graph, levels);
  EXPECT_EQ(levels, (std::vector<int>{1, 1, 1, 2}));
}

}  // namespace
}  // namespace layline

// How many entries the tables of a region take, and that no more are needed.
#include "layout/solve/region_energy.h"

#include <gtest/gtest.h>

#include "layout/candidates.h"
#include "small_graph.h"

namespace layline {
namespace {

/// All ops of a graph that have a choice, and all values at them.
Region whole(const PlacementProblem& problem, Choices& choices) {
  Region region;
  for (NodeIndex n : problem.nodes.indices())
    if (problem.nodes[n].has_choice()) region.nodes.push_back(n);
  for (ValueIndex v : problem.values.indices())
    if (choices.look_at(v).any()) region.values.push_back(v);
  return region;
}

/// The room that is taken is enough, and less is not; the least of the tables is what the orders
/// cost that it stands for.
TEST(RegionEnergy, TakesTheRoomThatItNeeds) {
  PlacementLimits one_table, kept_copies;
  kept_copies.readers_in_one_table = 0;
  kept_copies.entries_in_one_table = 0;
  for (const PlacementLimits& limits : {one_table, kept_copies}) {
    int compared = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
      SmallGraph small(seed, Ops::awkward);
      const TargetOrders target;
      const Candidates candidates(small.graph(), target, limits);
      const PlacementProblem& problem = candidates.problem();
      Choices choices(problem, target.moves);
      const Region region = whole(problem, choices);
      if (region.nodes.empty()) continue;
      constexpr size_t kPlenty = 10'000'000;
      size_t room = kPlenty;
      const auto energy = energy_of(choices, region, limits, {}, room);
      ASSERT_TRUE(energy);
      const size_t taken = kPlenty - room;
      size_t entries = 0;  // but those of the ops themselves
      for (size_t t = region.nodes.size(); t < energy->tables.size(); ++t)
        entries += energy->tables[t].entries.size();
      EXPECT_GE(taken, entries);
      if (energy->domain.size() == region.nodes.size()) {
        EXPECT_EQ(taken, entries);
      }
      room = taken;
      EXPECT_TRUE(energy_of(choices, region, limits, {}, room));
      EXPECT_EQ(room, 0u);
      if (taken == 0) continue;
      room = taken - 1;
      EXPECT_FALSE(energy_of(choices, region, limits, {}, room));
      const Minimum minimum = minimise(*energy);
      if (!minimum.exact()) continue;
      ChosenOrders order(problem.nodes.size(), kSourceOrder);
      for (size_t i = 0; i < region.nodes.size(); ++i)
        order[region.nodes[i]] = OrderIndex(minimum.choice[i]);
      EXPECT_EQ(choices.cost_in(region, order).price(), minimum.cost.price()) << seed;
      ++compared;
    }
    EXPECT_GT(compared, 20);
  }
}

}  // namespace
}  // namespace layline

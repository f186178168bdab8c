// A bound is never above what brute force finds, whatever gives up on the way: limits are set at
// random, from nothing to what they are, and the proof starts from choices that are good, bad or
// any.
#include <gtest/gtest.h>

#include "../seeds.h"
#include "ir/text.h"
#include "placement_brute_force.h"
#include "small_graph.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/passes.h"

namespace layline {
namespace {

using brute_force::price;
using brute_force::Search;

/// Some of the limits are less than they are: each on its own, since one that gives up early hides
/// the others.
PlacementLimits random_limits(Random& random) {
  PlacementLimits limits;
  const auto less = [&](size_t& limit, int64_t most) {
    if (random.chance(4)) limit = static_cast<size_t>(random.between(0, most));
  };
  less(limits.orders, 3);
  less(limits.forms, 4);
  less(limits.joined_orders, 6);
  less(limits.all_orders, 20);
  less(limits.digits, 3);
  less(limits.kept_sets, 4);
  less(limits.readers_in_one_table, 1);
  less(limits.entries_of_own_copies, 3000);
  less(limits.small_tables, 8);
  limits.part_tables = limits.few_ops_tables = limits.small_tables;
  if (random.chance(2)) less(limits.few_ops_tables, 64);
  less(limits.few_ops, 3);
  less(limits.work, 3000);
  less(limits.work_of_op, 3000);
  less(limits.work_of_part_without_proof, 500);
  if (random.chance(3)) limits.rounds = static_cast<int>(random.between(0, 3));
  return limits;
}

/// The cheapest that is found, the orders of the source, or any.
StartAt random_start(Random& random) {
  const int64_t which = random.between(0, 2);
  if (which == 0) return {};
  return [&random, which](const PlacementProblem& problem) {
    ChosenOrders order(problem.nodes.size(), kSourceOrder);
    if (which == 1) return order;
    for (NodeIndex n : order.indices()) {
      const auto last = static_cast<int64_t>(problem.nodes[n].orders.size()) - 1;
      order[n] = OrderIndex(static_cast<size_t>(random.between(0, last)));
    }
    return order;
  };
}

/// What is claimed of random graphs, against brute force.
struct Claims {
  uint32_t graphs = 0;
  uint32_t proved = 0;
  uint32_t abandoned = 0;   // by brute force
  uint32_t improvable = 0;  // dearer than what brute force finds
};

Claims compare(const TargetOrders& target, Ops ops, uint32_t graphs, bool limited) {
  Claims claims;
  const uint32_t first = first_seed();
  for (uint32_t seed = first; seed < first + graph_count(graphs); ++seed) {
    SmallGraph small(seed, ops);
    Random random(seed);
    PlacementLimits limits;
    StartAt start;
    if (limited) {
      limits = random_limits(random);
      start = random_start(random);
    }
    const Placement placement = place(small.graph(), target, true, limits, start);
    const Certificate& certificate = placement.certificate;
    Search search(placement.problem, target);
    const auto told = [&] {
      return fmt::format("LAYLINE_SEED={} LAYLINE_GRAPHS=1\n{}", seed,
                         print(small.graph(), {.elide_constants = true}));
    };
    // What is paid is what the choice costs, and what was paid what the source does.
    EXPECT_EQ(search.price_of(placement.order), price(certificate.cost)) << told();
    EXPECT_EQ(search.price_of(ChosenOrders(placement.order.size(), kSourceOrder)),
              price(certificate.before))
        << told();
    const auto least = search.least(price(certificate.cost));
    ++claims.graphs;
    claims.proved += certificate.optimal();
    claims.abandoned += !least;
    if (!least) continue;
    claims.improvable += *least < price(certificate.cost);
    EXPECT_LE(price(certificate.bound), *least) << told();
    if (certificate.optimal()) {
      EXPECT_EQ(price(certificate.cost), *least) << told();
    }
  }
  EXPECT_LE(claims.abandoned, claims.graphs / 10);
  return claims;
}

/// There is something to get wrong: proofs that end, and choices that are not the best.
void expect_both(const Claims& claims) {
  if (claims.graphs < 100) return;
  EXPECT_GT(claims.proved, claims.graphs / 10);
  EXPECT_GT(claims.improvable, claims.graphs / 50);
}

TEST(Bounds, HoldWhateverGivesUp) { expect_both(compare({}, Ops::whole, 800, true)); }

TEST(Bounds, HoldWhateverGivesUpWhereOpsLackLoops) {
  expect_both(compare({}, Ops::any, 800, true));
}

TEST(Bounds, HoldWhateverGivesUpOnAwkwardGraphs) {
  expect_both(compare({}, Ops::awkward, 600, true));
}

TEST(Bounds, HoldWhateverGivesUpOnXnnpack) {
  expect_both(compare(xnnpack::rules().orders, Ops::awkward, 400, true));
}

/// Cuts that do not agree, many readers and states: all is proved, and what is called optimal is.
TEST(Bounds, AreReachedOnAwkwardGraphs) {
  const Claims claims = compare({}, Ops::awkward, 600, false);
  EXPECT_GE(claims.proved, claims.graphs - claims.graphs / 50);
}

/// What the moves of a graph cost as it stands is what placement begins with, and after it what
/// placement says.
TEST(StandingCost, IsWhatPlacementSays) {
  const uint32_t first = first_seed(), count = graph_count(300);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    SmallGraph small(seed, seed % 2 == 0 ? Ops::any : Ops::awkward);
    const TargetRules rules = xnnpack::rules();
    const TargetOrders& target = rules.orders;
    PassContext context("dead_code", rules, nullptr);
    dead_code(small.graph(), context);  // whose conversions placement counts, and nobody makes
    const Cost before = standing_cost(small.graph(), target);
    const Placement placement = place(small.graph(), target, true);
    EXPECT_EQ(before, placement.certificate.before) << "LAYLINE_SEED=" << seed;
    EXPECT_LE(placement.certificate.cost, before) << "LAYLINE_SEED=" << seed;
    apply_placement(small.graph(), placement);
    EXPECT_EQ(standing_cost(small.graph(), target).price(), placement.certificate.cost.price())
        << "LAYLINE_SEED=" << seed;
  }
}

/// Two placements of one graph: what both saved is what there was before.
TEST(Certificates, OfASecondPlacement) {
  Certificate first, second;
  first.before = {100, 4, 0, 0};
  first.cost = first.bound = {50, 2, 0, 0};
  first.absorbed = 3;
  first.candidates = 30;
  first.regions = 2;
  first.largest_region = 9;
  second.before = {60, 3, 0, 0};
  second.cost = {40, 2, 0, 0};
  second.bound = {40, 1, 0, 0};
  second.absorbed = 1;
  second.candidates = 20;
  second.regions = 5;
  second.largest_region = 7;
  const Certificate both = second.after(first);
  EXPECT_EQ(both.before, (Cost{110, 5, 0, 0})) << "50 and 2 were saved, then 20 and 1";
  EXPECT_EQ(both.cost, second.cost);
  EXPECT_EQ(both.bound, second.bound);
  EXPECT_EQ(both.absorbed, 4U);
  EXPECT_EQ(both.candidates, 30U);
  EXPECT_EQ(both.regions, 5U);
  EXPECT_EQ(both.largest_region, 9U);
  EXPECT_TRUE(first.optimal());
  EXPECT_FALSE(both.optimal()) << "as dear, with a permute more than is needed at least";
}

}  // namespace
}  // namespace layline

// How far placement looks, in numbers: candidates, regions, costs and bounds of small graphs. The
// other tests of placement hold for any number of candidates and any limit; this one notices when
// one more or one less is looked at. Where that is meant, the numbers here are to be changed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "layout/placement.h"
#include "small_graph.h"

namespace layline {
namespace {

/// Costs in which every part of a movement shows.
TargetOrders target() {
  TargetOrders result;
  result.moves.call_ps = 1000;
  result.moves.margin_ps = 100;
  result.moves.byte_ps = 3;
  result.moves.transpose = {.piece = 4, .read_ps = 7, .write_ps = 11, .matrix_ps = 13};
  result.moves.permute = {{{4, 10}, {16, 20}, {64, 50}}};
  result.moves.most_factors = 3;
  result.most_axes = 5;
  // Ops like their results as they are, some more than others.
  result.node_cost = [](const Node& node, const LoopOrder& order, const MoveCosts&) {
    return Cost{order.result.is_view() ? 0 : 100 * (static_cast<int64_t>(node.op()) % 5), 0, 0, 0};
  };
  return result;
}

/// Sums over graphs of one kind. `orders` mixes all that was chosen, and could have been.
std::string numbers(Ops ops, const PlacementLimits& limits) {
  Cost cost, bound;
  size_t candidates = 0, regions = 0, largest = 0, optimal = 0, orders = 0;
  const TargetOrders costs = target();
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SmallGraph small(seed, ops);
    const Placement placement = place(small.graph(), costs, true, limits);
    const Certificate& certificate = placement.certificate;
    cost += certificate.cost;
    bound += certificate.bound;
    candidates += certificate.candidates;
    regions += certificate.regions;
    largest += certificate.largest_region;
    optimal += certificate.optimal();
    for (NodeIndex n : placement.order.indices()) {
      const PlacedNode& node = placement.problem.nodes[n];
      orders = mixed(orders, placement.order[n].number());
      for (const FormIndex form : node.writes) orders = mixed(orders, form.number());
      for (const auto& read : node.reads)
        for (const auto& form : read) orders = mixed(orders, form ? form->number() + 1 : 0);
    }
  }
  return fmt::format(
      "cost {} {} {} {} bound {} {} candidates {} regions {} {} optimal {} orders {:x}",
      cost.time_ps, cost.permutes, cost.views, cost.reordered, bound.time_ps, bound.permutes,
      candidates, regions, largest, optimal, orders & 0xffff);
}

TEST(PlacementNumbers, OfEveryLimit) {
  struct Case {
    const char* what;
    void (*change)(PlacementLimits&);
    std::string_view any, awkward;
  };
  const Case cases[] = {
      {"as they are", [](PlacementLimits&) {},
       "cost 62949 42 50 53 bound 62949 42 "
       "candidates 1133 regions 45 124 optimal 60 orders 61cb",
       "cost 69102 48 56 35 bound 48558 35 "
       "candidates 947 regions 45 113 optimal 46 orders e58d"},
      {"orders", [](PlacementLimits& l) { l.orders = 3; },
       "cost 62949 42 54 52 bound 62949 42 "
       "candidates 1129 regions 45 124 optimal 60 orders 873b",
       "cost 69102 48 57 35 bound 48558 35 "
       "candidates 929 regions 45 113 optimal 46 orders 8b8e"},
      {"forms", [](PlacementLimits& l) { l.forms = 3; },
       "cost 62949 42 53 53 bound 62949 42 "
       "candidates 1169 regions 43 118 optimal 60 orders b387",
       "cost 77451 54 49 29 bound 48558 35 "
       "candidates 942 regions 45 101 optimal 46 orders 6412"},
      {"joined orders", [](PlacementLimits& l) { l.orders = l.joined_orders = 4; },
       "cost 62949 42 53 53 bound 62949 42 "
       "candidates 1133 regions 45 124 optimal 60 orders 4fb4",
       "cost 69102 48 57 35 bound 48558 35 "
       "candidates 935 regions 45 113 optimal 46 orders 970"},
      {"all orders", [](PlacementLimits& l) { l.all_orders = 8; },
       "cost 63218 42 49 54 bound 42601 29 "
       "candidates 632 regions 45 124 optimal 48 orders 6ad7",
       "cost 70599 49 54 32 bound 36825 27 "
       "candidates 584 regions 45 113 optimal 40 orders cbb5"},
      {"digits", [](PlacementLimits& l) { l.digits = 3; },
       "cost 63218 42 49 54 bound 42217 29 "
       "candidates 632 regions 45 124 optimal 48 orders 2aad",
       "cost 70599 49 54 32 bound 36825 27 "
       "candidates 586 regions 45 113 optimal 40 orders 2504"},
      {"sets",
       [](PlacementLimits& l) {
         l.readers_in_one_table = 0;
         l.kept_sets = 3;
       },
       "cost 69019 46 46 49 bound 50327 32 "
       "candidates 1141 regions 45 124 optimal 52 orders 258d",
       "cost 85469 60 46 23 bound 40536 27 "
       "candidates 938 regions 45 113 optimal 41 orders f4de"},
      {"readers in one table", [](PlacementLimits& l) { l.readers_in_one_table = 1; },
       "cost 62949 42 51 52 bound 62949 42 "
       "candidates 1133 regions 45 124 optimal 60 orders cee6",
       "cost 69102 48 56 35 bound 48558 35 "
       "candidates 947 regions 45 113 optimal 46 orders e58d"},
      {"entries in one table", [](PlacementLimits& l) { l.entries_in_one_table = 12; },
       "cost 62949 42 50 53 bound 62949 42 "
       "candidates 1133 regions 45 124 optimal 60 orders 61cb",
       "cost 69102 48 56 35 bound 48558 35 "
       "candidates 947 regions 45 113 optimal 46 orders e58d"},
      {"tables",
       [](PlacementLimits& l) {
         l.small_tables = l.part_tables = l.few_ops_tables = l.large_tables = 8;
       },
       "cost 62949 42 51 52 bound 62949 42 "
       "candidates 1133 regions 45 124 optimal 60 orders b67b",
       "cost 72611 51 54 29 bound 48558 35 "
       "candidates 799 regions 45 113 optimal 46 orders 4478"},
      {"few ops",
       [](PlacementLimits& l) {
         l.small_tables = 4;
         l.part_tables = 16;
         l.few_ops_tables = 64;
         l.few_ops = 2;
       },
       "cost 62949 42 50 53 bound 62949 42 "
       "candidates 1133 regions 45 124 optimal 60 orders 61cb",
       "cost 69102 48 56 35 bound 48558 35 "
       "candidates 947 regions 45 113 optimal 46 orders e58d"},
      {"rounds", [](PlacementLimits& l) { l.rounds = 2; },
       "cost 62949 42 50 53 bound 58809 38 "
       "candidates 1124 regions 45 124 optimal 54 orders 101c",
       "cost 69102 48 56 35 bound 48558 35 "
       "candidates 947 regions 45 113 optimal 46 orders e58d"},
      {"growth",
       [](PlacementLimits& l) {
         l.digits = 2;
         l.growth_without_proof = 1;
       },
       "cost 63309 42 48 51 bound 10138 6 "
       "candidates 468 regions 45 124 optimal 34 orders a23f",
       "cost 70634 49 53 31 bound 6720 5 "
       "candidates 455 regions 45 113 optimal 27 orders 4871"},
      {"work",
       [](PlacementLimits& l) {
         l.work = 9000;
         l.work_of_op = 700;
       },
       "cost 63309 42 48 51 bound 19794 11 "
       "candidates 1008 regions 45 124 optimal 36 orders 500c",
       "cost 70634 49 53 31 bound 23462 15 "
       "candidates 740 regions 45 113 optimal 34 orders af77"},
      {"work without proof",
       [](PlacementLimits& l) {
         l.digits = 2;
         l.work_of_part_without_proof = 900;
       },
       "cost 63309 42 48 51 bound 10635 7 "
       "candidates 468 regions 45 124 optimal 34 orders a23f",
       "cost 70634 49 53 31 bound 6720 5 "
       "candidates 455 regions 45 113 optimal 27 orders 4871"},
  };
  for (const Case& c : cases) {
    PlacementLimits limits;
    c.change(limits);
    EXPECT_EQ(numbers(Ops::any, limits), c.any) << c.what;
    EXPECT_EQ(numbers(Ops::awkward, limits), c.awkward) << c.what;
  }
}

}  // namespace
}  // namespace layline

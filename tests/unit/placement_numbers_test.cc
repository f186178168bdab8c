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
       "cost 64257 42 53 50 bound 64257 42 candidates 1166 regions 45 124 optimal 60 orders 5096",
       "cost 71737 48 56 34 bound 49793 35 candidates 934 regions 45 113 optimal 46 orders 3e76"},
      {"orders", [](PlacementLimits& l) { l.orders = 3; },
       "cost 64257 42 57 49 bound 64257 42 candidates 1163 regions 45 124 optimal 60 orders 80c3",
       "cost 71737 48 57 34 bound 49793 35 candidates 926 regions 45 113 optimal 46 orders 2831"},
      {"forms", [](PlacementLimits& l) { l.forms = 3; },
       "cost 64257 42 54 49 bound 64257 42 candidates 1181 regions 43 118 optimal 60 orders c397",
       "cost 79486 54 49 28 bound 49793 35 candidates 939 regions 45 101 optimal 46 orders c7c"},
      {"joined orders", [](PlacementLimits& l) { l.orders = l.joined_orders = 4; },
       "cost 64257 42 56 50 bound 64257 42 candidates 1166 regions 45 124 optimal 60 orders 2a5f",
       "cost 71737 48 57 34 bound 49793 35 candidates 933 regions 45 113 optimal 46 orders 3cc"},
      {"all orders", [](PlacementLimits& l) { l.all_orders = 8; },
       "cost 65026 42 52 51 bound 42978 29 candidates 624 regions 45 124 optimal 47 orders add1",
       "cost 72901 49 54 33 bound 37498 27 candidates 584 regions 45 113 optimal 40 orders 2d3"},
      {"digits", [](PlacementLimits& l) { l.digits = 3; },
       "cost 65026 42 52 51 bound 42294 29 candidates 624 regions 45 124 optimal 47 orders 6b7a",
       "cost 72901 49 54 33 bound 37498 27 candidates 586 regions 45 113 optimal 40 orders 30f1"},
      {"sets",
       [](PlacementLimits& l) {
         l.readers_in_one_table = 0;
         l.kept_sets = 3;
       },
       "cost 72465 48 46 43 bound 51442 32 candidates 1174 regions 45 124 optimal 52 orders f0ee",
       "cost 87704 60 46 22 bound 41430 27 candidates 938 regions 45 113 optimal 40 orders a769"},
      {"readers in one table", [](PlacementLimits& l) { l.readers_in_one_table = 1; },
       "cost 64257 42 53 50 bound 64257 42 candidates 1166 regions 45 124 optimal 60 orders 5096",
       "cost 71737 48 56 34 bound 49793 35 candidates 934 regions 45 113 optimal 46 orders 3e76"},
      {"entries in one table", [](PlacementLimits& l) { l.entries_in_one_table = 12; },
       "cost 64257 42 53 50 bound 64257 42 candidates 1166 regions 45 124 optimal 60 orders 5096",
       "cost 71737 48 56 34 bound 49793 35 candidates 934 regions 45 113 optimal 46 orders 3e76"},
      {"tables",
       [](PlacementLimits& l) {
         l.small_tables = l.part_tables = l.few_ops_tables = l.large_tables = 8;
       },
       "cost 64257 42 54 49 bound 64257 42 candidates 1166 regions 45 124 optimal 60 orders d660",
       "cost 75619 51 54 29 bound 49793 35 candidates 798 regions 45 113 optimal 46 orders 69a7"},
      {"few ops",
       [](PlacementLimits& l) {
         l.small_tables = 4;
         l.part_tables = 16;
         l.few_ops_tables = 64;
         l.few_ops = 2;
       },
       "cost 64257 42 53 50 bound 64257 42 candidates 1166 regions 45 124 optimal 60 orders 5096",
       "cost 71737 48 56 34 bound 49793 35 candidates 934 regions 45 113 optimal 46 orders 3e76"},
      {"rounds", [](PlacementLimits& l) { l.rounds = 2; },
       "cost 64257 42 53 50 bound 61152 38 candidates 1157 regions 45 124 optimal 55 orders b3a2",
       "cost 71737 48 56 34 bound 49793 35 candidates 934 regions 45 113 optimal 46 orders 3e76"},
      {"growth",
       [](PlacementLimits& l) {
         l.digits = 2;
         l.growth_without_proof = 1;
       },
       "cost 65045 42 51 50 bound 10338 6 candidates 467 regions 45 124 optimal 35 orders feb6",
       "cost 72963 49 52 31 bound 7020 5 candidates 455 regions 45 113 optimal 27 orders 8f14"},
      {"work",
       [](PlacementLimits& l) {
         l.work = 9000;
         l.work_of_op = 700;
       },
       "cost 65045 42 51 50 bound 25129 12 candidates 1049 regions 45 124 optimal 39 orders dc74",
       "cost 72963 49 52 31 bound 30178 19 candidates 855 regions 45 113 optimal 36 orders 3530"},
      {"work without proof",
       [](PlacementLimits& l) {
         l.digits = 2;
         l.work_of_part_without_proof = 900;
       },
       "cost 65045 42 51 50 bound 11135 7 candidates 467 regions 45 124 optimal 35 orders feb6",
       "cost 72963 49 52 31 bound 7020 5 candidates 455 regions 45 113 optimal 27 orders 8f14"},
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

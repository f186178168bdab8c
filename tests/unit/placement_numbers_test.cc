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
    return Cost{order.result.is_view() ? 0 : 100 * (std::ssize(name(node.op())) % 5), 0, 0, 0};
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
       "cost 62044 41 53 51 bound 62044 41 "
       "candidates 1178 regions 45 124 optimal 60 orders c9fa",
       "cost 70254 48 54 36 bound 70254 48 "
       "candidates 1195 regions 45 113 optimal 60 orders 20f1"},
      {"orders", [](PlacementLimits& l) { l.orders = 3; },
       "cost 62044 41 56 51 bound 62044 41 "
       "candidates 1175 regions 45 124 optimal 60 orders 164d",
       "cost 70254 48 55 36 bound 70254 48 "
       "candidates 1195 regions 45 113 optimal 60 orders fe39"},
      {"forms", [](PlacementLimits& l) { l.forms = 3; },
       "cost 62044 41 53 51 bound 62044 41 "
       "candidates 1193 regions 43 118 optimal 60 orders a27a",
       "cost 70254 48 54 36 bound 70254 48 "
       "candidates 1193 regions 45 101 optimal 60 orders 5945"},
      {"joined orders", [](PlacementLimits& l) { l.orders = l.joined_orders = 4; },
       "cost 62044 41 56 51 bound 62044 41 "
       "candidates 1178 regions 45 124 optimal 60 orders e703",
       "cost 70254 48 55 36 bound 70254 48 "
       "candidates 1195 regions 45 113 optimal 60 orders 5814"},
      {"all orders", [](PlacementLimits& l) { l.all_orders = 8; },
       "cost 62813 41 52 52 bound 43902 29 "
       "candidates 656 regions 45 124 optimal 47 orders 96b2",
       "cost 71363 49 51 34 bound 51354 36 "
       "candidates 650 regions 45 113 optimal 50 orders bdd8"},
      {"digits", [](PlacementLimits& l) { l.digits = 3; },
       "cost 62813 41 52 52 bound 44461 30 "
       "candidates 663 regions 45 124 optimal 47 orders 1478",
       "cost 71394 49 51 33 bound 48224 34 "
       "candidates 642 regions 45 113 optimal 49 orders 759b"},
      {"sets",
       [](PlacementLimits& l) {
         l.readers_in_one_table = 0;
         l.kept_sets = 3;
       },
       "cost 68189 45 49 47 bound 50807 33 "
       "candidates 1186 regions 45 124 optimal 53 orders ed46",
       "cost 79316 55 44 29 bound 60007 40 "
       "candidates 1206 regions 45 113 optimal 54 orders bc16"},
      {"own copies",
       [](PlacementLimits& l) {
         l.readers_in_one_table = 0;
         l.kept_sets = 3;
         l.entries_of_own_copies = 0;
       },
       "cost 70585 47 46 45 bound 49406 31 "
       "candidates 1186 regions 45 124 optimal 52 orders d606",
       "cost 86094 60 43 23 bound 53651 35 "
       "candidates 1206 regions 45 113 optimal 48 orders f299"},
      {"readers in one table", [](PlacementLimits& l) { l.readers_in_one_table = 1; },
       "cost 62044 41 53 51 bound 62044 41 "
       "candidates 1178 regions 45 124 optimal 60 orders c9fa",
       "cost 70254 48 54 36 bound 70254 48 "
       "candidates 1195 regions 45 113 optimal 60 orders 20f1"},
      {"entries in one table", [](PlacementLimits& l) { l.entries_in_one_table = 12; },
       "cost 62044 41 53 51 bound 62044 41 "
       "candidates 1178 regions 45 124 optimal 60 orders c9fa",
       "cost 70254 48 54 36 bound 70254 48 "
       "candidates 1195 regions 45 113 optimal 60 orders 20f1"},
      {"tables",
       [](PlacementLimits& l) {
         l.small_tables = l.part_tables = l.few_ops_tables = l.large_tables = 8;
       },
       "cost 62044 41 53 51 bound 62044 41 "
       "candidates 1180 regions 45 124 optimal 60 orders 9e34",
       "cost 70254 48 54 36 bound 67938 46 "
       "candidates 1192 regions 45 113 optimal 58 orders ee13"},
      {"few ops",
       [](PlacementLimits& l) {
         l.small_tables = 4;
         l.part_tables = 16;
         l.few_ops_tables = 64;
         l.few_ops = 2;
       },
       "cost 62044 41 53 51 bound 62044 41 "
       "candidates 1178 regions 45 124 optimal 60 orders c9fa",
       "cost 70254 48 54 36 bound 70254 48 "
       "candidates 1195 regions 45 113 optimal 60 orders 20f1"},
      {"rounds", [](PlacementLimits& l) { l.rounds = 2; },
       "cost 62044 41 53 51 bound 59138 37 "
       "candidates 1165 regions 45 124 optimal 55 orders 9cc9",
       "cost 70254 48 54 36 bound 70254 48 "
       "candidates 1195 regions 45 113 optimal 60 orders 20f1"},
      {"growth",
       [](PlacementLimits& l) {
         l.digits = 2;
         l.growth_without_proof = 1;
       },
       "cost 62813 41 52 52 bound 19776 13 "
       "candidates 492 regions 45 124 optimal 34 orders 260f",
       "cost 71394 49 51 33 bound 19370 14 "
       "candidates 463 regions 45 113 optimal 33 orders 5cc8"},
      {"work",
       [](PlacementLimits& l) {
         l.work = 9000;
         l.work_of_op = 700;
       },
       "cost 62813 41 52 52 bound 36709 20 "
       "candidates 1070 regions 45 124 optimal 47 orders 6a52",
       "cost 71394 49 51 33 bound 32737 21 "
       "candidates 1118 regions 45 113 optimal 41 orders e114"},
      {"work without proof",
       [](PlacementLimits& l) {
         l.digits = 2;
         l.work_of_part_without_proof = 900;
       },
       "cost 62813 41 52 52 bound 20273 14 "
       "candidates 492 regions 45 124 optimal 34 orders 260f",
       "cost 71394 49 51 33 bound 19370 14 "
       "candidates 463 regions 45 113 optimal 33 orders 5cc8"},
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

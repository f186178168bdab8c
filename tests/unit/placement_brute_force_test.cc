// Placement against a search through all legal loop orders of small graphs, not only the candidates
// that it was given: a missing candidate shows as a cheaper graph, a wrong proof as a bound that is
// too high.
#include "placement_brute_force.h"

#include <gtest/gtest.h>

#include "../seeds.h"
#include "ir/text.h"
#include "small_graph.h"
#include "targets/xnnpack/xnnpack_rules.h"

namespace layline {
namespace {

using brute_force::price;
using brute_force::Search;

/// Compares on graphs of consecutive seeds; LAYLINE_SEED and LAYLINE_GRAPHS choose others. The cost
/// must be equal whether it is proved or not: no order is missing.
void compare(const TargetOrders& target, Ops ops, uint32_t graphs) {
  const uint32_t first = first_seed();
  const uint32_t count = graph_count(graphs);
  uint32_t unproved = 0, abandoned = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    SmallGraph small(seed, ops);
    const Placement placement = place(small.graph(), target, true);
    const PlacementProblem& problem = placement.problem;
    const Certificate& certificate = placement.certificate;
    EXPECT_LE(price(certificate.bound), price(certificate.cost));
    EXPECT_LE(price(certificate.cost), price(certificate.before));
    unproved += !certificate.optimal();
    Search search(problem, target);
    const auto least = search.least(price(certificate.cost));
    abandoned += !least;
    if (!least || *least == price(certificate.cost)) continue;
    EXPECT_LE(price(certificate.bound), *least);
    std::string report = fmt::format(
        "LAYLINE_SEED={} LAYLINE_GRAPHS=1: {} ps in {} permutes, but {} in {} are possible{}\n{}",
        seed, certificate.cost.time_ps, certificate.cost.permutes, least->first, least->second,
        certificate.optimal() ? "" : " (unproved)",
        print(small.graph(), {.elide_constants = true}));
    for (const auto& [node, order] : search.choice()) {
      report += fmt::format("  {}:", node->result()->name());
      for (const Relayout& operand : order.operands) report += " " + to_string(operand) + " ;";
      report += " gives " + to_string(order.result) + "\n";
    }
    ADD_FAILURE() << report;
  }
  EXPECT_LE(unproved, count / 200);
  EXPECT_LE(abandoned, count / 20);
}

TEST(BruteForce, PlacementIsTheCheapestOfAllOrders) { compare({}, Ops::whole, 1000); }

TEST(BruteForce, PlacementIsTheCheapestWhereOpsLackLoops) { compare({}, Ops::any, 1000); }

TEST(BruteForce, PlacementIsTheCheapestOnXnnpack) {
  compare(xnnpack::rules().orders, Ops::whole, 500);
}

TEST(BruteForce, PlacementIsTheCheapestWhereOpsLackLoopsOnXnnpack) {
  compare(xnnpack::rules().orders, Ops::any, 500);
}

}  // namespace
}  // namespace layline

// Minimum cuts against trying everything.
#include "layout/min_cut.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <limits>

#include "random_op.h"

namespace layline {
namespace {

bool side(const CutPort& port, unsigned orders) {
  return port.node < 0 ? port.side : port.side != ((orders >> port.node & 1) != 0);
}

int64_t cost_of(const CutProblem& problem, unsigned orders) {
  int64_t cost = 0;
  for (int node = 0; node < problem.nodes; ++node)
    if (orders >> node & 1) cost += problem.second_order_cost[static_cast<size_t>(node)];
  for (const CutValue& value : problem.values) {
    const bool written = side(value.producer, orders);
    const bool copied = std::ranges::any_of(
        value.readers, [&](const CutPort& reader) { return side(reader, orders) != written; });
    if (copied) cost += written ? value.to_a : value.to_b;
  }
  return cost;
}

/// Each value is written by one op, or fixed, and read by some later ones, or outputs. With
/// `flipped` the sides of a port depend on its op and its value; without, they are random and
/// nearly always frustrated.
CutProblem random_problem(Random& random, bool flipped) {
  CutProblem problem;
  problem.nodes = static_cast<int>(random.between(1, 9));
  std::vector<bool> flips;
  for (int node = 0; node < problem.nodes; ++node) {
    problem.second_order_cost.push_back(random.chance(2) ? 0 : random.between(-6, 6));
    flips.push_back(random.chance(2));
  }
  for (int node = -1; node < problem.nodes; ++node) {
    CutValue value;
    const bool flip = random.chance(2);
    const auto port = [&](int of) {
      const bool fixed = random.chance(5);
      const bool own =
          of < 0 || fixed || !flipped ? random.chance(2) : flip != flips[static_cast<size_t>(of)];
      return CutPort{fixed ? -1 : of, own};
    };
    value.producer = port(node);
    for (int64_t i = random.between(0, 4); i > 0; --i)
      value.readers.push_back(port(static_cast<int>(random.between(-1, problem.nodes - 1))));
    value.to_a = random.between(0, 9);
    value.to_b = random.between(0, 9);
    problem.values.push_back(std::move(value));
  }
  return problem;
}

void expect_minimum(const CutProblem& problem, const Cut& cut) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (unsigned orders = 0; orders < 1u << problem.nodes; ++orders)
    least = std::min(least, cost_of(problem, orders));
  unsigned chosen = 0;
  for (int node = 0; node < problem.nodes; ++node)
    chosen |= static_cast<unsigned>(cut.order[static_cast<size_t>(node)]) << node;
  ASSERT_EQ(cut.cost, least);
  ASSERT_EQ(cost_of(problem, chosen), least);
}

TEST(MinimumCut, IsTheMinimum) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const CutProblem problem = random_problem(random, true);
    const auto cut = minimum_cut(problem);
    ASSERT_TRUE(cut);
    expect_minimum(problem, *cut);
  }
}

TEST(MinimumCut, IsTheMinimumOrRefusesWhereSidesDisagree) {
  int refused = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const CutProblem problem = random_problem(random, false);
    const auto cut = minimum_cut(problem);
    refused += !cut;
    if (cut) expect_minimum(problem, *cut);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 1500);
}

}  // namespace
}  // namespace layline

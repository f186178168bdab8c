// The placement problem of a graph: its indices agree with each other.
#include "layout/placement_problem.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "layout/candidates.h"
#include "layout/placement.h"
#include "small_graph.h"

namespace layline {
namespace {

/// Every node is the producer of its result, and the reader of its operands.
void expect_agreement(const PlacementProblem& problem) {
  for (NodeIndex n : problem.nodes.indices()) {
    const PlacedNode& node = problem.nodes[n];
    EXPECT_EQ(problem.values[node.result].producer, n);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (!node.operands[i]) continue;
      const PlacedValue& value = problem.values[node.operands[i]->value];
      ASSERT_LT(node.operands[i]->reader, value.readers.size());
      EXPECT_EQ(value.readers[node.operands[i]->reader].node, n);
      EXPECT_EQ(value.readers[node.operands[i]->reader].operand, i);
    }
  }
}

TEST(PlacementProblem, IndicesAgree) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SmallGraph small(seed, Ops::awkward);
    expect_agreement(Candidates::source(small.graph(), TargetOrders{}));
  }
}

/// The relayout before the state is an op of its own, because the two cannot be composed. It is
/// found only when the state is, and the two must not be taken for one another.
TEST(PlacementProblem, AStateIsWrittenThroughRelayoutsThatAreNotOne) {
  Graph graph = parse_graph(R"(graph "test" {
  input "x" %x : f32[6]
  state "s" %s = f32[6] splat 0
  %y = add(%x, %s)
  %a = relayout(%y) { relayout = [6] (2,3)->(1,0) [6] }
  %b = relayout(%a) { relayout = [6] (2,3)->(1,0) [6] }
  output "y" %y
  write %b to %s
})",
                            "test");
  const PlacementProblem problem = Candidates::source(graph, {});
  ASSERT_EQ(problem.nodes.size(), 3u);
  expect_agreement(problem);
  const Cost before = standing_cost(graph, {});
  const Placement placement = place(graph, {}, true);
  EXPECT_EQ(placement.certificate.before, before);
  apply_placement(graph, placement);
  EXPECT_EQ(standing_cost(graph, {}).price(), placement.certificate.cost.price());
}

}  // namespace
}  // namespace layline

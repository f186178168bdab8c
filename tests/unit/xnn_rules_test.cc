// What placement is told of XNNPACK's ops: which orders cost more than moving data, and how much.
#include "targets/xnnpack/xnnpack_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "layout/loop_order.h"

namespace layline::xnnpack {
namespace {

/// Round numbers: 1000 ps a call and 7 ps of margin; a transpose costs 10 ps for each element that
/// it writes; runs of bytes cost 1 ps a byte, and 100 ps at least.
Profile profile() {
  Profile profile;
  profile.moves.call_ps = 1000;
  profile.moves.margin_ps = 7;
  profile.moves.transpose = {1, 0, 10, 0};
  profile.moves.slice.points = {{100, 100}};
  profile.moves.concat.points = {{50, 100}, {100, 100}};
  return profile;
}

Cost cost_of(std::string_view body, bool swapped = false) {
  const Graph graph =
      parse_graph(fmt::format("graph \"test\" {{\n{}\noutput \"y\" %y\n}}", body), "test");
  const TargetRules target = rules(profile());
  const Node& node = *graph.outputs()[0].value->def();
  LoopOrder order = source_order(node);
  order.swapped = swapped;
  return target.orders.node_cost(node, order, target.orders.moves);
}

TEST(XnnRules, ASoftmaxIsMovedThereAndBack) {
  const auto softmax = [](std::string_view shape, int axis) {
    return cost_of(
               fmt::format("input \"x\" %x : f32{} %y = softmax(%x) {{ axis = {} }}", shape, axis))
        .time_ps;
  };
  EXPECT_EQ(softmax("[2,3,4]", 2), 0);
  EXPECT_EQ(softmax("[2,3,4]", 1), 2 * (1007 + 24 * 10));
  EXPECT_EQ(softmax("[2,3,4]", 0), 2 * (1007 + 24 * 10));
  // Nothing is inside: the axis is the last in memory.
  EXPECT_EQ(softmax("[2,3,1]", 1), 0);
}

TEST(XnnRules, ShortRunsCostMoreThanOnePiece) {
  // 24 floats, 96 bytes, in one piece: 100 ps. In six runs of 16 bytes: 100 ps each.
  EXPECT_EQ(
      cost_of("input \"x\" %x : f32[7,4] %y = slice(%x) { start = [1,0], size = [6,4], step = "
              "[1,1] }")
          .time_ps,
      0);
  EXPECT_EQ(
      cost_of("input \"x\" %x : f32[6,5] %y = slice(%x) { start = [0,1], size = [6,4], step = "
              "[1,1] }")
          .time_ps,
      500);
  EXPECT_EQ(
      cost_of("input \"x\" %x : f32[6,5] %y = slice(%x) { start = [0,1], size = [6,4], step = "
              "[1,1] }"),
      (Cost{500, 0, 0, 0}));
  // One piece of the only axis.
  EXPECT_EQ(
      cost_of("input \"x\" %x : f32[7] %y = slice(%x) { start = [0], size = [6], step = [1] }"),
      Cost{});
  // The innermost axis that is cut decides.
  EXPECT_EQ(
      cost_of("input \"x\" %x : f32[7,5] %y = slice(%x) { start = [1,1], size = [6,4], step = "
              "[1,1] }")
          .time_ps,
      500);
  EXPECT_EQ(
      cost_of("input \"x\" %x : f32[6,4] %y = slice(%x) { start = [0,0], size = [6,4], step = "
              "[1,1] }")
          .time_ps,
      0);
  // Of half floats a run has half the bytes: 48 in six runs, or in one piece of 100 ps.
  EXPECT_EQ(
      cost_of("input \"x\" %x : f16[6,5] %y = slice(%x) { start = [0,1], size = [6,4], step = "
              "[1,1] }")
          .time_ps,
      500);
}

TEST(XnnRules, EveryPartOfAConcatenationIsCopied) {
  const auto joined = [](int axis) {
    return cost_of(
               fmt::format("input \"x\" %x : f32[6,4] %y = concat(%x, %x) {{ axis = {} }}", axis))
        .time_ps;
  };
  EXPECT_EQ(joined(0), 0);
  EXPECT_EQ(joined(1), 2 * 500);
}

TEST(XnnRules, AConstantOnTheLeftMakesXnnpackPackTheOther) {
  const auto product = [](std::string_view a, std::string_view b, bool swapped = false) {
    const auto made = [](std::string_view name, std::string_view shape) {
      return shape.starts_with('=') ? fmt::format("%{} = constant() {{ data = f32{} splat 1 }} ",
                                                  name, shape.substr(1))
                                    : fmt::format("input \"{0}\" %{0} : f32{1} ", name, shape);
    };
    return cost_of(made("a", a) + made("b", b) + "%y = matmul(%a, %b)", swapped).time_ps;
  };
  EXPECT_EQ(product("[1,2,3]", "[1,3,4]"), 0);
  EXPECT_EQ(product("[1,2,3]", "=[1,3,4]"), 0);
  // 12 elements are transposed, without a call of its own.
  EXPECT_EQ(product("=[1,2,3]", "[1,3,4]"), 12 * 10);
  // A row has nothing to transpose, but is packed: the least that is more than nothing.
  EXPECT_EQ(product("=[1,2,3]", "[1,3,1]"), 1);
  EXPECT_EQ(cost_of("%a = constant() { data = f32[1,2,3] splat 1 } input \"b\" %b : f32[1,3,4] "
                    "%y = matmul(%a, %b)"),
            (Cost{120, 0, 0, 0}));
  // Turned around, the second is the left one.
  EXPECT_EQ(product("=[1,2,3]", "[1,3,4]", true), 0);
  EXPECT_EQ(product("[1,2,3]", "=[1,3,4]", true), 6 * 10);
}

TEST(XnnRules, IndicesAreAListOrOfRows) {
  const auto gathered = [](std::string_view data, std::string_view index, int axis) {
    return cost_of(fmt::format("input \"x\" %x : f32{} input \"i\" %i : i64{} "
                               "%y = gather(%x, %i) {{ axis = {} }}",
                               data, index, axis))
        .is_forbidden();
  };
  EXPECT_FALSE(gathered("[4,3]", "[2]", 1));
  EXPECT_FALSE(gathered("[4,3]", "[2,2]", 0));
  EXPECT_TRUE(gathered("[4,3]", "[2,2]", 1));
  EXPECT_TRUE(gathered("[4,3,2]", "[2,2]", 0));
  EXPECT_TRUE(gathered("[4]", "[2,2]", 0));
}

TEST(XnnRules, OtherOpsCostNothing) {
  EXPECT_EQ(cost_of("input \"x\" %x : f32[4] %y = tanh(%x)"), Cost{});
}

TEST(XnnRules, TensorsHaveSixAxes) {
  EXPECT_EQ(rules().orders.most_axes, 6u);
  EXPECT_EQ(rules().orders.moves.most_factors, 6u);
}

}  // namespace
}  // namespace layline::xnnpack

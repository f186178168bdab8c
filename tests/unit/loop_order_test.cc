#include "layout/loop_order.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>

#include "algebra/relayout.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "make_tensor.h"
#include "random_op.h"

namespace layline {
namespace {

Tensor moved(const Relayout& relayout, const Tensor& x) {
  return evaluate_op(Op::relayout, {&x, 1}, RelayoutAttrs{relayout});
}

/// Sums of rounded numbers depend on their order; those of small integers do not.
double tolerance(Op op) {
  return op == Op::softmax || op == Op::log_softmax || op == Op::normalize ? 1e-5 : 0;
}

/// The law of LoopOrder on one set of operands, and that of cross.
void expect_law(const OpInstance& instance, int port, const Relayout& relayout,
                const LoopOrder& order) {
  const Node& node = *instance.node;
  ASSERT_EQ(order.operands.size(), instance.operands.size());
  const Relayout& own =
      port == kResultPort ? order.result : order.operands[static_cast<size_t>(port)];
  EXPECT_TRUE(own.moves_like(relayout)) << to_string(own);
  EXPECT_EQ(own.source(), relayout.source());
  std::vector<Tensor> operands;
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    ASSERT_EQ(order.operands[i].source(), instance.operands[i].type().shape);
    operands.push_back(moved(order.operands[i], instance.operands[i]));
  }
  if (order.swapped) std::swap(operands[0], operands[1]);
  const Tensor expected = moved(order.result, evaluate_node(node, instance.operands));
  expect_near(evaluate_op(node.op(), operands, order.attributes), expected, tolerance(node.op()));
}

/// Crosses and checks whatever comes of it; returns whether anything did.
bool crosses(const OpInstance& instance, int port, const Relayout& relayout) {
  const auto orders = cross(*instance.node, port, relayout);
  for (const LoopOrder& order : orders) expect_law(instance, port, relayout, order);
  if (testing::Test::HasFailure())
    ADD_FAILURE() << print(*instance.graph) << "port " << port << " " << to_string(relayout);
  return !orders.empty();
}

enum Kind { kPermutation, kView, kDigits };

/// Which relayouts of any port an op must let through.
bool must_cross(const Node& node, Kind kind) {
  if (node.is(Op::grid_sample) || node.is(Op::causal_attention) || node.is(Op::counted_slice) ||
      node.is(Op::scan))
    return false;
  if (kind == kView || is_elementwise(node.op())) return true;
  switch (node.op()) {
    case Op::expand:
      return true;
    case Op::gather:
    case Op::linear:
    case Op::matmul:
    case Op::conv:
    case Op::conv_transpose:
    case Op::max_pool:
    case Op::avg_pool:
    case Op::resize:
      return false;
    case Op::normalize:
    case Op::flip:
    case Op::choose_scale:
    case Op::choose_zero_point:
      return true;
    default:
      return kind == kPermutation || std::holds_alternative<AxesAttrs>(node.attributes());
  }
}

TEST(LoopOrderLaw, HoldsForEveryOpAndRelayout) {
  constexpr int kInstances = 250;
  std::map<std::string_view, std::array<std::pair<int, int>, 3>> crossed;  // of tried, per kind
  for (const OpInfo& row : all_ops()) {
    if (row.op == Op::constant || row.op == Op::relayout) continue;
    RandomOps ops(static_cast<uint32_t>(row.op) + 1, RandomOps::Types::some_quantised);
    for (int i = 0; i < kInstances; ++i) {
      const auto instance = ops.instance(row.op);
      ASSERT_TRUE(instance) << row.name << " has no generator in random_op.h";
      for (int port = kResultPort; port < instance->node->operand_count(); ++port) {
        const Shape& shape = port_shape(*instance->node, port);
        if (element_count(shape).is_zero()) continue;
        const Relayout relayouts[] = {ops.permutation(shape), ops.view(shape),
                                      ops.digit_permutation(shape)};
        for (const Kind kind : {kPermutation, kView, kDigits}) {
          auto& [count, of] = crossed[row.name][kind];
          const bool through = crosses(*instance, port, relayouts[kind]);
          count += through, ++of;
          EXPECT_TRUE(through || !must_cross(*instance->node, kind))
              << print(*instance->graph) << "port " << port << " " << to_string(relayouts[kind]);
          if (HasFailure()) return;
        }
      }
    }
  }
  for (const auto& [name, kinds] : crossed) {
    // Nothing passes grid_sample.
    for (const auto& [count, of] : kinds)
      EXPECT_TRUE(count * 10 > of || name == "grid_sample") << name;
    if (std::getenv("LAYLINE_SHOW_COUNTS"))
      fmt::print("{:16} permutation {}/{} view {}/{} digits {}/{}\n", name, kinds[0].first,
                 kinds[0].second, kinds[1].first, kinds[1].second, kinds[2].first, kinds[2].second);
  }
}

/// Nothing is moved for nothing.
TEST(LoopOrderLaw, TheIdentityGivesTheSourceOrder) {
  for (const OpInfo& row : all_ops()) {
    if (row.op == Op::constant || row.op == Op::relayout) continue;
    RandomOps ops(static_cast<uint32_t>(row.op) + 200, RandomOps::Types::some_quantised);
    for (int i = 0; i < 40; ++i) {
      const auto instance = ops.instance(row.op);
      ASSERT_TRUE(instance);
      const Node& node = *instance->node;
      for (int port = kResultPort; port < node.operand_count(); ++port) {
        const Shape& shape = port_shape(node, port);
        if (element_count(shape).is_zero()) continue;
        const auto orders = cross(node, port, Relayout::identity(shape));
        EXPECT_TRUE(std::ranges::any_of(
            orders, [&](const LoopOrder& order) { return order.moves_like(source_order(node)); }))
            << print(*instance->graph) << "port " << port;
      }
    }
  }
}

// --- what must cross, and what must not ----------------------------------------------------------

/// One node from the text form, e.g. "x : f32[2,3]" ... "concat(%a, %b) { axis = 1 }".
OpInstance instance_of(const std::vector<std::string>& types, std::string_view node) {
  std::string text = "graph \"test\" {\n";
  for (size_t i = 0; i < types.size(); ++i)
    text += fmt::format("  input \"x{0}\" %x{0} : {1}\n", i, types[i]);
  text += fmt::format("  %y = {} @1\n  output \"y\" %y\n  origin @1 \"y\" \"\" \"\"\n}}\n", node);
  OpInstance result{std::make_unique<Graph>(parse_graph(text, "test")), nullptr, {}};
  result.node = result.graph->outputs()[0].value->def();
  for (const GraphInput& input : result.graph->inputs()) {
    if (!is_static(input.value->shape())) continue;
    Tensor tensor(input.value->type());
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_int(i, (i * 7 + 3) % 11 - 5);
    result.operands.push_back(std::move(tensor));
  }
  return result;
}

struct Case {
  const char* what;
  std::vector<std::string> types;
  const char* node;
  int port;
  const char* relayout;
};

constexpr const char* kConv =
    "conv(%x0, %x1) { stride = [1,1], dilation = [1,1], low = [1,1], high = [1,1] }";
constexpr const char* kGrouped =
    "conv(%x0, %x1, %x2) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], groups = 4 "
    "}";
constexpr const char* kPool =
    "max_pool(%x0) { kernel = [2,2], stride = [2,2], dilation = [1,1], low = [0,0], high = [0,0] }";

TEST(LoopOrder, MustCross) {
  const Case cases[] = {
      {"chunk before a head split",
       {"f32[2,5,24]"},
       "slice(%x0) { start = [0,0,8], size = [2,5,8], step = [1,1,1] }",
       0,
       "[2,5,24] (2,5,3,2,4)->(2,0,3,1,4) [3,2,2,5,4]"},
      {"a chunk's result, split into heads",
       {"f32[2,5,24]"},
       "slice(%x0) { start = [0,0,8], size = [2,5,8], step = [1,1,1] }",
       kResultPort,
       "[2,5,8] (2,5,2,4)->(0,2,1,3) [2,2,5,4]"},
      {"equal concat parts",
       {"f32[2,4]", "f32[2,4]"},
       "concat(%x0, %x1) { axis = 1 }",
       kResultPort,
       "[2,8] (2,2,4)->(1,0,2) [2,2,4]"},
      {"concat parts that share a factor",
       {"f32[2,4]", "f32[2,6]"},
       "concat(%x0, %x1) { axis = 1 }",
       0,
       "[2,4] (2,2,2)->(2,0,1) [2,2,2]"},
      {"concat parts, factors exchanged",
       {"f32[2,4]", "f32[2,4]"},
       "concat(%x0, %x1) { axis = 1 }",
       0,
       "[2,4] (2,2,2)->(0,2,1) [2,4]"},
      {"padding by whole inner factors",
       {"f32[2,4]"},
       "pad(%x0) { low = [0,2], high = [0,4], mode = constant, value = 9 }",
       0,
       "[2,4] (2,2,2)->(2,0,1) [2,2,2]"},
      {"roll by whole inner factors",
       {"f32[2,8]"},
       "roll(%x0) { axes = [1], shifts = [4] }",
       0,
       "[2,8] (2,4,2)->(2,0,1) [2,2,4]"},
      {"softmax, its axis permuted within itself",
       {"f32[3,6]"},
       "softmax(%x0) { axis = 1 }",
       0,
       "[3,6] (3,2,3)->(2,1,0) [6,3]"},
      {"softmax, its axis cut by a view",
       {"f32[3,5,6]"},
       "softmax(%x0) { axis = 2 }",
       0,
       "[3,5,6] (3,5,6)->(1,0,2) [5,3,2,3]"},
      {"normalize over axes that are merged",
       {"f32[2,3,4]"},
       "normalize(%x0) { axes = [1,2], eps = 1 }",
       0,
       "[2,3,4] (2,3,4)->(2,1,0) [12,2]"},
      {"reduction over a split axis",
       {"f32[3,8]"},
       "reduce_sum(%x0) { axes = [1] }",
       0,
       "[3,8] (3,2,4)->(2,0,1) [4,3,2]"},
      {"reduction, from the result",
       {"f32[2,4,4,3]"},
       "reduce_mean(%x0) { axes = [1,2] }",
       kResultPort,
       "[2,1,1,3] (2,3)->(1,0) [3,2,1,1]"},
      {"reduction whose kept dims are dropped",
       {"f32[2,4,4,3]"},
       "reduce_mean(%x0) { axes = [1,2] }",
       kResultPort,
       "[2,1,1,3] -> [2,3]"},
      {"flip of a split axis",
       {"f32[3,8]"},
       "flip(%x0) { axes = [1] }",
       0,
       "[3,8] (3,2,4)->(2,0,1) [4,3,2]"},
      {"SE gate",
       {"f32[2,4,4,3]", "f32[2,1,1,3]"},
       "mul(%x0, %x1)",
       0,
       "[2,4,4,3] (2,16,3)->(0,2,1) [2,3,4,4]"},
      {"SE gate, from the gate",
       {"f32[2,4,4,3]", "f32[2,1,1,3]"},
       "mul(%x0, %x1)",
       1,
       "[2,1,1,3] -> [2,3,1,1]"},
      {"per-channel constant",
       {"f32[2,3,4,4]", "f32[3,1,1]"},
       "add(%x0, %x1)",
       kResultPort,
       "[2,3,4,4] (2,3,16)->(0,2,1) [2,4,4,3]"},
      {"operand of lower rank, from it",
       {"f32[2,3,4]", "f32[3,4]"},
       "add(%x0, %x1)",
       1,
       "[3,4] (3,4)->(1,0) [4,3]"},
      {"scalar", {"f32[2,3]", "f32[]"}, "add(%x0, %x1)", 0, "[2,3] (2,3)->(1,0) [3,2]"},
      {"flatten past a partly broadcast operand: the dims stay apart",
       {"f32[3,4]", "f32[3,1]"},
       "add(%x0, %x1)",
       0,
       "[3,4] -> [12]"},
      {"linear: rows",
       {"f32[2,3,4]", "f32[5,4]"},
       "linear(%x0, %x1)",
       0,
       "[2,3,4] (2,3,4)->(1,0,2) [3,2,4]"},
      {"linear: contracted digits",
       {"f32[2,12]", "f32[5,12]"},
       "linear(%x0, %x1)",
       0,
       "[2,12] (2,3,4)->(0,2,1) [2,12]"},
      {"linear: output digits",
       {"f32[2,12]", "f32[6,12]", "f32[6]"},
       "linear(%x0, %x1, %x2)",
       kResultPort,
       "[2,6] (2,2,3)->(0,2,1) [2,6]"},
      {"matmul: transpose of a",
       {"f32[2,3,4]", "f32[2,4,5]"},
       "matmul(%x0, %x1)",
       0,
       "[2,3,4] (2,3,4)->(0,2,1) [2,4,3]"},
      {"matmul: transpose of b",
       {"f32[2,3,4]", "f32[2,4,5]"},
       "matmul(%x0, %x1)",
       1,
       "[2,4,5] (2,4,5)->(0,2,1) [2,5,4]"},
      {"matmul: transpose of the result",
       {"f32[2,3,4]", "f32[2,4,5]"},
       "matmul(%x0, %x1)",
       kResultPort,
       "[2,3,5] (2,3,5)->(0,2,1) [2,5,3]"},
      {"matmul: batches",
       {"f32[2,3,4,5]", "f32[3,5,4]"},
       "matmul(%x0, %x1)",
       0,
       "[2,3,4,5] (2,3,20)->(1,0,2) [3,2,4,5]"},
      {"matmul: rows and batches, one right matrix",
       {"f32[2,3,4]", "f32[4,5]"},
       "matmul(%x0, %x1)",
       0,
       "[2,3,4] (2,3,4)->(1,0,2) [3,2,4]"},
      {"matmul: columns and batches, one left matrix",
       {"f32[3,4]", "f32[2,4,5]"},
       "matmul(%x0, %x1)",
       kResultPort,
       "[2,3,5] (2,3,5)->(2,0,1) [5,2,3]"},
      {"conv: input channels",
       {"f32[1,4,4,6]", "f32[5,3,3,6]"},
       kConv,
       0,
       "[1,4,4,6] (16,2,3)->(0,2,1) [1,4,4,6]"},
      {"conv: output channels",
       {"f32[1,4,4,5]", "f32[6,3,3,5]"},
       kConv,
       kResultPort,
       "[1,4,4,6] (16,2,3)->(0,2,1) [1,4,4,6]"},
      {"conv: batch digits",
       {"f32[6,4,4,2]", "f32[3,3,3,2]"},
       kConv,
       0,
       "[6,4,4,2] (2,3,32)->(1,0,2) [6,4,4,2]"},
      {"conv: one pixel",
       {"f32[2,1,1,6]", "f32[5,3,3,6]"},
       kConv,
       0,
       "[2,1,1,6] (2,2,3)->(0,2,1) [2,6]"},
      {"depthwise conv: channels",
       {"f32[1,4,4,4]", "f32[4,3,3,1]", "f32[4]"},
       kGrouped,
       0,
       "[1,4,4,4] (16,2,2)->(0,2,1) [1,4,4,4]"},
      {"grouped conv: whole groups",
       {"f32[1,4,4,8]", "f32[12,3,3,2]", "f32[12]"},
       kGrouped,
       0,
       "[1,4,4,8] (16,2,2,2)->(0,2,1,3) [1,4,4,8]"},
      {"grouped conv: within every group",
       {"f32[1,4,4,8]", "f32[16,3,3,2]", "f32[16]"},
       kGrouped,
       kResultPort,
       "[1,2,2,16] (16,2,2)->(0,2,1) [1,2,2,16]"},
      {"pool: channels",
       {"f32[2,4,4,6]"},
       kPool,
       kResultPort,
       "[2,2,2,6] (8,2,3)->(0,2,1) [2,2,2,6]"},
      {"pool: images", {"f32[6,4,4,2]"}, kPool, 0, "[6,4,4,2] (2,3,32)->(1,0,2) [6,4,4,2]"},
      {"gather: dims around the axis",
       {"f32[2,3,4]", "i64[5]"},
       "gather(%x0, %x1) { axis = 1 }",
       kResultPort,
       "[2,5,4] (2,5,4)->(2,1,0) [4,5,2]"},
      {"gather: dims of the indices",
       {"f32[2,3]", "i64[4,5]"},
       "gather(%x0, %x1) { axis = 0 }",
       kResultPort,
       "[4,5,3] (4,5,3)->(1,0,2) [5,4,3]"},
      {"argmax, other axes",
       {"f32[2,3,4]"},
       "argmax(%x0) { axis = 1 }",
       kResultPort,
       "[2,1,4] (2,4)->(1,0) [4,1,2]"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    OpInstance instance = instance_of(c.types, c.node);
    if (instance.node->is(Op::gather))
      for (int64_t i = 0; i < instance.operands[1].count(); ++i)
        instance.operands[1].set_int(i, i % 2);
    EXPECT_TRUE(crosses(instance, c.port, parse_relayout(c.relayout)));
  }
}

/// Where the loops that the moved operand lacks come to stand, by what becomes of the other one.
TEST(LoopOrder, LoopsThatAPortLacksHaveTheirPlace) {
  struct Place {
    const char *whole, *part;  // the operands of a sum; the second one is moved
    const char *relayout, *expected;
  };
  const Place cases[] = {
      // Behind the loop that is before it in the source, the nearest one that there is.
      {"[2,3,4]", "[2,1,4]", "[2,1,4] (2,4)->(1,0) [4,2]", "[2,3,4] (6,4)->(1,0) [4,2,3]"},
      {"[2,3,5,4]", "[2,3,1,4]", "[2,3,1,4] (2,3,4)->(2,1,0) [4,3,2]",
       "[2,3,5,4] (2,15,4)->(2,1,0) [4,3,5,2]"},
      {"[2,3,5,4]", "[2,1,1,4]", "[2,1,1,4] (2,4)->(1,0) [4,2]",
       "[2,3,5,4] (30,4)->(1,0) [4,2,3,5]"},
      // Outermost, if there is none.
      {"[3,2,4]", "[1,2,4]", "[1,2,4] (2,4)->(1,0) [4,2]", "[3,2,4] (3,2,4)->(0,2,1) [3,4,2]"},
      {"[2,3,4,5]", "[4,5]", "[4,5] (4,5)->(1,0) [5,4]", "[2,3,4,5] (6,4,5)->(0,2,1) [2,3,5,4]"},
      // In the unit dims, if there are as many.
      {"[2,3,4]", "[2,1,4]", "[2,1,4] (2,4)->(1,0) [4,1,2]", "[2,3,4] (2,3,4)->(2,1,0) [4,3,2]"},
      {"[3,2,5,4]", "[1,2,1,4]", "[1,2,1,4] (2,4)->(1,0) [4,1,2,1]",
       "[3,2,5,4] (30,4)->(1,0) [4,3,2,5]"},
      {"[3,2,5,4]", "[1,2,1,4]", "[1,2,1,4] (2,4)->(1,0) [4,1,2]",
       "[3,2,5,4] (3,10,4)->(0,2,1) [3,4,1,2,5]"},
  };
  for (const Place& c : cases) {
    SCOPED_TRACE(c.relayout);
    const OpInstance sum =
        instance_of({std::string("f32") + c.whole, std::string("f32") + c.part}, "add(%x0, %x1)");
    const auto orders = cross(*sum.node, 1, parse_relayout(c.relayout));
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(to_string(orders[0].operands[0]), c.expected);
    EXPECT_EQ(to_string(orders[0].result), c.expected);
    EXPECT_TRUE(orders[0].operands[1].moves_like(parse_relayout(c.relayout)));
  }
}

TEST(LoopOrder, MustNotCross) {
  const Case cases[] = {
      {"ordered axis mixed with another",
       {"f32[4,6]"},
       "slice(%x0) { start = [0,1], size = [4,4], step = [1,1] }",
       0,
       "[4,6] (4,2,3)->(1,0,2) [2,12]"},
      {"slice that cuts the inner factor",
       {"f32[2,12]"},
       "slice(%x0) { start = [0,2], size = [2,4], step = [1,1] }",
       0,
       "[2,12] (2,3,4)->(1,0,2) [3,2,4]"},
      {"stepped slice of a split axis",
       {"f32[2,12]"},
       "slice(%x0) { start = [0,0], size = [2,4], step = [1,2] }",
       0,
       "[2,12] (2,3,4)->(1,0,2) [3,2,4]"},
      {"concat parts that share no factor",
       {"f32[2,4]", "f32[2,3]"},
       "concat(%x0, %x1) { axis = 1 }",
       0,
       "[2,4] (2,2,2)->(2,0,1) [2,2,2]"},
      {"reflection of a split axis",
       {"f32[2,8]"},
       "pad(%x0) { low = [0,2], high = [0,2], mode = reflect }",
       0,
       "[2,8] (2,4,2)->(2,0,1) [2,2,4]"},
      {"softmax, its axis apart",
       {"f32[3,6]"},
       "softmax(%x0) { axis = 1 }",
       0,
       "[3,6] (3,2,3)->(1,0,2) [2,3,3]"},
      {"cumsum, its digits permuted",
       {"f32[3,6]"},
       "cumsum(%x0) { axis = 1 }",
       0,
       "[3,6] (3,2,3)->(0,2,1) [3,6]"},
      {"argmax, its digits permuted",
       {"f32[3,6]"},
       "argmax(%x0) { axis = 1 }",
       0,
       "[3,6] (3,2,3)->(0,2,1) [3,6]"},
      {"linear: rows mixed with the contracted axis",
       {"f32[2,12]", "f32[5,12]"},
       "linear(%x0, %x1)",
       0,
       "[2,12] (2,3,4)->(1,0,2) [3,2,4]"},
      {"linear: transpose",
       {"f32[2,12]", "f32[5,12]"},
       "linear(%x0, %x1)",
       0,
       "[2,12] (2,12)->(1,0) [12,2]"},
      {"matmul: batch inside",
       {"f32[2,3,4]", "f32[2,4,5]"},
       "matmul(%x0, %x1)",
       0,
       "[2,3,4] (2,3,4)->(1,0,2) [3,2,4]"},
      {"conv: spatial transposition",
       {"f32[1,4,4,2]", "f32[3,3,3,2]"},
       kConv,
       0,
       "[1,4,4,2] (4,4,2)->(1,0,2) [1,4,4,2]"},
      {"conv: NCHW",
       {"f32[1,4,4,2]", "f32[3,3,3,2]"},
       kConv,
       0,
       "[1,4,4,2] (16,2)->(1,0) [1,2,4,4]"},
      {"conv: space to depth",
       {"f32[1,4,4,2]", "f32[3,3,3,2]"},
       kConv,
       0,
       "[1,4,4,2] (2,2,2,2,2)->(0,2,1,3,4) [1,2,2,8]"},
      {"grouped conv: channels across groups",
       {"f32[1,4,4,8]", "f32[12,3,3,2]", "f32[12]"},
       kGrouped,
       0,
       "[1,4,4,8] (16,4,2)->(0,2,1) [1,4,4,8]"},
      {"pool: spatial digits", {"f32[1,4,4,6]"}, kPool, 0, "[1,4,4,6] (2,2,24)->(1,0,2) [1,4,4,6]"},
      {"gather: its axis permuted",
       {"f32[6,3]", "i64[4]"},
       "gather(%x0, %x1) { axis = 0 }",
       0,
       "[6,3] (2,3,3)->(1,0,2) [6,3]"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_FALSE(crosses(instance_of(c.types, c.node), c.port, parse_relayout(c.relayout)));
  }
}

TEST(LoopOrder, KeepsTheDimsOfTheRelayoutWhereTheOpCan) {
  const OpInstance add = instance_of({"f32[2,3,4,5]", "f32[3,1,1]"}, "add(%x0, %x1)");
  const auto relayout = Relayout::permute({2, 3, 4, 5}, std::vector{0, 2, 3, 1});
  const auto orders = cross(*add.node, 0, relayout);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].operands[0], relayout);
  EXPECT_EQ(to_string(orders[0].operands[1]), "[3,1,1] -> [1,1,1,3]");
  EXPECT_EQ(orders[0].result, relayout);
}

TEST(LoopOrder, GivesTheMatrixBothWaysRound) {
  const OpInstance matmul = instance_of({"f32[2,3,4]", "f32[2,4,5]"}, "matmul(%x0, %x1)");
  const auto orders = cross(*matmul.node, 0, Relayout::identity({2, 3, 4}));
  EXPECT_EQ(orders.size(), 3u);  // b as it is, b transposed, and the transposed product
  EXPECT_TRUE(std::ranges::any_of(orders, [&](const LoopOrder& order) {
    return order.moves_like(source_order(*matmul.node));
  }));
}

TEST(LoopOrder, ScalarsStayScalars) {
  const OpInstance add = instance_of({"f32[2,3]", "f32[]"}, "add(%x0, %x1)");
  const auto orders = cross(*add.node, 0, Relayout::permute({2, 3}, std::vector{1, 0}));
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].operands[1], Relayout::identity({}));
}

TEST(LoopOrder, CrossesSymbolicSizes) {
  const auto graph = parse_graph(R"(graph "test" {
      symbol s1 "batch" in [1,inf]
      symbol s2 "tokens" in [1,inf]
      input "x" %x : f32[s1,s2,24]
      input "w" %w : f32[6,24]
      %y = linear(%x, %w) @1
      %z = slice(%y) { start = [0,0,2], size = [s1,s2,4], step = [1,1,1] } @1
      output "z" %z
      origin @1 "y" "" ""
    })",
                                 "test");
  const Node* slice = graph.outputs()[0].value->def();
  const auto heads = parse_relayout("[s1,s2,4] (s1,s2,2,2)->(0,2,1,3) [s1,2,s2,2]");
  const auto sliced = cross(*slice, kResultPort, heads);
  ASSERT_EQ(sliced.size(), 1u);
  EXPECT_EQ(to_string(sliced[0].operands[0]), "[s1,s2,6] (s1,s2,3,2)->(0,2,1,3) [s1,3,s2,2]");
  const Node* linear = slice->operand(0)->def();
  EXPECT_TRUE(cross(*linear, kResultPort, sliced[0].operands[0]).empty());
  const auto rows = parse_relayout("[s1,s2,24] (s1,s2,24)->(1,0,2) [s2,s1,24]");
  EXPECT_EQ(cross(*linear, 0, rows).size(), 1u);
}

}  // namespace
}  // namespace layline

// Scales and zero points travel with the data: the type rules, and the laws of moving a table.
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/quantised_tensor.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "layout/loop_order.h"
#include "make_tensor.h"
#include "random_op.h"

namespace layline {
namespace {

/// A table over some axes, whole or in blocks, with entries that all differ.
Quantisation random_table(const Shape& shape, Random& random) {
  Quantisation result{DType::i8, -128, 127, {}, {}, {}};
  int64_t entries = 1;
  for (const Dim& dim : shape) {
    const int64_t size = dim.value();
    int64_t blocks = random.chance(2) ? 1 : size;
    if (random.chance(4) && size % 2 == 0) blocks = size / 2;
    result.dims.push_back(blocks);
    entries *= blocks;
  }
  for (int64_t i = 0; i < entries; ++i) {
    result.scales.push_back(static_cast<float>(i + 1));
    result.zero_points.push_back(static_cast<int32_t>(-i));
  }
  return result;
}

TEST(Quantisation, ATableMovesAsItsTensorDoes) {
  RandomOps ops(1);
  int carried = 0, by_permutation = 0;
  for (int run = 0; run < 4000; ++run) {
    const Shape shape = ops.shape(1, 4);
    const Quantisation before = random_table(shape, ops.random());
    const Relayout relayouts[] = {ops.permutation(shape), ops.view(shape),
                                  ops.digit_permutation(shape)};
    for (size_t kind = 0; kind < 3; ++kind) {
      const Relayout& relayout = relayouts[kind];
      const auto after = moved(before, relayout);
      ASSERT_EQ(can_move(before, relayout), after.has_value()) << to_string(relayout);
      const bool blocks_inside = [&] {
        for (size_t a = 0; a + 1 < shape.size(); ++a)
          if (before.dims[a] != 1 && Dim(before.dims[a]) != shape[a]) return true;
        return false;
      }();
      // Whole axes follow every permutation.
      if (kind == 0 && !blocks_inside && Dim(before.dims.back()) == shape.back()) {
        ASSERT_TRUE(after) << to_string(relayout);
        ++by_permutation;
      }
      if (!after) continue;
      ++carried;
      expect_quantisation(**after, relayout.target());
      const auto from = table_entries(before, static_dims(shape));
      const auto to = table_entries(**after, static_dims(relayout.target()));
      for (size_t i = 0; i < from.size(); ++i) {
        const auto moved_to = static_cast<size_t>(relayout.map_position(static_cast<int64_t>(i)));
        ASSERT_EQ((*after)->scale(to[moved_to]), before.scale(from[i])) << to_string(relayout);
        ASSERT_EQ((*after)->zero_point(to[moved_to]), before.zero_point(from[i]));
      }
    }
  }
  EXPECT_GT(carried, 4000);
  EXPECT_GT(by_permutation, 500);
}

TEST(Quantisation, GroupsMoveByWholeGroups) {
  Quantisation groups{DType::i8, -8, 7, {2, 2}, {1, 2, 3, 4}, {}};  // of [2,8]: groups of four
  const auto swapped = moved(groups, Relayout::from_factors({2, 8}, {2, 2, 4}, {0, 2, 1}, {2, 8}));
  EXPECT_FALSE(swapped) << "groups are taken apart";
  const auto exchanged =
      moved(groups, Relayout::from_factors({2, 8}, {2, 2, 4}, {1, 0, 2}, {2, 8}));
  ASSERT_TRUE(exchanged);
  EXPECT_EQ((*exchanged)->scales, (std::vector<float>{1, 3, 2, 4}));
  EXPECT_FALSE(moved(groups, Relayout::view({2, 8}, {16})).has_value() &&
               (*moved(groups, Relayout::view({2, 8}, {16})))->dims != std::vector<int64_t>{4});
}

TEST(Quantisation, ASplitAxisIsRefused) {
  Graph graph("g");
  Quantisation by_channel{DType::i8, -128, 127, {4, 1}, {1, 2, 3, 4}, {}};
  const Tensor data({DType::i8, {4, 3}, by_channel});
  Value* x = graph.add(
      Op::constant, {},
      ConstantAttrs{Constant::owned(DType::i8, {4, 3}, std::vector<std::byte>(12)), by_channel},
      nullptr);
  // The channels are mixed with what is not a channel.
  const Relayout mixing = Relayout::from_factors({4, 3}, {2, 2, 3}, {1, 2, 0}, {2, 6});
  EXPECT_THROW(graph.add(Op::relayout, {x}, RelayoutAttrs{mixing}, nullptr), UserError);
  // Taken apart into axes of their own they keep their scales.
  Value* y =
      graph.add(Op::relayout, {x}, RelayoutAttrs{Relayout::view({4, 3}, {2, 2, 3})}, nullptr);
  EXPECT_EQ(y->type().quantisation->dims, (std::vector<int64_t>{2, 2, 1}));
}

TensorType typed(Shape shape, float scale = 0.5f) {
  return {DType::i8, std::move(shape), per_tensor(DType::i8, scale, 3)};
}

TEST(Quantisation, TypesOfOps) {
  const auto infer_one = [](Op op, std::vector<TensorType> types, Attributes attributes) {
    SymbolTable none;
    return infer(op, types, attributes, none);
  };
  const TensorType x = typed({2, 3});
  EXPECT_EQ(infer_one(Op::slice, {x}, SliceAttrs{{0, 0}, {1, 3}, {1, 1}}).quantisation,
            x.quantisation);
  EXPECT_EQ(infer_one(Op::add, {x, typed({3}, 2)}, BinaryAttrs{}),
            (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(infer_one(Op::add, {x, x}, BinaryAttrs{{}, x.quantisation}), x);
  EXPECT_THROW(infer_one(Op::concat, {x, typed({2, 3}, 2)}, AxisAttrs{0}), UserError);
  EXPECT_THROW(infer_one(Op::concat, {x, {DType::i8, {2, 3}}}, AxisAttrs{0}), UserError);
  EXPECT_THROW(infer_one(Op::tanh, {x}, NoAttrs{}), UserError);
  EXPECT_THROW(infer_one(Op::dequantize, {{DType::i8, {2, 3}}}, NoAttrs{}), UserError);
  EXPECT_THROW(infer_one(Op::quantize, {{DType::f32, {3}}}, QuantisationAttrs{}), UserError);
  EXPECT_THROW(infer_one(Op::linear, {x, x}, LinearAttrs{{}, {}, true}), UserError);
  EXPECT_THROW(
      infer_one(Op::add, {{DType::i8, {3}}, {DType::i8, {3}}}, BinaryAttrs{{}, x.quantisation}),
      UserError);
}

TEST(Quantisation, RefusesWhatIsNone) {
  const auto refused = [](Quantisation quantisation, const Shape& shape) {
    EXPECT_THROW(expect_quantisation(quantisation, shape), UserError);
  };
  refused(per_tensor(DType::i8, 0, 0), {2});
  refused(per_tensor(DType::i8, -1, 0), {2});
  refused(per_tensor(DType::i8, std::numeric_limits<float>::infinity(), 0), {2});
  refused(per_tensor(DType::i8, 1e-40f, 0), {2});
  refused({DType::i8, -129, 127, {}, {1}, {}}, {2});
  refused({DType::f32, 0, 1, {}, {1}, {}}, {2});
  refused({DType::i8, 5, -5, {}, {1}, {}}, {2});
  refused({DType::i8, -8, 7, {2}, {1, 1}, {}}, {3});
  refused({DType::i8, -8, 7, {2}, {1, 1}, {}}, {2, 2});
  refused({DType::i8, -8, 7, {2}, {1}, {}}, {2});
  refused({DType::i8, -8, 7, {2}, {1, 1}, {0}}, {2});
  refused({DType::i8, -8, 7, {0}, {}, {}}, {2});
}

/// Scales that are chosen for a row or an image do not change when rows, or images, are moved.
TEST(Quantisation, LoopOrdersKeepDynamicScales) {
  RandomOps ops(5);
  int crossed = 0;
  for (int run = 0; run < 300; ++run) {
    auto instance = ops.instance(run % 2 ? Op::linear : Op::conv);
    const Node& plain = *instance->node;
    if (is_quantised(plain)) continue;
    std::vector<TensorType> types;
    for (const Value* operand : plain.operands()) types.push_back(operand->type());
    types[1].dtype = DType::i8;
    types[1].quantisation = per_tensor(DType::i8, 0.25f, 0);
    Attributes attributes = plain.attributes();
    std::visit(
        [](auto& attrs) {
          if constexpr (requires { attrs.dynamic; }) attrs.dynamic = true;
        },
        attributes);
    const OpInstance dynamic = ops.make(plain.op(), types, attributes);
    if (!is_dynamic(dynamic.node->attributes())) continue;
    for (int port = kResultPort; port < dynamic.node->operand_count(); ++port) {
      const Shape& shape = port_shape(*dynamic.node, port);
      if (element_count(shape).is_zero()) continue;
      for (const LoopOrder& order : cross(*dynamic.node, port, ops.digit_permutation(shape))) {
        std::vector<Tensor> operands;
        for (size_t i = 0; i < order.operands.size(); ++i)
          operands.push_back(evaluate_op(Op::relayout, {&dynamic.operands[i], 1},
                                         RelayoutAttrs{order.operands[i]}));
        const Tensor before = evaluate_node(*dynamic.node, dynamic.operands);
        const Tensor expected =
            evaluate_op(Op::relayout, {&before, 1}, RelayoutAttrs{order.result});
        expect_near(evaluate_op(dynamic.node->op(), operands, order.attributes), expected, 1e-4);
        if (HasFailure()) return;
        ++crossed;
      }
    }
  }
  EXPECT_GT(crossed, 50);
}

}  // namespace
}  // namespace layline

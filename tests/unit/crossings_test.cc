// Remembered orders are those that `cross` gives, for the op that is asked about and no other.
#include "layout/crossings.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace layline {
namespace {

class CrossingsTest : public testing::Test {
 protected:
  Value* input(const Shape& shape) { return graph_.add_input("x", {DType::f32, shape}); }
  const Node& softmax(const Shape& shape, int64_t axis) {
    return *build_.add(Op::softmax, {input(shape)}, AxisAttrs{axis})->def();
  }

  Graph graph_{"forward"};
  Builder build_{graph_, OriginRef()};
  Crossings crossings_{graph_};
};

TEST_F(CrossingsTest, AlikeOpsShareWhatIsWorkedOutOnce) {
  const Shape shape = {2, 3, 4};
  const Relayout swap = Relayout::permute(shape, std::vector<int>{1, 0, 2});
  const auto& first = crossings_.cross(softmax(shape, 2), 0, swap);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(&crossings_.cross(softmax(shape, 2), 0, swap), &first);
}

TEST_F(CrossingsTest, OpsThatDifferDoNot) {
  const Shape shape = {2, 2, 4};
  const Relayout swap = Relayout::permute(shape, std::vector<int>{1, 0, 2});
  const Relayout back = Relayout::permute(shape, std::vector<int>{0, 2, 1});
  const Node& one = softmax(shape, 2);
  const Node& other = softmax(shape, 1);
  for (const Node* node : {&one, &other}) {
    for (const Relayout& relayout : {swap, back}) {
      for (const int port : {kResultPort, 0}) {
        const auto& known = crossings_.cross(*node, port, relayout);
        const std::vector<LoopOrder> expected = cross(*node, port, relayout);
        ASSERT_EQ(known.size(), expected.size());
        for (size_t i = 0; i < known.size(); ++i) {
          EXPECT_TRUE(known[i].moves_like(expected[i]));
          EXPECT_TRUE(known[i].attributes == expected[i].attributes);
        }
      }
    }
  }
  EXPECT_FALSE(crossings_.cross(one, 0, swap)[0].attributes ==
               crossings_.cross(other, 0, swap)[0].attributes);
}

/// The type of a convolution follows from what the graph knows of its symbols.
TEST_F(CrossingsTest, DynamicSizesAreThoseOfTheGraph) {
  const Dim rows = Dim::symbol(graph_.symbol_table().add({"rows", 4, 16, {}}));
  ConvAttrs attrs;
  attrs.stride = attrs.dilation = {1, 1};
  attrs.low = attrs.high = {0, 0};
  const Node& conv =
      *build_.add(Op::conv, {input({1, rows, 5, 2}), input({4, 3, 1, 2})}, attrs)->def();
  const LoopOrder same = source_order(conv);
  const Relayout stay = Relayout::identity(conv.result()->shape());
  for (const LoopOrder& order : crossings_.cross_from(conv, same, kResultPort, stay))
    EXPECT_TRUE(order.moves_like(same));
  EXPECT_FALSE(crossings_.cross_from(conv, same, kResultPort, stay).empty());
}

}  // namespace
}  // namespace layline

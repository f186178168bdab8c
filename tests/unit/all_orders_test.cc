// Which digits a graph tells apart, and how many orders they give its ops.
#include "layout/all_orders.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "layout/candidates.h"
#include "layout/graph_digits.h"
#include "layout/placement.h"

namespace layline {
namespace {

class AllOrders : public testing::Test {
 protected:
  AllOrders() : graph_("graph"), build_(graph_, nullptr) {}

  Value* input(const Shape& shape) { return graph_.add_input("x", {DType::f32, shape}); }
  Value* weights(const Shape& shape) {
    const auto bytes = 4 * static_cast<size_t>(element_count(shape).value());
    return build_.constant(Constant::owned(DType::f32, shape, std::vector<std::byte>(bytes)));
  }
  Value* conv(Value* x, int64_t channels) {
    Value* nhwc = build_.to_channels_last(x);
    return build_.from_channels_last(build_.add(Op::conv,
                                                {nhwc, weights({channels, 3, 3, nhwc->shape()[3]})},
                                                ConvAttrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}}));
  }
  Dims digits_of(const Value* value) {
    const TargetOrders target;
    const PlacementLimits limits;
    const Candidates candidates(graph_, target, limits);
    const auto cuts = find_cuts(candidates.problem());
    for (ValueIndex v : cuts.indices())
      if (candidates.problem().values[v].root == value)
        return digits_between(cuts[v].cuts, element_count(value->shape())).at(0);
    return {};
  }
  /// Beside the order of the source; nullopt if there are too many.
  std::optional<size_t> count(const Value* result, const std::vector<Dims>& digits,
                              PlacementLimits limits = {}) {
    PortDigits ports;
    for (const Dims& port : digits) ports.push_back({port});
    return count(result, ports, limits);
  }
  std::optional<size_t> count(const Value* result, const PortDigits& digits,
                              PlacementLimits limits = {}) {
    const Node& node = *result->def();
    Crossings crossings(graph_);
    const auto orders = all_orders(node, digits, {source_order(node)}, limits, crossings);
    return orders ? std::optional(orders->size()) : std::nullopt;
  }

  Graph graph_;
  Builder build_;
};

TEST_F(AllOrders, HeightAndWidthAreOneDigitWhereOnlyConvolutionsAre) {
  Value* x = input({1, 8, 6, 5});
  Value* y = build_.add(Op::sigmoid, {conv(x, 8)});
  graph_.add_output("y", conv(y, 4));
  EXPECT_EQ(digits_of(y), (Dims{8, 30}));
}

TEST_F(AllOrders, AReductionOverTheWidthTellsItFromTheHeight) {
  Value* y = build_.add(Op::sigmoid, {conv(input({1, 8, 6, 5}), 8)});
  graph_.add_output("y", build_.add(Op::reduce_sum, {y}, AxesAttrs{{3}}));
  EXPECT_EQ(digits_of(y), (Dims{8, 6, 5}));
}

TEST_F(AllOrders, AShuffleCutsTheChannelsOnBothSidesOfAnOp) {
  Value* x = build_.add(Op::tanh, {input({1, 8, 4, 4})});
  Value* y = build_.add(Op::sigmoid, {x});
  graph_.add_output("y", build_.relayout(y, parse_relayout("[1,8,4,4] (2,4,16)->(1,0,2) "
                                                           "[1,8,4,4]")));
  EXPECT_EQ(digits_of(x), (Dims{2, 4, 16}));
}

TEST_F(AllOrders, ALinearOpKeepsTheCutsOfItsInputChannelsToItself) {
  Value* x = build_.add(Op::tanh, {input({5, 8})});
  Value* k = build_.relayout(x, parse_relayout("[5,8] (5,2,4)->(0,2,1) [5,8]"));
  Value* y = build_.add(Op::linear, {k, weights({6, 8})}, LinearAttrs{});
  graph_.add_output("y", y);
  EXPECT_EQ(digits_of(x), (Dims{5, 2, 4}));
  EXPECT_EQ(digits_of(y), (Dims{5, 6}));
}

TEST_F(AllOrders, CutsWithoutACommonRefinementGiveOrdersOfEach) {
  Value* x = build_.add(Op::tanh, {input({6})});
  graph_.add_output("a", build_.relayout(x, parse_relayout("[6] (2,3)->(1,0) [6]")));
  graph_.add_output("b", build_.relayout(x, parse_relayout("[6] (3,2)->(1,0) [6]")));
  const PortDigits both = {{{2, 3}, {3, 2}}, {{2, 3}, {3, 2}}};
  EXPECT_EQ(count(x, both), 2);
  EXPECT_EQ(count(x, both, {.all_orders = 2}), std::nullopt);
}

/// Height, width and channels of a window stay where they are, so that few sequences are tried
/// however many digits there are: here two of the images, and six of the channels.
TEST_F(AllOrders, AConvolutionHasAsManyOrdersAsItsImagesAndChannelsHave) {
  Value* y = build_.add(Op::conv, {input({4, 6, 6, 8}), weights({4, 3, 3, 8})},
                        ConvAttrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}});
  EXPECT_EQ(count(y, {{2, 2, 36, 2, 2, 2}, {}, {2, 2, 36, 4}}), 2 * 6 - 1);
  EXPECT_EQ(count(y, {{2, 2, 36, 2, 2, 2}, {}, {2, 2, 36, 4}}, {.digits = 2}), std::nullopt);
}

TEST_F(AllOrders, MovementsOfATensor) {
  const auto count_of = [](const std::vector<Dims>& digits, PlacementLimits limits = {}) {
    const auto all = all_movements({6, 2}, digits, limits);
    return all ? std::optional(all->size()) : std::nullopt;
  };
  EXPECT_EQ(count_of({{12}}), 1);
  EXPECT_EQ(count_of({{6, 2}}), 2);
  EXPECT_EQ(count_of({{3, 2, 2}}), 6);
  EXPECT_EQ(count_of({{3, 2, 2}, {2, 3, 2}}), 6 + 6 - 2) << "as it is, and 6 and 2 exchanged";
  EXPECT_EQ(count_of({{3, 2, 2}}, {.all_orders = 5}), std::nullopt);
  EXPECT_EQ(count_of({{3, 2, 2}}, {.digits = 2}), std::nullopt);
}

TEST_F(AllOrders, AnElementwiseOpHasAllSequences) {
  Value* y = build_.add(Op::neg, {input({2, 3, 5})});
  EXPECT_EQ(count(y, {{2, 3, 5}, {2, 3, 5}}), 5);
  EXPECT_EQ(count(y, {{2, 3, 5}, {2, 3, 5}}, {.all_orders = 5}), std::nullopt);
  EXPECT_EQ(count(y, {{2, 3, 5}, {2, 3, 5}}, {.all_orders = 6}), 5);
}

TEST_F(AllOrders, WhatABroadcastOperandLacksStandsEverywhere) {
  Value* y = build_.add(Op::add, {input({2, 3, 5}), input({2, 1, 5})});
  EXPECT_EQ(count(y, {{2, 3, 5}, {2, 5}, {2, 3, 5}}), 5);
}

TEST_F(AllOrders, ASliceOfHalfAnAxisCanHaveTheHalvesOutermost) {
  Value* x = input({3, 4});
  Value* y = build_.slice(x, 1, 2, 2);
  graph_.add_output("y", y);
  EXPECT_EQ(digits_of(x), (Dims{3, 2, 2}));
  EXPECT_EQ(count(y, {{3, 2, 2}, {3, 2}}), 5);
}

TEST_F(AllOrders, TheRowsAndBothChannelsOfALinearOpMoveOnTheirOwn) {
  Value* y = build_.add(Op::linear, {input({2, 3, 4}), weights({4, 4})}, LinearAttrs{});
  EXPECT_EQ(count(y, {{2, 3, 2, 2}, {}, {2, 3, 2, 2}}), 2 * 2 * 2 - 1);
}

TEST_F(AllOrders, MoreDigitsThanTheLimitAreNotAllTried) {
  Value* y = build_.add(Op::neg, {input({2, 3, 5})});
  EXPECT_EQ(count(y, {{2, 3, 5}, {2, 3, 5}}, {.digits = 2}), std::nullopt);
  EXPECT_EQ(count(y, {{2, 3, 5}, {2, 3, 5}}, {.digits = 3}), 5);
  // Output channels have digits of their own.
  Value* z = build_.add(Op::linear, {input({3}), weights({4, 3})}, LinearAttrs{});
  EXPECT_EQ(count(z, {{3}, {}, {2, 2}}, {.digits = 1}), std::nullopt);
  EXPECT_EQ(count(z, {{3}, {}, {2, 2}}, {.digits = 2}), 1);
}

TEST_F(AllOrders, AxesThatAreBothPaddedCanChangePlaces) {
  Value* x = input({3, 5});
  graph_.add_output("y", build_.add(Op::pad, {x}, PadAttrs{{1, 0}, {0, 2}}));
  EXPECT_EQ(digits_of(x), (Dims{3, 5}));
}

TEST_F(AllOrders, AShuffleBetweenAConvolutionAndAMeanIsProvedAway) {
  Value* y = conv(build_.from_channels_last(input({1, 4, 4, 8})), 8);
  y = build_.relayout(y, parse_relayout("[1,8,4,4] (2,4,16)->(1,0,2) [1,8,4,4]"));
  y = build_.add(Op::reduce_mean, {build_.clamp(y, 0, 6)}, AxesAttrs{{2, 3}});
  graph_.add_output("y", y);
  const Certificate certificate = place(graph_, {}, true).certificate;
  EXPECT_TRUE(certificate.optimal());
  EXPECT_GT(certificate.before.permutes, 0);
  EXPECT_EQ(certificate.cost.permutes, 0);
}

TEST_F(AllOrders, AQuantisedTableHasNoOrderOfItsOwn) {
  Quantisation steps;
  steps.scales = {0.5f};
  Value* table =
      build_.constant(Constant::owned(DType::i8, {2, 8}, std::vector<std::byte>(size_t{2} * 8)),
                      QuantisationRef(steps));
  Value* indices = graph_.add_input("i", {DType::i64, {6}});
  Value* rows = build_.add(Op::gather, {table, indices}, AxisAttrs{0});
  EXPECT_TRUE(count(rows, {{}, {6}, {6, 8}}));
}

}  // namespace
}  // namespace layline

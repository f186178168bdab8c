// Prices in digits against those of composed relayouts.
#include "layout/digit_orders.h"

#include <gtest/gtest.h>

#include "random_op.h"

namespace layline {
namespace {

/// Costs in which every part of a movement shows.
MoveCosts moves() {
  MoveCosts costs;
  costs.call_ps = 1000;
  costs.margin_ps = 100;
  costs.byte_ps = 3;
  costs.transpose = {.piece = 4, .read_ps = 7, .write_ps = 11, .matrix_ps = 13};
  costs.transpose_bytes = {.piece = 8, .read_ps = 2, .write_ps = 5, .matrix_ps = 17};
  costs.permute = {{{4, 10}, {16, 20}, {64, 50}}};
  costs.most_factors = 3;
  costs.symbol_sizes = {6, 10};
  return costs;
}

TEST(DigitOrders, CostWhatTheRelayoutBetweenThemCosts) {
  const MoveCosts costs = moves();
  RandomOps ops(1);
  int compared = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const Shape shape = ops.shape(1, 5);
    if (element_count(shape).is_one()) continue;
    std::vector<Relayout> forms;
    DigitOrders orders(costs);
    for (int k = 0; k < 5; ++k) {
      Relayout form = ops.digit_permutation(shape);
      if (!orders.add(form)) {
        ++refused;
        break;
      }
      forms.push_back(std::move(form));
    }
    ASSERT_EQ(orders.count(), forms.size());
    for (size_t from = 0; from < forms.size(); ++from)
      for (size_t to = 0; to < forms.size(); ++to) {
        if (forms[from].moves_like(forms[to])) continue;
        // Digits in common are what composing needs.
        const auto both = forms[from].inverse().then(forms[to]);
        ASSERT_TRUE(both);
        for (const DType dtype : {DType::f32, DType::i8}) {
          ASSERT_EQ(orders.between(from, to, dtype), move_cost(costs, *both, dtype))
              << to_string(forms[from]) << " to " << to_string(forms[to]);
          ++compared;
        }
      }
  }
  EXPECT_GT(compared, 10000);
  EXPECT_GT(refused, 0);
}

TEST(DigitOrders, GetFinerWithTheirForms) {
  const MoveCosts costs = moves();
  const auto nhwc = parse_relayout("[1,12,4,5] (12,20)->(1,0) [1,4,5,12]");
  const auto shuffled = parse_relayout("[1,12,4,5] (3,4,20)->(1,0,2) [1,12,4,5]");
  DigitOrders orders(costs);
  ASSERT_TRUE(orders.add(nhwc));
  ASSERT_TRUE(orders.add(Relayout::identity({1, 12, 4, 5})));
  const Cost before = orders.between(0, 1, DType::f32);
  ASSERT_TRUE(orders.add(shuffled));
  EXPECT_EQ(orders.between(0, 1, DType::f32), before);
  EXPECT_EQ(orders.between(2, 0, DType::f32),
            move_cost(costs, *shuffled.inverse().then(nhwc), DType::f32));
}

TEST(DigitOrders, AreOfSizesThatAreNotKnown) {
  const MoveCosts costs = moves();
  const auto swapped = parse_relayout("[s1,4,s2] (s1,4,s2)->(2,1,0) [s2,4,s1]");
  const auto merged = parse_relayout("[s1,4,s2] (4*s1,s2)->(1,0) [s2,4*s1]");
  DigitOrders orders(costs);
  ASSERT_TRUE(orders.add(swapped));
  ASSERT_TRUE(orders.add(merged));
  EXPECT_EQ(orders.between(0, 1, DType::f32),
            move_cost(costs, *swapped.inverse().then(merged), DType::f32));
}

TEST(DigitOrders, AreRefusedWhereStridesDoNotDivide) {
  const MoveCosts costs = moves();
  DigitOrders orders(costs);
  ASSERT_TRUE(orders.add(parse_relayout("[6] (2,3)->(1,0) [6]")));
  EXPECT_FALSE(orders.add(parse_relayout("[6] (3,2)->(1,0) [6]")));
}

}  // namespace
}  // namespace layline

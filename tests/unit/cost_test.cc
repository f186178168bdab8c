// What moving data costs, in numbers.
#include "layout/cost.h"

#include <gtest/gtest.h>

namespace layline {
namespace {

constexpr int64_t kMostPs = Cost::kForbiddenTime / 4;

TEST(Cost, SumsAndComparisons) {
  const Cost a{5, 4, 3, 2}, b{1, 1, 2, 2};
  EXPECT_EQ(a + b, (Cost{6, 5, 5, 4}));
  EXPECT_EQ(a - b, (Cost{4, 3, 1, 0}));
  Cost sum = a;
  sum += b;
  EXPECT_EQ(sum, a + b);
  EXPECT_EQ(Cost{}, (Cost{0, 0, 0, 0}));
  EXPECT_LT((Cost{1, 9, 9, 9}), (Cost{2}));
  EXPECT_LT((Cost{1, 1, 9, 9}), (Cost{1, 2}));
  EXPECT_LT((Cost{1, 1, 1, 9}), (Cost{1, 1, 2}));
  EXPECT_LT((Cost{1, 1, 1, 1}), (Cost{1, 1, 1, 2}));
  EXPECT_EQ(a.price(), std::pair(int64_t{5}, int64_t{4}));
}

TEST(Cost, ForbiddenStaysForbidden) {
  const int64_t most = int64_t{1} << 61;
  EXPECT_EQ(Cost::forbidden(), (Cost{most, 0, 0, 0}));
  EXPECT_EQ((Cost::forbidden() + Cost{1}).time_ps, most);
  EXPECT_EQ((Cost{most - 2} + Cost{1}).time_ps, most - 1);
  EXPECT_TRUE(Cost::forbidden().is_forbidden());
  EXPECT_FALSE(Cost{most - 1}.is_forbidden());
}

TEST(RunCosts, ArePiecewiseLinear) {
  const RunCosts runs{{{4, 10}, {16, 22}, {64, 118}}};
  const std::pair<int64_t, int64_t> expected[] = {{1, 10},   {4, 10},   {5, 11},   {10, 16},
                                                  {16, 22},  {17, 24},  {63, 116}, {64, 118},
                                                  {65, 119}, {128, 236}};
  for (const auto& [bytes, ps] : expected) EXPECT_EQ(runs.ps(bytes), ps) << bytes;
  EXPECT_EQ(runs.ps(int64_t{1} << 60), kMostPs);
  EXPECT_EQ(RunCosts{}.ps(7), 7);
  EXPECT_EQ(runs.copy_ps(100, 10), 160);
  EXPECT_EQ(runs.copy_ps(9, 10), 0);
  EXPECT_EQ(runs.copy_ps(100, 0), 0);
  EXPECT_EQ(runs.copy_ps(5, 1), 50);
}

TEST(TransposeCosts, AreThoseOfPieces) {
  const TransposeCosts costs{.piece = 4, .read_ps = 7, .write_ps = 100, .matrix_ps = 10'000};
  // Two matrices of 3 rows of 8 columns: 6 rows of 2 pieces, and 16 rows of one.
  EXPECT_EQ(costs.ps(48, 8, 3), 6 * 2 * 7 + 16 * 100 + 2 * 10'000);
  EXPECT_EQ(costs.ps(48, 3, 8), 16 * 7 + 6 * 2 * 100 + 2 * 10'000);
  // What is left of a row is a piece, too.
  EXPECT_EQ(costs.ps(45, 9, 5), 5 * 3 * 7 + 9 * 2 * 100 + 10'000);
  EXPECT_EQ(TransposeCosts{}.ps(6, 2, 3), 6 * 4);
  EXPECT_EQ(costs.ps(int64_t{1} << 60, 1, 1), kMostPs);
}

TEST(MoveCosts, SizesAreNumbers) {
  EXPECT_EQ(MoveCosts::product(3, 5), 15);
  const int64_t most = int64_t{1} << 40;
  EXPECT_EQ(MoveCosts::product(most / 2, 2), most);
  EXPECT_EQ(MoveCosts::product(most - 1, 1), most - 1);
  EXPECT_EQ(MoveCosts::product(most, 2), most);
  MoveCosts costs;
  costs.symbol_sizes = {6, 10};
  const Shape shape = parse_relayout("[7,s1,3*s2,2*s1*s2] -> [7,s1,3*s2,2*s1*s2]").source();
  EXPECT_EQ(costs.size(shape[0]), 7);
  EXPECT_EQ(costs.size(shape[1]), 6);
  EXPECT_EQ(costs.size(shape[2]), 30);
  EXPECT_EQ(costs.size(shape[3]), 120);
  costs.symbol_sizes = {6};
  EXPECT_EQ(costs.size(shape[2]), 3);
}

MoveCosts moves() {
  MoveCosts costs;
  costs.call_ps = 1'000'000;
  costs.margin_ps = 10'000'000;
  costs.byte_ps = 3;
  costs.transpose = {.piece = 4, .read_ps = 7, .write_ps = 100, .matrix_ps = 10'000};
  costs.transpose_bytes = {.piece = 8, .read_ps = 1, .write_ps = 2, .matrix_ps = 5};
  costs.permute = {{{4, 10}, {16, 22}}};
  costs.most_factors = 3;
  return costs;
}

TEST(MoveCosts, OfARelayout) {
  const auto cost = [](const char* relayout, DType dtype = DType::f32) {
    return move_cost(moves(), parse_relayout(relayout), dtype);
  };
  constexpr int64_t kCall = 11'000'000;
  EXPECT_EQ(cost("[2,3] -> [2,3]"), Cost{});
  EXPECT_EQ(cost("[2,3] -> [6]"), (Cost{0, 0, 1, 0}));
  // Two matrices of 3 rows of 8 columns.
  EXPECT_EQ(cost("[2,3,8] (2,3,8)->(0,2,1) [2,8,3]"),
            (Cost{kCall + 6 * 2 * 7 + 16 * 100 + 2 * 10'000 + 192 * 3, 1, 0, 0}));
  EXPECT_EQ(cost("[2,3,8] (2,3,8)->(0,2,1) [2,8,3]", DType::i8),
            (Cost{kCall + 6 * 1 + 16 * 2 + 2 * 5 + 48 * 3, 1, 0, 0}));
  EXPECT_EQ(cost("[2,3,8] (2,3,8)->(0,2,1) [2,8,3]", DType::i16).time_ps,
            kCall + 6 * 2 * 7 + 16 * 100 + 2 * 10'000 + 96 * 3);
  // Runs of 2 floats, 8 bytes, that stay together.
  EXPECT_EQ(cost("[3,5,2] (3,5,2)->(1,0,2) [5,3,2]"), (Cost{kCall + 15 * 14 + 120 * 3, 1, 0, 0}));
  // More factors than one permute takes.
  EXPECT_EQ(cost("[2,3,5,2] (2,3,5,2)->(2,1,0,3) [5,3,2,2]"),
            (Cost{2 * (kCall + 30 * 14 + 240 * 3), 2, 0, 0}));
}

}  // namespace
}  // namespace layline

#include "layout/digits.h"

#include <gtest/gtest.h>

#include "random_op.h"

namespace layline {
namespace {

TEST(Digits, OfAPixelShuffle) {
  const auto shuffle = parse_relayout("[1,8,5,6] (2,2,2,5,6)->(0,3,1,4,2) [1,2,10,12]");
  const auto found = digits(shuffle);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size, (Dims{2, 5, 2, 6, 2}));
  EXPECT_EQ(found->source, (DigitLists{{}, {0, 2, 4}, {1}, {3}}));
  EXPECT_EQ(found->target, (DigitLists{{}, {0}, {1, 2}, {3, 4}}));
}

TEST(Digits, EndWhereADimEndsOnEitherSide) {
  const auto found = digits(parse_relayout("[6,4] -> [3,8]"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size, (Dims{3, 2, 4}));
  EXPECT_EQ(found->source, (DigitLists{{0, 1}, {2}}));
  EXPECT_EQ(found->target, (DigitLists{{0}, {1, 2}}));
}

TEST(Digits, AreNoneWhereSizesDoNotDivide) {
  EXPECT_FALSE(digits(parse_relayout("[2,3] -> [3,2]")));
  EXPECT_FALSE(digits(parse_relayout("[s1,4] -> [4,s1]")));
  EXPECT_FALSE(digits(Relayout::identity({0, 3})));
}

TEST(Digits, OfASingleElementAreNone) {
  const auto found = digits(parse_relayout("[1] -> [1,1]"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->size.empty());
  EXPECT_EQ(found->target, (DigitLists{{}, {}}));
}

TEST(Digits, MakeTheirRelayout) {
  RandomOps ops(1);
  int with_digits = 0;
  for (int i = 0; i < 3000; ++i) {
    const Relayout relayout = ops.digit_permutation(ops.shape(0, 5));
    const auto found = digits(relayout);
    if (!found) continue;
    ++with_digits;
    EXPECT_EQ(relayout_of_digits(found->size, found->source, found->target), relayout);
  }
  EXPECT_GT(with_digits, 2000);
}

}  // namespace
}  // namespace layline

#include "layout/solve/kept_sets.h"

#include <gtest/gtest.h>

namespace layline {
namespace {

/// Two forms may be written; three copies of 1, 2 and 4 with the first, and 10 each with the other.
KeptSets::Paid paid() {
  return {{Cost{0}, Cost{5}}, {Cost{1}, Cost{10}, Cost{2}, Cost{10}, Cost{4}, Cost{10}}};
}
std::vector<int> sums(const KeptSets& sets) { return sets.sums(100, std::vector{1, 2, 4}); }

TEST(KeptSets, AreAllSetsByTheirSize) {
  const KeptSets sets(3, 9, 1000, paid(), Cost::forbidden());
  EXPECT_EQ(sums(sets), (std::vector{100, 101, 102, 104, 103, 105, 106, 107}));
  EXPECT_EQ(sets.largest(), 3u);
  EXPECT_FALSE(sets.has_rest());
  EXPECT_EQ(sets.count(), 8u);
}

TEST(KeptSets, NoMoreCopiesThanReads) {
  const KeptSets sets(3, 1, 1000, paid(), Cost::forbidden());
  EXPECT_EQ(sums(sets), (std::vector{100, 101, 102, 104}));
  EXPECT_EQ(sets.largest(), 1u);
  EXPECT_FALSE(sets.has_rest());
  EXPECT_EQ(sums(KeptSets(3, 0, 1000, paid(), Cost::forbidden())), std::vector{100});
}

TEST(KeptSets, ThoseThatAreTooManyAreOne) {
  for (const size_t most : {4u, 6u}) {
    const KeptSets sets(3, 3, most, paid(), Cost::forbidden());
    EXPECT_EQ(sums(sets), (std::vector{100, 101, 102, 104}));
    EXPECT_EQ(sets.largest(), 1u);
    EXPECT_TRUE(sets.has_rest());
    EXPECT_EQ(sets.count(), 5u);
  }
  const KeptSets sets(3, 3, 7, paid(), Cost::forbidden());
  EXPECT_EQ(sums(sets), (std::vector{100, 101, 102, 104, 103, 105, 106}));
  EXPECT_TRUE(sets.has_rest());
  EXPECT_FALSE(KeptSets(3, 3, 8, paid(), Cost::forbidden()).has_rest());
  EXPECT_EQ(KeptSets(3, 3, 3, paid(), Cost::forbidden()).count(), 2);
}

TEST(KeptSets, DearOnesAreLeftOut) {
  EXPECT_EQ(sums(KeptSets(3, 3, 1000, paid(), Cost{4})), (std::vector{100, 101, 102, 103}));
  EXPECT_EQ(sums(KeptSets(3, 3, 1000, paid(), Cost{5})), (std::vector{100, 101, 102, 104, 103}));
  // By the price alone, with any form.
  EXPECT_EQ(sums(KeptSets(3, 3, 1000, paid(), Cost{1, 0, 9})), std::vector{100});
  EXPECT_EQ(sums(KeptSets(3, 3, 1000, paid(), Cost{1, 1})), (std::vector{100, 101}));
  const KeptSets::Paid other{{Cost{9}, Cost{0}}, {Cost{0}, Cost{3}, Cost{0}, Cost{2}}};
  EXPECT_EQ(KeptSets(2, 2, 1000, other, Cost{6}).count(), 4);
  EXPECT_EQ(KeptSets(2, 2, 1000, other, Cost{5}).count(), 3);
  EXPECT_EQ(KeptSets(2, 2, 1000, other, Cost{3}).sums(0, {1, 2}), (std::vector{0, 2}));
}

}  // namespace
}  // namespace layline

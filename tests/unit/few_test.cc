#include "base/few.h"

#include <gtest/gtest.h>

#include <numeric>
#include <span>

namespace layline {
namespace {

TEST(Few, IsAListOfAnyLength) {
  Few<int> list;
  EXPECT_TRUE(list.empty());
  for (int i = 0; i < 100; ++i) {
    list.push_back(i);
    ASSERT_EQ(list.size(), static_cast<size_t>(i + 1));
    ASSERT_EQ(list.back(), i);
    const std::span<const int> seen = list;
    for (int k = 0; k <= i; ++k) ASSERT_EQ(seen[static_cast<size_t>(k)], k);
  }
  list[3] = 50;
  const Few<int> copy = list;
  list[4] = 60;
  EXPECT_EQ(copy[3], 50);
  EXPECT_EQ(copy[4], 4);
}

TEST(Few, StartsWithACount) {
  for (size_t count : {0, 1, 8, 9, 20}) {
    const Few<int> list(count, 7);
    EXPECT_EQ(list.size(), count);
    EXPECT_EQ(std::accumulate(list.begin(), list.end(), size_t{0}), 7 * count);
  }
}

}  // namespace
}  // namespace layline

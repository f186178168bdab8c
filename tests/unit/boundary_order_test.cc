#include "ir/boundary_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace layline {
namespace {

Tensor counted(const Shape& shape) {
  Tensor tensor({DType::i32, shape});
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_int(i, i);
  return tensor;
}

TEST(BoundaryOrder, ChannelsLastLiesInMemoryAsNhwc) {
  const Tensor lying = stored(counted({1, 2, 1, 3}), {0, 2, 3, 1});
  EXPECT_EQ(lying.dims(), (std::vector<int64_t>{1, 1, 3, 2}));
  const std::vector<int64_t> expected = {0, 3, 1, 4, 2, 5};
  for (int64_t i = 0; i < lying.count(); ++i)
    EXPECT_EQ(lying.get_int(i), expected[static_cast<size_t>(i)]);
}

TEST(BoundaryOrder, EachUndoesTheOther) {
  std::vector<int> order = {0, 1, 2, 3};
  do {
    const Tensor x = counted({2, 3, 4, 5});
    for (const Tensor& back :
         {stored(logical(x, order), order), logical(stored(x, order), order)}) {
      ASSERT_EQ(back.dims(), x.dims());
      EXPECT_TRUE(std::ranges::equal(back.bytes(), x.bytes()));
    }
  } while (std::ranges::next_permutation(order).found);
}

}  // namespace
}  // namespace layline

#include "base/all_zero.h"

#include <gtest/gtest.h>

#include <vector>

namespace layline {
namespace {

TEST(AllZero, FindsEveryByte) {
  EXPECT_TRUE(all_zero({}));
  for (const size_t size : {1, 2, 15, 16, 17, 100}) {
    std::vector<std::byte> bytes(size);
    EXPECT_TRUE(all_zero(bytes));
    for (std::byte& byte : bytes) {
      byte = std::byte{1};
      EXPECT_FALSE(all_zero(bytes));
      byte = std::byte{0};
    }
    EXPECT_FALSE(all_zero(std::vector<std::byte>(size, std::byte{7})));
  }
}

}  // namespace
}  // namespace layline

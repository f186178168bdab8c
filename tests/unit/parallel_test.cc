#include "base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace layline {
namespace {

TEST(InParallel, DoesEverythingOnce) {
  for (const size_t count : {0, 1, 2, 1000}) {
    std::vector<int> done(count, 0);
    in_parallel(count, [&](size_t i) { ++done[i]; });
    EXPECT_EQ(done, std::vector<int>(count, 1));
  }
}

TEST(InParallel, PiecesMakeUpTheWhole) {
  for (const size_t count : {0, 1, 5, 1000})
    for (const size_t bytes : {0, 1, 1 << 12, 1 << 20, 1 << 22}) {
      std::vector<int> done(count, 0);
      in_parallel_pieces(count, bytes, [&](size_t begin, size_t end) {
        EXPECT_LT(begin, end);
        for (size_t i = begin; i < end; ++i) ++done[i];
      });
      EXPECT_EQ(done, std::vector<int>(count, 1));
    }
}

TEST(InParallel, GivesOnWhatIsThrownWhenAllIsDone) {
  std::atomic<int> done = 0;
  const auto work = [&](size_t i) {
    ++done;
    if (i % 3 == 1) throw std::runtime_error("one of them");
  };
  EXPECT_THROW(in_parallel(100, work), std::runtime_error);
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace layline

// RESIZE's scales as exact integers, and its limits.
#include "targets/tosa/resize_scale.h"

#include <gtest/gtest.h>

#include <array>

namespace layline::tosa {
namespace {

using Numbers = std::array<int64_t, 4>;  // numerator, denominator, offset, border

std::optional<Numbers> scale(double step, int64_t in, int64_t out, ResizeMode mode,
                             bool align_corners = false) {
  const auto found = resize_scale({{1, out}, {1, step}, mode, align_corners}, 1, in);
  if (!found) return std::nullopt;
  return Numbers{found->numerator, found->denominator, found->offset, found->border};
}

std::optional<Numbers> smooth(double step, int64_t in, int64_t out) {
  return scale(step, in, out, ResizeMode::bilinear);
}

std::optional<Numbers> corners(double step, int64_t in, int64_t out) {
  return scale(step, in, out, ResizeMode::bilinear, true);
}

std::optional<Numbers> nearest(double step, int64_t in, int64_t out) {
  return scale(step, in, out, ResizeMode::nearest);
}

/// (i + 1/2) p/q - 1/2 is (i 2p + p - q) / 2q, and the border is where the last one is beyond the
/// last element, in 2q-ths.
TEST(TosaResizeScale, BetweenElements) {
  EXPECT_EQ(smooth(1.0 / 3, 2, 6), (Numbers{6, 2, -2, 2}));    // 5 * 2 - 1 * 6 - 2
  EXPECT_EQ(smooth(1.5, 6, 4), (Numbers{4, 6, 1, -1}));        // 3 * 6 - 5 * 4 + 1
  EXPECT_EQ(smooth(7.0 / 5, 7, 5), (Numbers{10, 14, 2, -2}));  // 4 * 14 - 6 * 10 + 2
  EXPECT_EQ(corners(0.25, 3, 9), (Numbers{4, 1, 0, 0}));
  EXPECT_EQ(corners(2.0 / 3, 5, 7), (Numbers{3, 2, 0, 0}));
  EXPECT_EQ(corners(2, 5, 2), (Numbers{1, 2, 0, -2}));
}

TEST(TosaResizeScale, ToTheElementBefore) {
  EXPECT_EQ(nearest(1, 4, 4), (Numbers{2, 2, 0, 0}));
  EXPECT_EQ(nearest(1.0 / 3, 2, 6), (Numbers{6, 2, -2, 2}));
  EXPECT_EQ(nearest(2, 8, 4), (Numbers{2, 4, -1, -3}));        // 3 * 4 - 7 * 2 - 1
  EXPECT_EQ(nearest(2.0 / 3, 4, 6), (Numbers{6, 4, -3, -1}));  // 5 * 4 - 3 * 6 - 3
  // In single precision 11 * 13/11 is less than 13, and torch takes the twelfth element.
  EXPECT_EQ(nearest(13.0 / 11, 13, 11), (Numbers{22, 26, -11, -15}));
  EXPECT_FALSE(nearest(13.0 / 11, 14, 12));
  EXPECT_TRUE(smooth(13.0 / 11, 14, 12));
}

TEST(TosaResizeScale, LimitsOfTosa) {
  // The numerator is at most 2048.
  EXPECT_EQ(smooth(1023.0 / 1024, 1023, 1024), (Numbers{2048, 2046, -1, 1}));
  EXPECT_FALSE(smooth(1024.0 / 1025, 1024, 1025));
  EXPECT_EQ(corners(2047.0 / 2048, 2048, 2049), (Numbers{2048, 2047, 0, 0}));
  EXPECT_FALSE(corners(2048.0 / 2049, 2049, 2050));
  // Sizes shrink to more than a sixteenth.
  EXPECT_EQ(smooth(15.5, 31, 2), (Numbers{4, 62, 29, -29}));
  EXPECT_FALSE(smooth(16, 32, 2));
  // They grow to 256 times at most.
  EXPECT_EQ(smooth(1.0 / 256, 1, 256), (Numbers{512, 2, -255, 255}));
  EXPECT_FALSE(smooth(1.0 / 257, 1, 257));
  // The border is within 16 elements, and before the element after the last.
  EXPECT_EQ(smooth(1, 17, 1), (Numbers{2, 2, 0, -32}));
  EXPECT_FALSE(smooth(1, 18, 1));
  EXPECT_EQ(smooth(0.5, 1, 3), (Numbers{4, 2, -1, 3}));
  EXPECT_FALSE(smooth(1.0 / 3, 1, 5));  // 4 * 2 - 2 = 6
}

/// The step is given as a double: no place may be off by more than a millionth.
TEST(TosaResizeScale, AFractionIsNearEnoughForAllPlaces) {
  EXPECT_EQ(smooth(0.5 + 4e-7, 1, 2), (Numbers{4, 2, -1, 1}));
  EXPECT_FALSE(smooth(0.5 + 4e-7, 2, 3));
  EXPECT_EQ(smooth(0.5 - 4e-7, 1, 2), (Numbers{4, 2, -1, 1}));
  EXPECT_FALSE(smooth(0.5 - 4e-7, 2, 3));
}

/// With align_corners a single result has a step of 0.
TEST(TosaResizeScale, ASingleResultIsTheFirstElement) {
  EXPECT_EQ(corners(0, 1, 1), (Numbers{1, 1, 0, 0}));
  EXPECT_EQ(corners(0, 3, 1), (Numbers{1, 1, 0, -2}));
  EXPECT_EQ(corners(0.5, 3, 1), (Numbers{2, 1, 0, -4}));
  EXPECT_FALSE(corners(0, 1, 2));
  EXPECT_FALSE(corners(0, 2, 2));
}

}  // namespace
}  // namespace layline::tosa

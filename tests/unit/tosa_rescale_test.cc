// RESCALE's multipliers and shifts, and the clamps after it, as exact integers.
#include "targets/tosa/rescale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "tosa_testing.h"

namespace layline::tosa {
namespace {

struct Scale {
  double scale;
  int64_t multiplier;
  int shift;
};

/// A multiplier has 31 bits, the highest of which is set: 2^k is 2^30 shifted by 30 - k.
TEST(TosaRescale, AMultiplierIsTheScaleIn31Bits) {
  const Scale scales[] = {
      {1, 1 << 30, 30},
      {0.5, 1 << 30, 31},
      {3, 3 << 29, 29},
      {1.0 / 3, 1431655765, 32},  // 2^32 / 3 = 1431655765.33
      {2.0 / 3, 1431655765, 31},
      {0.1, 1717986918, 34},                   // 2^34 / 10 = 1717986918.4
      {0.2 / 3, 1145324612, 34},               // 2^34 / 15 = 1145324612.27
      {0.7, 1503238554, 31},                   // 0.7 * 2^31 = 1503238553.6, rounded up
      {1 - 0x1p-40, 1 << 30, 30},              // rounds to 2^31, which is a bit too many
      {1 - 0x1p-31, 0x7fffffff, 31},           // the largest multiplier
      {0x1p28, 1 << 30, 2},                    // the least shift
      {0x1p29 - 1, 0x7ffffffc, 2},             //
      {0x1p-32, 1 << 30, 62},                  // the most
      {0x1p-33, 1 << 29, 62},                  // and from here on bits are lost,
      {0x1p-63 * 0x40000001, 0x20000001, 62},  // rounded: 2^30 + 1 in half is 2^29 + 1/2
      {0x1p-64 * 0x60000001, 0x18000001, 62},
      {0x1p-62, 1, 62},
  };
  for (const Scale& wanted : scales) {
    const auto found = multiplier_of(wanted.scale);
    ASSERT_TRUE(found) << wanted.scale;
    EXPECT_EQ(found->multiplier, wanted.multiplier) << wanted.scale;
    EXPECT_EQ(found->shift, wanted.shift) << wanted.scale;
  }
}

TEST(TosaRescale, ShiftsAreFrom2OnAndScalesArePositiveNumbers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double scale : {0x1p29, 0x1p29 * (1 - 0x1p-40), 0x1p60, kInfinity, -kInfinity, 0.0,
                             -0.0, -0.5, std::nan("")})
    EXPECT_FALSE(multiplier_of(scale)) << scale;
  EXPECT_TRUE(has_multipliers({1, 0.5}));
  EXPECT_TRUE(has_multipliers({}));
  EXPECT_FALSE(has_multipliers({1, 0x1p29}));
  EXPECT_FALSE(has_multipliers({0x1p29, 1}));
}

/// The operators of a product whose result is quantised so; the last one tells about its clamp.
std::string last_of_product(const std::string& result, std::string_view bounds = "") {
  return listing(on_integers(
                     {{"4", i8(0.5)}, {"4", i8(0.5)}},
                     fmt::format("%y = mul(%a, %b) {{ {} quantisation = {} }}", bounds, result)))
      .back();
}

struct Clamped {
  std::string result;
  std::string_view bounds;
  std::string_view clamp;  // empty: none
};

/// What the integers of the dtype are within is not clamped. Of 16 bits the least integer, which
/// quantisers leave out, is not worth an operator; of 8 bits it is.
TEST(TosaRescale, AResultIsClampedToWhatItsRangeAndBoundsLeave) {
  const Clamped cases[] = {
      {i8(1), "", ""},
      {i8(1, 0, "-127,127"), "", "(-127,127)"},
      {i8(1, 0, "-128,126"), "", "(-128,126)"},
      {i16(1), "", ""},
      {i16(1, "-32768,32767"), "", ""},
      {i16(1, "-32766,32767"), "", "(-32766,32767)"},
      {i16(1, "-32767,32766"), "", "(-32767,32766)"},
      {i16(1, "-32768,32766"), "", "(-32768,32766)"},
      // A fused clamp, in the integers of the result: 6 / 0.5 - 28 = -16, 0 is the zero point.
      {i8(0.5, -28), "bounds = [0,6],", "(-28,-16)"},
      {i8(0.5, -28), "bounds = [0,inf],", "(-28,127)"},
      {i8(0.5, -28), "bounds = [-inf,6],", "(-128,-16)"},
      {i8(0.5, -28), "bounds = [-1,6],", "(-30,-16)"},
      // Where a zero point seems to imply it, the bound is that of the range.
      {i8(0.5, -128), "bounds = [0,inf],", ""},
      {i8(0.5, -127, "-127,127"), "bounds = [0,inf],", "(-127,127)"},
      // Bounds beyond the range change nothing.
      {i8(0.5, 0), "bounds = [-1000,1000],", ""},
      {i8(0.5, 0, "-127,127"), "bounds = [-1000,1000],", "(-127,127)"},
      {i16(0.5), "bounds = [-2,3],", "(-4,6)"},
      {i16(0.001), "bounds = [0,1],", "(0,1000)"},
  };
  for (const Clamped& wanted : cases) {
    SCOPED_TRACE(wanted.result + std::string(wanted.bounds));
    const std::string last = last_of_product(wanted.result, wanted.bounds);
    if (wanted.clamp.empty())
      EXPECT_NE(last.find("= RESCALE(32) "), std::string::npos) << last;
    else
      EXPECT_NE(last.find(fmt::format("= CLAMP{} ", wanted.clamp)), std::string::npos) << last;
  }
}

Value* quantised(Graph& graph, Quantisation quantisation) {
  Value* x = graph.add_input(fmt::format("x{}", graph.inputs().size()), {DType::f32, {2, 2}});
  return Builder(graph, nullptr).add(Op::quantize, {x}, QuantisationAttrs{std::move(quantisation)});
}

TEST(TosaRescale, ActivationsAreOf8BitsOrOf16Around0WithOneScale) {
  Graph graph("g");
  const auto is = [&](Quantisation quantisation) {
    return is_activation(quantised(graph, std::move(quantisation)));
  };
  EXPECT_TRUE(is(per_tensor(DType::i8, 0.5f, 7)));
  EXPECT_TRUE(is(per_tensor(DType::i16, 0.5f, 0)));
  EXPECT_FALSE(is(per_tensor(DType::i16, 0.5f, 1)));
  EXPECT_FALSE(is(per_tensor(DType::u8, 0.5f, 0)));
  EXPECT_FALSE(is({DType::i8, -128, 127, {2, 1}, {0.5f, 0.5f}, {}}));
  EXPECT_FALSE(is_activation(graph.inputs()[0].value));
}

}  // namespace
}  // namespace layline::tosa

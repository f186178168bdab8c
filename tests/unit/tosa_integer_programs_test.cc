// Quantised ops as TOSA programs, operator by operator: attributes, zero points, biases, and the
// integers of every RESCALE. Scales are powers of two where they can be, so that 2^k is the
// multiplier 2^30 with a shift of 30 - k.
#include <gtest/gtest.h>

#include "targets/tosa/accelerator.h"
#include "tosa_testing.h"

namespace layline::tosa {
namespace {

struct Case {
  std::string_view why;
  std::string text;
  Lines lines;
};

void expect_programs(const std::vector<Case>& cases, const Accelerator* accelerator = nullptr) {
  for (const Case& one : cases) EXPECT_EQ(listing(one.text, accelerator), one.lines) << one.why;
}

const Accelerator& u55() { return find_accelerator("ethos-u55-128"); }
const Accelerator& u85() { return find_accelerator("ethos-u85-128"); }

/// A weight of equal integers.
std::string weight(std::string_view shape, int value, std::string_view table,
                   std::string_view scales) {
  return fmt::format(
      "%w = constant() {{ data = i8[{}] splat {}, quantisation = i8 in [-127,127] scale f32[{}] "
      "({}) }}\n",
      shape, value, table, scales);
}

std::string bias(std::string_view shape, std::string_view numbers) {
  return fmt::format("%b = constant() {{ data = f32[{}] ({}) }}\n", shape, numbers);
}

TEST(TosaIntegerPrograms, Convolutions) {
  constexpr std::string_view kWindow =
      "stride = [1,2], dilation = [1,1], low = [1,0], high = [0,2]";
  expect_programs({
      {"a bias in the scale of the sums, and a scale for each output",
       // 0.5 * 0.5 and 0.5 * 0.25 are the sums' scales: 3 is 12 of the first, -1 is -8 of the
       // other.
       on_integers(
           {{"1,4,5,2", i8(0.5, 3)}},
           weight("2,2,3,2", 1, "2,1,1,1", "0.5, 0.25") + bias("2", "3, -1") +
               fmt::format("%y = conv(%a, %w, %b) {{ {}, quantisation = {} }}", kWindow, i8(1, 5))),
       {"%0 = CONV2D(pad=1,0,0,2 stride=1,2 dilation=1,1 acc=INT32) a i8[2,2,3,2]{24 x 1} "
        "i32{12,-8} i8{3} i8{0} -> INT32[1,4,3,2]",
        "y = RESCALE(32 each) %0 i32{1073741824,1073741824} i8{32,33} i32{0} i8{5} -> "
        "INT8[1,4,3,2]"}},
      {"one scale for all outputs, and a bias that is rounded: 1.2, 1.8, and 2.5 to even",
       on_integers({{"1,1,1,2", i8(0.5)}},
                   weight("3,1,1,2", -7, "", "0.5") + bias("3", "0.3, 0.45, 0.625") +
                       "%y = conv(%a, %w, %b) { stride = [1,1], dilation = [2,3], low = [0,0], "
                       "high = [0,0], quantisation = " +
                       i8(0.125) + " }"),
       {"%0 = CONV2D(pad=0,0,0,0 stride=1,1 dilation=2,3 acc=INT32) a "
        "i8[3,1,1,2]{-7,-7,-7,-7,-7,-7} i32{1,2,2} i8{0} i8{0} -> INT32[1,1,1,3]",
        "y = RESCALE(32) %0 i32{1073741824} i8{29} i32{0} i8{0} -> INT8[1,1,1,3]"}},
      {"a filter for each channel, of which there are two: in the order [h, w, C, M]",
       on_integers({{"1,2,1,2", i8(1, -9)}},
                   "%w = constant() { data = i8[4,2,1,1] (1, 2, 3, 4, 5, 6, 7, 8), quantisation = "
                   "i8 in [-127,127] scale f32[4,1,1,1] (1, 2, 4, 8) }\n"
                   "%y = conv(%a, %w) { stride = [1,1], dilation = [1,1], low = [0,0], high = "
                   "[0,0], groups = 2, quantisation = " +
                       i8(2) + " }"),
       {"%0 = DEPTHWISE_CONV2D(pad=0,0,0,0 stride=1,1 dilation=1,1 acc=INT32) a "
        "i8[2,1,2,2]{1,3,5,7,2,4,6,8} i32{0} i8{-9} i8{0} -> INT32[1,1,1,4]",
        "y = RESCALE(32 each) %0 i32{1073741824,1073741824,1073741824,1073741824} i8{31,30,29,28} "
        "i32{0} i8{0} -> INT8[1,1,1,4]"}},
      {"a volume",
       on_integers({{"1,2,2,2,1", i8(1)}},
                   weight("1,2,1,1,1", 3, "", "1") +
                       "%y = conv(%a, %w) { stride = [1,1,1], dilation = [1,1,1], low = [0,0,1], "
                       "high = [0,1,0], quantisation = " +
                       i8(1) + " }"),
       {"%0 = CONV3D(pad=0,0,0,1,1,0 stride=1,1,1 dilation=1,1,1 acc=INT32) a i8[1,2,1,1,1]{3,3} "
        "i32{0} i8{0} i8{0} -> INT32[1,1,3,3,1]",
        "y = RESCALE(32) %0 i32{1073741824} i8{30} i32{0} i8{0} -> INT8[1,1,3,3,1]"}},
      {"transposed: what is cropped is negative padding, what is extra is positive",
       on_integers({{"1,2,2,1", i8(1, 1)}},
                   weight("1,3,4,1", 2, "", "1") +
                       "%y = conv_transpose(%a, %w) { stride = [2,3], dilation = [1,1], low = "
                       "[1,0], high = [0,2], extra = [1,0], quantisation = " +
                       i8(1) + " }"),
       {"%0 = TRANSPOSE_CONV2D(out_pad=-1,1,0,-2 stride=2,3 acc=INT32) a i8[1,3,4,1]{2,2,2,2,2,2,"
        "2,2,2,2,2,2} i32{0} i8{1} i8{0} -> INT32[1,5,5,1]",
        "y = RESCALE(32) %0 i32{1073741824} i8{30} i32{0} i8{0} -> INT8[1,5,5,1]"}},
  });
}

/// A row of weights whose absolute values add up to `sum`, at operands of 16 bits with scale 1.
std::string linear16(int count, int value, std::string_view bias_number = "") {
  const std::string row = weight(fmt::format("1,{}", count), value, "", "1");
  if (bias_number.empty())
    return on_integers({{fmt::format("2,{}", count), i16(1)}},
                       row + "%y = linear(%a, %w) { quantisation = " + i16(0x1p20) + " }");
  return on_integers({{fmt::format("2,{}", count), i16(1)}},
                     row + bias("1", bias_number) +
                         "%y = linear(%a, %w, %b) { quantisation = " + i16(0x1p20) + " }");
}

TEST(TosaIntegerPrograms, LinearOpsAreConvolutionsOverRows) {
  expect_programs({
      {"rows of two axes, with a bias",
       on_integers({{"2,3,4", i8(0.5, -1)}},
                   weight("2,4", 1, "2,1", "1, 2") + bias("2", "4, 8") +
                       "%y = linear(%a, %w, %b) { quantisation = " + i8(2, 6) + " }"),
       {"%0 = RESHAPE a <1,6,1,4> -> INT8[1,6,1,4]",
        "%1 = CONV2D(pad=0,0,0,0 stride=1,1 dilation=1,1 acc=INT32) %0 "
        "i8[2,1,1,4]{1,1,1,1,1,1,1,1} i32{8,8} i8{-1} i8{0} -> INT32[1,6,1,2]",
        "%2 = RESCALE(32 each) %1 i32{1073741824,1073741824} i8{32,31} i32{0} i8{6} -> "
        "INT8[1,6,1,2]",
        "y = RESHAPE %2 <2,3,2> -> INT8[2,3,2]"}},
      {"of 16 bits: 3 * 2^15 fits, and so does the bias, which is added in 32 bits",
       linear16(3, 1, "5"),
       {"%0 = RESHAPE a <1,2,1,3> -> INT16[1,2,1,3]",
        "%1 = CONV2D(pad=0,0,0,0 stride=1,1 dilation=1,1 acc=INT48) %0 i8[1,1,1,3]{1,1,1} "
        "i48[1]{0} "
        "i16{0} i8{0} -> INT48[1,2,1,1]",
        "%2 = RESCALE(16) %1 i16{16384} i8{14} i48[1]{0} i32{0} -> INT32[1,2,1,1]",
        "%3 = ADD %2 i32[1,1,1,1]{5} -> INT32[1,2,1,1]",
        "%4 = RESCALE(32) %3 i32{1073741824} i8{50} i32{0} i16{0} -> INT16[1,2,1,1]",
        "y = RESHAPE %4 <2,1> -> INT16[2,1]"}},
  });
}

/// The shift that brings sums of 48 bits to 32, and then the one to the result's scale of 2^20.
std::pair<std::string, std::string> shifts_of(const std::string& text) {
  std::vector<std::string> found;
  for (const std::string& line : listing(text)) {
    const size_t rescale = line.find("RESCALE");
    if (rescale == std::string::npos) continue;
    const size_t from = line.find("i8{", rescale);
    found.push_back(line.substr(from, line.find('}', from) + 1 - from));
  }
  EXPECT_EQ(found.size(), 2u);
  return {found[0], found[1]};
}

/// With the greatest operand, 2^15, sums are below 2^31 or are shifted so that they are. 51 * 1285
/// is 2^16 - 1.
TEST(TosaIntegerPrograms, SumsOf48BitsLoseTheBitsThat32DoNotHave) {
  using Shifts = std::pair<std::string, std::string>;
  const Shifts all{"i8{14}", "i8{50}"}, one_less{"i8{15}", "i8{49}"},
      three_less{"i8{17}", "i8{47}"};
  EXPECT_EQ(shifts_of(linear16(1285, 51)), all);
  EXPECT_EQ(shifts_of(linear16(1285, -51)), all);
  EXPECT_EQ(shifts_of(linear16(1024, 64)), one_less);
  EXPECT_EQ(shifts_of(linear16(1024, -64)), one_less);
  EXPECT_EQ(shifts_of(linear16(4096, 64)), three_less);
  // The bias counts, rounded up: 2^31 - 2^15 + 32766.5 is below 2^31 - 1.
  EXPECT_EQ(shifts_of(linear16(1285, 51, "32766.5")), all);
  EXPECT_EQ(shifts_of(linear16(1285, 51, "32767.5")), one_less);
  EXPECT_EQ(shifts_of(linear16(1285, 51, "-32767.5")), one_less);
  EXPECT_EQ(shifts_of(linear16(3, 0, "2147483520")), all);  // the float before 2^31
}

/// In the sums' scale: 40000 / 2 where they are shifted by one.
TEST(TosaIntegerPrograms, ABiasOf16BitSumsIsShiftedWithThem) {
  const Lines lines = listing(linear16(1285, 51, "40001"));
  EXPECT_NE(lines[3].find("ADD %2 i32[1,1,1,1]{20000} "), std::string::npos) << lines[3];
}

/// Of several rows the one of the largest absolute values counts, wherever it is.
TEST(TosaIntegerPrograms, TheLargestRowOfWeightsCounts) {
  for (const std::string_view numbers : {"1, 0, -100, 28", "-100, 28, 1, 0"}) {
    const std::string text = on_integers(
        {{"1,2", i16(1)}},
        fmt::format("%w = constant() {{ data = i8[2,2] ({}), quantisation = i8 in [-127,127] scale "
                    "f32[] (1) }}\n%b = constant() {{ data = f32[2] (2143289344, 0) }}\n"
                    "%y = linear(%a, %w, %b) {{ quantisation = {} }}",
                    numbers, i16(0x1p20)));
    // 2143289344 is 2^31 - 2^22; with 128 * 2^15 = 2^22 it is 2^31.
    EXPECT_EQ(shifts_of(text).first, "i8{15}") << numbers;
  }
}

std::string matmul16(int k) {
  return on_integers({{fmt::format("1,2,{}", k), i16(1)}, {fmt::format("1,{},3", k), i16(1)}},
                     "%y = matmul(%a, %b) { quantisation = " + i16(0x1p20) + " }");
}

TEST(TosaIntegerPrograms, MatrixProducts) {
  expect_programs({
      {"zero points of both",
       on_integers({{"1,2,4", i8(0.5, 3)}, {"1,4,3", i8(0.25, -4)}},
                   "%y = matmul(%a, %b) { quantisation = " + i8(4, 9) + " }"),
       {"%0 = MATMUL a b i8{3} i8{-4} -> INT32[1,2,3]",
        "y = RESCALE(32) %0 i32{1073741824} i8{35} i32{0} i8{9} -> INT8[1,2,3]"}},
      {"of 16 bits: 2^30 fits",
       matmul16(1),
       {"%0 = MATMUL a b i16{0} i16{0} -> INT48[1,2,3]",
        "%1 = RESCALE(16) %0 i16{16384} i8{14} i48[1]{0} i32{0} -> INT32[1,2,3]",
        "y = RESCALE(32) %1 i32{1073741824} i8{50} i32{0} i16{0} -> INT16[1,2,3]"}},
  });
  // 2 * 2^30 and 3 * 2^30 have a bit too many, 4 * 2^30 two.
  EXPECT_EQ(shifts_of(matmul16(2)), (std::pair<std::string, std::string>("i8{15}", "i8{49}")));
  EXPECT_EQ(shifts_of(matmul16(3)), (std::pair<std::string, std::string>("i8{15}", "i8{49}")));
  EXPECT_EQ(shifts_of(matmul16(4)), (std::pair<std::string, std::string>("i8{16}", "i8{48}")));
}

/// Sums are taken 2^19 times as fine as the coarser of two operands of 8 bits, or 2^14 times where
/// one is of 16.
TEST(TosaIntegerPrograms, SumsAndDifferences) {
  expect_programs({
      {"a - b, the first of which is coarser",
       on_integers({{"4", i8(0.5, 3)}, {"4", i8(0.25, -2)}},
                   "%y = sub(%a, %b) { quantisation = " + i8(2, 1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{11} i8{3} i32{0} -> INT32[4]",
        "%1 = RESCALE(32) b i32{1073741824} i8{12} i8{-2} i32{0} -> INT32[4]",
        "%2 = SUB %0 %1 -> INT32[4]",
        "y = RESCALE(32) %2 i32{1073741824} i8{51} i32{0} i8{1} -> INT8[4]"}},
      {"of 16 bits, and broadcast",
       on_integers({{"1,4", i16(0.25)}, {"2,1", i16(0.5)}},
                   "%y = add(%a, %b) { quantisation = " + i16(1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{17} i16{0} i32{0} -> INT32[1,4]",
        "%1 = RESCALE(32) b i32{1073741824} i8{16} i16{0} i32{0} -> INT32[2,1]",
        "%2 = ADD %0 %1 -> INT32[2,4]",
        "y = RESCALE(32) %2 i32{1073741824} i8{45} i32{0} i16{0} -> INT16[2,4]"}},
      {"of 8 bits and 16",
       on_integers({{"4", i8(1)}, {"4", i16(1)}},
                   "%y = add(%a, %b) { quantisation = " + i16(1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{16} i8{0} i32{0} -> INT32[4]",
        "%1 = RESCALE(32) b i32{1073741824} i8{16} i16{0} i32{0} -> INT32[4]",
        "%2 = ADD %0 %1 -> INT32[4]",
        "y = RESCALE(32) %2 i32{1073741824} i8{44} i32{0} i16{0} -> INT16[4]"}},
      {"of 16 bits and 8",
       on_integers({{"4", i16(1)}, {"4", i8(1)}},
                   "%y = sub(%a, %b) { quantisation = " + i8(1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{16} i16{0} i32{0} -> INT32[4]",
        "%1 = RESCALE(32) b i32{1073741824} i8{16} i8{0} i32{0} -> INT32[4]",
        "%2 = SUB %0 %1 -> INT32[4]",
        "y = RESCALE(32) %2 i32{1073741824} i8{44} i32{0} i8{0} -> INT8[4]"}},
  });
}

TEST(TosaIntegerPrograms, Products) {
  expect_programs({
      {"of 8 bits, less their zero points",
       on_integers({{"4", i8(0.5, 3)}, {"4", i8(0.25, -2)}},
                   "%y = mul(%a, %b) { quantisation = " + i8(2, 1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{30} i8{3} i32{0} -> INT32[4]",
        "%1 = RESCALE(32) b i32{1073741824} i8{30} i8{-2} i32{0} -> INT32[4]",
        "%2 = MUL %0 %1 i8{0} -> INT32[4]",
        "y = RESCALE(32) %2 i32{1073741824} i8{34} i32{0} i8{1} -> INT8[4]"}},
      {"of 16 bits, as they are",
       on_integers({{"1,4", i16(0.5)}, {"2,1", i16(0.25)}},
                   "%y = mul(%a, %b) { quantisation = " + i16(2) + " }"),
       {"%0 = MUL a b i8{0} -> INT32[2,4]",
        "y = RESCALE(32) %0 i32{1073741824} i8{34} i32{0} i16{0} -> INT16[2,4]"}},
      {"of 8 bits and of 16",
       on_integers({{"4", i8(1, 5)}, {"4", i16(1)}},
                   "%y = mul(%a, %b) { quantisation = " + i16(1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{30} i8{5} i32{0} -> INT32[4]",
        "%1 = RESCALE(32) b i32{1073741824} i8{30} i16{0} i32{0} -> INT32[4]",
        "%2 = MUL %0 %1 i8{0} -> INT32[4]",
        "y = RESCALE(32) %2 i32{1073741824} i8{30} i32{0} i16{0} -> INT16[4]"}},
      {"of both: MUL takes one type",
       on_integers({{"4", i16(1)}, {"4", i8(1, 5)}},
                   "%y = mul(%a, %b) { quantisation = " + i16(1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{30} i16{0} i32{0} -> INT32[4]",
        "%1 = RESCALE(32) b i32{1073741824} i8{30} i8{5} i32{0} -> INT32[4]",
        "%2 = MUL %0 %1 i8{0} -> INT32[4]",
        "y = RESCALE(32) %2 i32{1073741824} i8{30} i32{0} i16{0} -> INT16[4]"}},
  });
}

TEST(TosaIntegerPrograms, Reductions) {
  expect_programs({
      {"a mean over two axes: 1/8 of the sum",
       on_integers({{"2,3,4", i8(1, 7)}},
                   "%y = reduce_mean(%a) { axes = [0,2], quantisation = " + i8(0.5, 1) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{30} i8{7} i32{0} -> INT32[2,3,4]",
        "%1 = REDUCE_SUM(0) %0 -> INT32[1,3,4]", "%2 = REDUCE_SUM(2) %1 -> INT32[1,3,1]",
        "y = RESCALE(32) %2 i32{1073741824} i8{32} i32{0} i8{1} -> INT8[1,3,1]"}},
      {"a sum, which is not divided",
       on_integers({{"2,4", i16(1)}},
                   "%y = reduce_sum(%a) { axes = [1], quantisation = " + i16(0.5) + " }"),
       {"%0 = RESCALE(32) a i32{1073741824} i8{30} i16{0} i32{0} -> INT32[2,4]",
        "%1 = REDUCE_SUM(1) %0 -> INT32[2,1]",
        "y = RESCALE(32) %1 i32{1073741824} i8{29} i32{0} i16{0} -> INT16[2,1]"}},
      {"maxima, one axis at a time",
       on_integers({{"2,3,4", i8(1, 7)}},
                   "%y = reduce_max(%a) { axes = [0,2], quantisation = " + i8(1, 7) + " }"),
       {"%0 = REDUCE_MAX(0) a -> INT8[1,3,4]", "y = REDUCE_MAX(2) %0 -> INT8[1,3,1]"}},
      {"minima of 16 bits",
       on_integers({{"2,3,4", i16(1)}},
                   "%y = reduce_min(%a) { axes = [0,1,2], quantisation = " + i16(1) + " }"),
       {"%0 = REDUCE_MIN(0) a -> INT16[1,3,4]", "%1 = REDUCE_MIN(1) %0 -> INT16[1,1,4]",
        "y = REDUCE_MIN(2) %1 -> INT16[1,1,1]"}},
      {"a maximum along no axis is the operand",
       on_integers({{"2,3", i8(1, 7)}},
                   "%y = reduce_max(%a) { axes = [], quantisation = " + i8(1, 7) + " }"),
       {"y = IDENTITY a -> INT8[2,3]"}},
  });
}

/// 2^22 numbers of 8 bits add up to 2^30, and 2^15 of 16 bits do. Of more, less of each is added.
TEST(TosaIntegerPrograms, ManyNumbersAreAddedInACoarserScale) {
  struct Sum {
    std::string quantisation;
    int64_t count;
    int first, last;  // shifts
  };
  for (const Sum& sum : {Sum{i8(1), int64_t{1} << 22, 30, 30}, Sum{i8(1), int64_t{1} << 23, 31, 29},
                         Sum{i8(1), (int64_t{1} << 23) - 1, 30, 30},
                         Sum{i8(1), int64_t{1} << 25, 33, 27}, Sum{i16(1), 1 << 15, 30, 30},
                         Sum{i16(1), (1 << 16) - 1, 30, 30}, Sum{i16(1), 1 << 16, 31, 29}}) {
    const Lines lines = listing(on_integers(
        {{fmt::format("{}", sum.count), sum.quantisation}},
        fmt::format("%y = reduce_sum(%a) {{ axes = [0], quantisation = {} }}", sum.quantisation)));
    ASSERT_EQ(lines.size(), 3u);
    const auto has_shift = [](const std::string& line, int shift) {
      return line.find(fmt::format("i32{{1073741824}} i8{{{}}}", shift)) != std::string::npos;
    };
    EXPECT_TRUE(has_shift(lines[0], sum.first)) << sum.count << ": " << lines[0];
    EXPECT_TRUE(has_shift(lines[2], sum.last)) << sum.count << ": " << lines[2];
  }
}

std::string pool(std::string_view op, std::string_view shape, const std::string& from,
                 std::string_view attributes, const std::string& to) {
  return on_integers(
      {{std::string(shape), from}},
      fmt::format("%y = {}(%a) {{ dilation = [1,1], {}, quantisation = {} }}", op, attributes, to));
}

TEST(TosaIntegerPrograms, Pools) {
  constexpr std::string_view kBare = "kernel = [2,3], stride = [2,1], low = [0,0], high = [0,0]",
                             kPadded = "kernel = [2,3], stride = [1,1], low = [1,0], high = [0,1]";
  expect_programs({
      {"a maximum",
       pool("max_pool", "1,4,5,2", i8(0.5, 3), kPadded, i8(0.5, 3)),
       {"y = MAX_POOL2D(kernel=2,3 stride=1,1 pad=1,0,0,1) a -> INT8[1,4,4,2]"}},
      {"a maximum that is clamped: 0 is 3, and 2 is 7",
       pool("max_pool", "1,4,5,2", i8(0.5, 3), fmt::format("{}, bounds = [0,2]", kBare),
            i8(0.5, 3)),
       {"%0 = MAX_POOL2D(kernel=2,3 stride=2,1 pad=0,0,0,0) a -> INT8[1,2,3,2]",
        "y = CLAMP(3,7) %0 -> INT8[1,2,3,2]"}},
      {"an average in the scale of the operand",
       pool("avg_pool", "1,4,5,2", i8(0.5, 3), kPadded, i8(0.5, 3)),
       {"y = AVG_POOL2D(kernel=2,3 stride=1,1 pad=1,0,0,1 acc=INT32) a i8{3} i8{3} -> "
        "INT8[1,4,4,2]"}},
      {"and clamped, which a RESCALE by 1 comes before",
       pool("avg_pool", "1,4,5,2", i8(0.5, 3), fmt::format("{}, bounds = [0,2]", kBare),
            i8(0.5, 3)),
       {"%0 = AVG_POOL2D(kernel=2,3 stride=2,1 pad=0,0,0,0 acc=INT32) a i8{3} i8{3} -> "
        "INT8[1,2,3,2]",
        "%1 = RESCALE(32) %0 i32{1073741824} i8{30} i8{3} i8{3} -> INT8[1,2,3,2]",
        "y = CLAMP(3,7) %1 -> INT8[1,2,3,2]"}},
      {"in another scale: sums of 8, and 2/8 of them",
       pool("avg_pool", "1,4,5,1", i8(0.5, 3),
            "kernel = [2,4], stride = [2,1], low = [0,0], high = [0,0]", i8(0.25, 1)),
       {"%0 = DEPTHWISE_CONV2D(pad=0,0,0,0 stride=2,1 dilation=1,1 acc=INT32) a "
        "i8[2,4,1,1]{1,1,1,1,1,1,1,1} i32{0} i8{3} i8{0} -> INT32[1,2,2,1]",
        "y = RESCALE(32) %0 i32{1073741824} i8{32} i32{0} i8{1} -> INT8[1,2,2,1]"}},
      {"of 16 bits, whose sums have 48",
       pool("avg_pool", "1,4,5,1", i16(0.5),
            "kernel = [2,4], stride = [2,1], low = [0,0], high = [0,0]", i16(0.25)),
       {"%0 = DEPTHWISE_CONV2D(pad=0,0,0,0 stride=2,1 dilation=1,1 acc=INT48) a "
        "i8[2,4,1,1]{1,1,1,1,1,1,1,1} i48[1]{0} i16{0} i8{0} -> INT48[1,2,2,1]",
        "%1 = RESCALE(16) %0 i16{16384} i8{14} i48[1]{0} i32{0} -> INT32[1,2,2,1]",
        "y = RESCALE(32) %1 i32{1073741824} i8{32} i32{0} i16{0} -> INT16[1,2,2,1]"}},
      // Rows have 1, 2, 2 elements, and columns 2, 2, 1: products 2, 2, 1, 4, 4, 2, 4, 4, 2.
      {"padded: 2^22 divided by how many elements each window has",
       pool("avg_pool", "1,3,3,1", i8(0.5, 3),
            "kernel = [2,2], stride = [1,1], low = [1,0], high = [0,1]", i8(0.25, 1)),
       {"%0 = DEPTHWISE_CONV2D(pad=1,0,0,1 stride=1,1 dilation=1,1 acc=INT32) a "
        "i8[2,2,1,1]{1,1,1,1} i32{0} i8{3} i8{0} -> INT32[1,3,3,1]",
        "%1 = MUL %0 i32[1,3,3,1]{2097152,2097152,4194304,1048576,1048576,2097152,1048576,1048576,"
        "2097152} i8{0} -> INT32[1,3,3,1]",
        "y = RESCALE(32) %1 i32{1073741824} i8{51} i32{0} i8{1} -> INT8[1,3,3,1]"}},
      {"padded, of 16 bits: 2^30 divided, and 15 bits dropped of the product",
       pool("avg_pool", "1,2,3,1", i16(1),
            "kernel = [2,1], stride = [1,1], low = [0,0], high = [1,0]", i16(0.5)),
       {"%0 = DEPTHWISE_CONV2D(pad=0,1,0,0 stride=1,1 dilation=1,1 acc=INT48) a "
        "i8[2,1,1,1]{1,1} i48[1]{0} i16{0} i8{0} -> INT48[1,2,3,1]",
        "%1 = RESCALE(16) %0 i16{16384} i8{14} i48[1]{0} i32{0} -> INT32[1,2,3,1]",
        "%2 = MUL %1 i32[1,2,3,1]{536870912,536870912,536870912,1073741824,1073741824,1073741824} "
        "i8{15} -> INT32[1,2,3,1]",
        "y = RESCALE(32) %2 i32{1073741824} i8{44} i32{0} i16{0} -> INT16[1,2,3,1]"}},
  });
}

/// Whether an average in another scale is summed by a convolution, or is AVG_POOL2D and a RESCALE.
bool is_summed(std::string_view shape, std::string_view kernel, std::string_view stride,
               const Accelerator* accelerator) {
  const Lines lines = listing(
      pool("avg_pool", shape, i8(0.5),
           fmt::format("kernel = [{}], stride = [{}], low = [0,0], high = [0,0]", kernel, stride),
           i8(0.25)),
      accelerator);
  EXPECT_EQ(lines.size(), 2u);  // one or the other, and a RESCALE
  return lines[0].find("DEPTHWISE_CONV2D") != std::string::npos;
}

TEST(TosaIntegerPrograms, AveragesAreSummedWhereSumsFitAndTheNpuHasTheWindow) {
  EXPECT_TRUE(is_summed("1,7,4681,1", "7,4681", "1,1", nullptr));   // 2^15 - 1
  EXPECT_FALSE(is_summed("1,8,4096,1", "8,4096", "1,1", nullptr));  // 2^15
  EXPECT_FALSE(is_summed("1,8,4096,1", "8,4096", "1,1", &u85()));
  EXPECT_TRUE(is_summed("1,65,1,1", "65,1", "1,1", &u85()));
  EXPECT_TRUE(is_summed("1,64,64,1", "64,64", "1,1", &u55()));
  EXPECT_FALSE(is_summed("1,65,1,1", "65,1", "1,1", &u55()));  // rows
  EXPECT_TRUE(is_summed("1,1,4096,1", "1,4096", "1,1", &u55()));
  EXPECT_FALSE(is_summed("1,1,4097,1", "1,4097", "1,1", &u55()));  // elements
  EXPECT_TRUE(is_summed("1,7,7,1", "1,1", "3,3", &u55()));
  EXPECT_FALSE(is_summed("1,5,7,1", "1,1", "4,3", &u55()));
  EXPECT_FALSE(is_summed("1,7,5,1", "1,1", "3,4", &u55()));
  EXPECT_TRUE(is_summed("1,5,5,1", "1,1", "4,4", &u85()));
  // A stride between windows of which there is only one is none.
  EXPECT_TRUE(is_summed("1,3,3,1", "3,3", "4,4", &u55()));
}

/// The strides of the convolution in place of an average: 1 where there is one window.
TEST(TosaIntegerPrograms, OneWindowHasNoStride) {
  const auto strides = [](std::string_view shape) {
    const std::string line =
        listing(pool("avg_pool", shape, i8(0.5),
                     "kernel = [2,2], stride = [2,3], low = [0,0], high = [0,0]", i8(0.25)))[0];
    return line.substr(line.find("stride="), 10);
  };
  EXPECT_EQ(strides("1,2,5,1"), "stride=1,3");
  EXPECT_EQ(strides("1,4,2,1"), "stride=2,1");
  EXPECT_EQ(strides("1,4,5,1"), "stride=2,3");
}

/// In the program of a quantize between two functions of real numbers, which is no table.
TEST(TosaIntegerPrograms, RealNumbersInsideAreRoundedByArithmetic) {
  const std::string text = R"(graph "g" {
    input "a" %a : f32[2,3]
    %n = neg(%a)
    %q = quantize(%n) { quantisation = i8 in [-127,126] scale f32[] (0.25) zero i32[] (5) }
    %d = dequantize(%q)
    %y = neg(%d)
    output "y" %y
  })";
  EXPECT_EQ(listing(text),
            (Lines{"%0 = NEGATE a f32{0} f32{0} -> FP32[2,3]",
                   "%1 = MUL %0 f32[1,1]{4} i8{0} -> FP32[2,3]", "%2 = CAST %1 -> INT32[2,3]",
                   "%3 = ADD %2 i32[1,1]{5} -> INT32[2,3]",
                   "%4 = MAXIMUM %3 i32[1,1]{-127} -> INT32[2,3]",
                   "%5 = MINIMUM %4 i32[1,1]{126} -> INT32[2,3]", "%6 = CAST %5 -> INT8[2,3]",
                   "%7 = CAST %6 -> INT32[2,3]", "%8 = SUB %7 i32[1,1]{5} -> INT32[2,3]",
                   "%9 = CAST %8 -> FP32[2,3]", "%10 = MUL %9 f32[1,1]{0.25} i8{0} -> FP32[2,3]",
                   "y = NEGATE %10 f32{0} f32{0} -> FP32[2,3]"}));
}

TEST(TosaIntegerPrograms, IntegersThatOnlyMove) {
  expect_programs({
      {"padding is the integer that stands for the number: 1.5 is 3 + 7",
       on_integers({{"2,3", i8(0.5, 7)}},
                   "%y = pad(%a) { low = [1,0], high = [0,2], value = 1.5 }"),
       {"y = PAD a <1,0,0,2> i8{10} -> INT8[3,5]"}},
      {"and of 0 the zero point",
       on_integers({{"2,3", i8(0.5, 7)}}, "%y = pad(%a) { low = [0,3], high = [1,0] }"),
       {"y = PAD a <0,1,3,0> i8{7} -> INT8[3,6]"}},
      {"a clamp in the integers' own scale",
       on_integers({{"4", i8(0.5, 7)}},
                   "%y = clamp(%a) { bounds = [-1,2], quantisation = " + i8(0.5, 7) + " }"),
       {"y = CLAMP(5,11) a -> INT8[4]"}},
      {"the same integers, of another scale",
       on_integers({{"4", i8(0.5, 7)}},
                   "%y = reinterpret(%a) { quantisation = " + i8(0.25, 3) + " }"),
       {"y = IDENTITY a -> INT8[4]"}},
      {"reversed along two axes",
       on_integers({{"2,3,4", i8(1)}}, "%y = flip(%a) { axes = [0,2] }"),
       {"%0 = REVERSE(0) a -> INT8[2,3,4]", "y = REVERSE(2) %0 -> INT8[2,3,4]"}},
  });
}

/// A quantised image in another size, in the words of resize_scale.
std::string resized(std::string_view shape, const std::string& from, std::string_view attributes,
                    const std::string& to) {
  return on_integers({{std::string(shape), from}},
                     fmt::format("%d = dequantize(%a)\n%r = resize(%d) {{ {} }}\n"
                                 "%y = quantize(%r) {{ quantisation = {} }}",
                                 attributes, to));
}

TEST(TosaIntegerPrograms, ResizedImages) {
  constexpr std::string_view kTwice = "size = [4,6], step = [0.5,0.5], mode = nearest",
                             kSmooth = "size = [4,6], step = [0.5,0.5]",
                             kWider = "size = [2,6], step = [1,0.5], mode = nearest";
  expect_programs({
      {"the nearest element, one axis only",
       resized("1,2,3,1", i8(0.5, 7), kWider, i8(0.5, 7)),
       {"y = RESIZE(NEAREST) a <2,2,4,2> <0,-1> <0,1> -> INT8[1,2,6,1]"}},
      {"and in another scale",
       resized("1,2,3,1", i8(0.5, 7), kTwice, i8(0.25, -2)),
       {"%0 = RESIZE(NEAREST) a <4,2,4,2> <-1,-1> <1,1> -> INT8[1,4,6,1]",
        "y = RESCALE(32) %0 i32{1073741824} i8{29} i8{7} i8{-2} -> INT8[1,4,6,1]"}},
      {"interpolated: weights are quarters along both axes, and the zero point has all 16",
       resized("1,2,3,1", i8(0.5, 7), kSmooth, i8(0.25, -2)),
       {"%0 = RESIZE(BILINEAR) a <4,2,4,2> <-1,-1> <1,1> -> INT32[1,4,6,1]",
        "%1 = SUB %0 i32[1,1,1,1]{112} -> INT32[1,4,6,1]",
        "y = RESCALE(32) %1 i32{1073741824} i8{33} i32{0} i8{-2} -> INT8[1,4,6,1]"}},
      {"of two scales: quarters of rows, and eighths of columns",
       resized("1,2,3,1", i8(0.5), "size = [4,12], step = [0.5,0.25]", i8(0.5)),
       {"%0 = RESIZE(BILINEAR) a <4,2,8,2> <-1,-3> <1,3> -> INT32[1,4,12,1]",
        "y = RESCALE(32) %0 i32{1073741824} i8{35} i32{0} i8{0} -> INT8[1,4,12,1]"}},
      {"around 0 nothing is taken off",
       resized("1,2,3,1", i8(0.5), kSmooth, i8(0.5)),
       {"%0 = RESIZE(BILINEAR) a <4,2,4,2> <-1,-1> <1,1> -> INT32[1,4,6,1]",
        "y = RESCALE(32) %0 i32{1073741824} i8{34} i32{0} i8{0} -> INT8[1,4,6,1]"}},
      {"of 16 bits by way of 48",
       resized("1,2,3,1", i16(0.5), kSmooth, i8(0.5, 1)),
       {"%0 = RESIZE(BILINEAR) a <4,2,4,2> <-1,-1> <1,1> -> INT48[1,4,6,1]",
        "%1 = RESCALE(16) %0 i16{16384} i8{14} i48[1]{0} i32{0} -> INT32[1,4,6,1]",
        "y = RESCALE(32) %1 i32{1073741824} i8{34} i32{0} i8{1} -> INT8[1,4,6,1]"}},
  });
}

/// What is not between integers on both sides is resized as it is.
TEST(TosaIntegerPrograms, RealImagesAreResizedAsReals) {
  const auto first = [](std::string_view statements) {
    return listing(on_tensors({"f32[1,2,2,1]"}, statements))[0];
  };
  constexpr std::string_view kRest =
      "%r = resize(%n) { size = [4,4], step = [0.5,0.5] } %q = quantize(%r) { quantisation = i8 in "
      "[-128,127] scale f32[] (1) } %y = dequantize(%q)";
  EXPECT_NE(first(fmt::format("%n = neg(%a) {}", kRest)).find("= NEGATE a"), std::string::npos);
  EXPECT_NE(first(fmt::format("%m = neg(%a) %n = neg(%m) {}", kRest)).find("= NEGATE a"),
            std::string::npos);
  std::string bare(kRest);
  bare.replace(bare.find("%n"), 2, "%a");
  EXPECT_NE(first(bare).find("= RESIZE(BILINEAR) a <4,2,4,2> <-1,-1> <1,1> -> FP32[1,4,4,1]"),
            std::string::npos);
  // A scale that RESCALE does not reach.
  const auto far = [](double scale) {
    return listing(
        resized("1,2,2,1", i8(1), "size = [4,4], step = [0.5,0.5], mode = nearest", i8(scale)))[0];
  };
  EXPECT_NE(far(0x1p-28).find("= RESIZE(NEAREST) a"), std::string::npos);
  EXPECT_NE(far(0x1p-29).find("= CAST a"), std::string::npos);
}

/// Sums of 16 bits times the weights' unit must be below 2^31: the unit below 2^15.
TEST(TosaIntegerPrograms, SumsOf16BitsThatDoNotFitAreInterpolatedAsReals) {
  const auto first = [](const std::string& from, int size) {
    return listing(resized("1,4,4,1", from,
                           fmt::format("size = [{0},{0}], step = [{1},{1}]", size, 4.0 / size),
                           from))[0];
  };
  // 4 to 340: 2 * 85 = 170 for each axis, 28900; to 364: 182, 33124.
  EXPECT_NE(first(i16(1), 340).find("a <170,2,170,2> "), std::string::npos) << first(i16(1), 340);
  EXPECT_NE(first(i16(1), 340).find("-> INT48"), std::string::npos) << first(i16(1), 340);
  EXPECT_NE(first(i16(1), 364).find("= CAST a"), std::string::npos) << first(i16(1), 364);
  EXPECT_NE(first(i8(1), 364).find("= RESIZE(BILINEAR) a"), std::string::npos);
  // 128 * 256 is 2^15, which is too much; the nearest element has no weights.
  const auto tall = [](std::string_view mode) {
    return listing(resized(
        "1,1,1,1", i16(1),
        fmt::format("size = [64,128], step = [{},{}]{}", 1.0 / 64, 1.0 / 128, mode), i16(1)))[0];
  };
  EXPECT_NE(tall("").find("= CAST a"), std::string::npos) << tall("");
  EXPECT_NE(tall(", mode = nearest").find("= RESIZE(NEAREST) a"), std::string::npos);
}

/// The zero of 48 bits, which the IR has not, is written once.
TEST(TosaIntegerPrograms, ZerosOf48BitsAreShared) {
  const Program program =
      lowered_with_report(
          on_integers({{"1,2", i16(1)}},
                      weight("2,2", 1, "", "1") + "%m = linear(%a, %w) { quantisation = " + i16(1) +
                          " }\n%y = linear(%m, %w) { quantisation = " + i16(1) + " }"))
          .program;
  int zeros = 0;
  for (const NamedTensor& tensor : program.tensors) {
    if (tensor.type != fb::DType::INT48 || !tensor.data) continue;
    ++zeros;
    EXPECT_EQ(tensor.data->byte_count(), 6u);
  }
  EXPECT_EQ(zeros, 1);
}

/// Tables are added with 13 bits after the point.
TEST(TosaIntegerPrograms, AFunctionOfSeveralTablesIsTheirSum) {
  const Lines lines =
      listing(on_integers({{"4", i16(0x1p-12)}},
                          "%d = dequantize(%a) %r = exp(%d) %y = quantize(%r) { quantisation = " +
                              i16(0x1p-12) + " }"));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0].find("%0 = TABLE a i16{...} -> INT32[4]"), 0u) << lines[0];
  EXPECT_EQ(lines[1].find("%1 = RESCALE(32) %0 "), 0u) << lines[1];
  // The finer one reads twice the operand.
  EXPECT_EQ(lines[2], "%2 = RESCALE(32) a i32{1073741824} i8{29} i16{0} i16{0} -> INT16[4]");
  EXPECT_EQ(lines[3].find("%3 = TABLE %2 i16{...} -> INT32[4]"), 0u) << lines[3];
  EXPECT_EQ(lines[4].find("%4 = RESCALE(32) %3 "), 0u) << lines[4];
  EXPECT_EQ(lines[5], "%5 = ADD %1 %4 -> INT32[4]");
  EXPECT_EQ(lines[6], "y = RESCALE(32) %5 i32{1073741824} i8{43} i32{0} i16{0} -> INT16[4]");
}

}  // namespace
}  // namespace layline::tosa

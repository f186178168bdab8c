// Functions of one quantised value: which are tables, and the tables' entries as integers.
#include "targets/tosa/lookup.h"

#include <gtest/gtest.h>

#include <cmath>

#include "targets/tosa/long_table.h"
#include "tosa_testing.h"

namespace layline::tosa {
namespace {

/// How the quantize that defines %y is computed: the first operator that reads integers, or the
/// table itself.
std::string first_of(const std::string& text) {
  const Lines lines = listing(text);
  const std::string& line = lines[0];
  const size_t from = line.find("= ") + 2;
  return line.substr(from, line.find(' ', from) - from);
}

/// %d is the real number of %a, which is of 8 bits.
std::string function(std::string_view statements, const std::string& to,
                     const std::string& from = i8(0.5, 3), std::string_view shape = "2,4") {
  return on_integers({{std::string(shape), from}},
                     fmt::format("%d = dequantize(%a)\n{}\n%y = quantize(%r) {{ quantisation = {} "
                                 "}}",
                                 statements, to));
}

std::vector<int64_t> table_of(const std::string& text) {
  const Program program = lowered_with_report(text).program;
  for (const NamedTensor& tensor : program.tensors) {
    if (!tensor.data || tensor.shape != std::vector<int32_t>{256}) continue;
    const layline::Tensor data = layline::tensor_of(*tensor.data);
    std::vector<int64_t> entries;
    for (int64_t i = 0; i < data.count(); ++i) entries.push_back(data.get_int(i));
    return entries;
  }
  return {};
}

/// The result for each integer of 8 bits, by a formula on integers.
void expect_table(const std::string& text, int64_t (*wanted)(int64_t integer)) {
  const std::vector<int64_t> entries = table_of(text);
  ASSERT_EQ(entries.size(), 256u) << text;
  for (int64_t i = -128; i <= 127; ++i)
    ASSERT_EQ(entries[static_cast<size_t>(i + 128)], std::clamp<int64_t>(wanted(i), -128, 127))
        << i << " of " << text;
}

TEST(TosaLookup, TablesOf8BitsHaveTheResultOfEachInteger) {
  // -(i - 3) + 3
  expect_table(function("%r = neg(%d)", i8(0.5, 3)), [](int64_t i) { return 6 - i; });
  // Twice the number, in the same scale and another zero point.
  expect_table(function("%r = add(%d, %d)", i8(0.5, -1)),
               [](int64_t i) { return 2 * (i - 3) - 1; });
  // A number that has axes, and one that is quantised itself: 0.25 * 4 = 1.
  expect_table(function("%c = constant() { data = f32[1,1] (2) } %r = mul(%d, %c)", i8(1, 5)),
               [](int64_t i) { return i - 3 + 5; });
  expect_table(
      function("%c = constant() { data = i8[1,1] (7), quantisation = i8 in [-128,127] scale f32[] "
               "(0.25) zero i32[] (3) } %k = dequantize(%c) %r = add(%d, %k)",
               i8(0.5, 0)),
      [](int64_t i) { return i - 3 + 2; });
  // Seen in another shape on the way.
  expect_table(function("%v = relayout(%d) { relayout = [2,4] -> [8] } %r = neg(%v)", i8(0.5, 0)),
               [](int64_t i) { return 3 - i; });
  // Read as a real number twice.
  expect_table(function("%e = dequantize(%a) %r = add(%d, %e)", i8(1, 0)),
               [](int64_t i) { return i - 3; });
  expect_table(function("%r = abs(%d)", i8(0.5, 0)), [](int64_t i) { return std::abs(i - 3); });
}

TEST(TosaLookup, TheNumberItselfIsRescaledWhereOneIsOf16Bits) {
  const auto lines = [](const std::string& from, const std::string& to) {
    return listing(on_integers({{"4", from}},
                               "%d = dequantize(%a)\n%y = quantize(%d) { quantisation "
                               "= " +
                                   to + " }"));
  };
  EXPECT_EQ(lines(i8(0.5, 3), i16(0.25)),
            Lines{"y = RESCALE(32) a i32{1073741824} i8{29} i8{3} i16{0} -> INT16[4]"});
  EXPECT_EQ(lines(i16(0.5), i8(1, 7)),
            Lines{"y = RESCALE(32) a i32{1073741824} i8{31} i16{0} i8{7} -> INT8[4]"});
  EXPECT_EQ(lines(i16(0.5), i16(0.5)),
            Lines{"y = RESCALE(32) a i32{1073741824} i8{30} i16{0} i16{0} -> INT16[4]"});
  // Too far apart for RESCALE.
  EXPECT_EQ(lines(i8(1), i16(0x1p-28)).size(), 1u);
  EXPECT_NE(lines(i8(1), i16(0x1p-29))[0].find("= CAST a"), std::string::npos);
  // Of 8 bits it is a table, which rounds to even as torch does.
  const Lines narrow = lines(i8(0.5, 3), i8(1, 7));
  EXPECT_EQ(narrow.size(), 1u);
  EXPECT_NE(narrow[0].find("= TABLE a"), std::string::npos);
  // Of other shapes, too.
  EXPECT_EQ(first_of(function("%r = relayout(%d) { relayout = [2,4] -> [8] }", i16(0.25))),
            "RESHAPE");
}

TEST(TosaLookup, WhatIsNoFunctionOfOneValueIsComputed) {
  const std::string twice = i8(1);
  EXPECT_EQ(first_of(function("%r = neg(%d)", i8(1))), "TABLE");
  EXPECT_EQ(first_of(function("%r = neg(%d)", i16(1))), "CAST");  // from 8 bits to 16
  // Two values.
  EXPECT_EQ(first_of(on_integers({{"4", i8(1)}, {"4", i8(1)}},
                                 "%d = dequantize(%a) %e = dequantize(%b) %r = add(%d, %e)"
                                 "%y = quantize(%r) { quantisation = " +
                                     twice + " }")),
            "CAST");
  // A constant of several elements, and of none that depends on the value.
  EXPECT_EQ(first_of(function("%c = constant() { data = f32[1,4] (1, 2, 3, 4) } %r = mul(%d, %c)",
                              i8(1))),
            "CAST");
  EXPECT_EQ(first_of(function("%c = constant() { data = f32[2,4] splat 3 } %r = neg(%c)", i8(1))),
            "NEGATE");
  // Not element by element.
  EXPECT_EQ(first_of(function("%r = reduce_sum(%d) { axes = [1] }", i8(1))), "CAST");
  EXPECT_EQ(first_of(function("%r = relayout(%d) { relayout = [2,4] (2,4)->(1,0) [4,2] }", i8(1))),
            "CAST");
  // Each element with every other: one number is two different ones.
  EXPECT_EQ(first_of(function("%v = relayout(%d) { relayout = [4,1] -> [1,4] } %r = add(%d, %v)",
                              i8(1), i8(1), "4,1")),
            "CAST");
  // An input of real numbers.
  EXPECT_EQ(first_of(on_tensors({"f32[4]"}, "%n = neg(%a) %q = quantize(%n) { quantisation = " +
                                                twice + " } %y = dequantize(%q)")),
            "NEGATE");
}

/// The range of a result of 8 bits begins at its zero point: 0 to 255 here, of which 128 are used.
/// So a unit is 32766 / 128 in the table, and TABLE's results are 128 times too large.
TEST(TosaLookup, ATableOf16BitsHasTheRangeOfAResultThatIsNotAround0) {
  const auto program = [](std::string_view statements, int zero_point) {
    return listing(function(statements, i8(0.5, zero_point), i16(0x1p-9)));
  };
  const Lines lines = program("%r = abs(%d)", -128);
  ASSERT_EQ(lines.size(), 2u);
  const Lines negative = program("%p = abs(%d) %r = neg(%p)", 127);
  ASSERT_EQ(negative.size(), 2u);
  EXPECT_NE(negative[1].find(fmt::format(" i32{{{}}} i8{{45}} ", std::llrint(0x1p45 / 32766))),
            std::string::npos)
      << negative[1];
  EXPECT_EQ(lines[1], fmt::format("y = RESCALE(32) %0 i32{{{}}} i8{{45}} i32{{0}} i8{{-128}} -> "
                                  "INT8[2,4]",
                                  std::llrint(0x1p45 / 32766)));
}

/// 64 values are followed: the number and 63 functions of it.
TEST(TosaLookup, LongChainsAreComputed) {
  const auto chain = [](int length) {
    std::string statements = "%n0 = neg(%d)\n";
    for (int i = 1; i < length; ++i) statements += fmt::format("%n{} = neg(%n{})\n", i, i - 1);
    return function(statements + fmt::format("%r = neg(%n{})", length - 1), i8(1));
  };
  EXPECT_EQ(first_of(chain(62)), "TABLE");
  EXPECT_EQ(first_of(chain(63)), "CAST");
}

/// What is not needed for a table, or for integers that are resized, is not in the program.
TEST(TosaLookup, WhatATableStandsForIsNotComputed) {
  EXPECT_EQ(listing(function("%s = sigmoid(%d) %r = mul(%s, %d)", i8(1))).size(), 1u);
  EXPECT_EQ(listing(on_integers({{"1,2,2,1", i8(1)}},
                                "%d = dequantize(%a) %r = resize(%d) { size = [4,4], step = "
                                "[0.5,0.5], mode = nearest } %y = quantize(%r) { quantisation = " +
                                    i8(1) + " }"))
                .size(),
            1u);
}

/// 1/sqrt(x), from integers of one power of two to those of another.
Lines inverse_root(int from, int to) {
  return listing(
      on_integers({{"4", i16(std::ldexp(1, from))}},
                  "%d = dequantize(%a) %r = rsqrt(%d) %y = quantize(%r) { quantisation = " +
                      i16(std::ldexp(1, to)) + " }"));
}

std::string without_name(const std::string& line) { return line.substr(line.find("= ") + 2); }

/// The operators after the tables: y²·x >> bits, less p/4 >> bits, in 2^28ths of it, times y / 2.
TEST(TosaLookup, InverseRootsAreBroughtNearer) {
  // x y² is 2^40 in units of both: 2^38 after the square has lost 28 bits of its 26 after the
  // point, and 2^28 when 10 more are dropped.
  const Lines lines = inverse_root(-20, -10);
  ASSERT_GT(lines.size(), 8u);
  const auto last = [&](size_t i) { return lines[lines.size() - i]; };
  EXPECT_EQ(last(1).substr(0, last(1).find('%')), "y = RESCALE(32) ");
  EXPECT_NE(last(1).find(" i32{1073741824} i8{43} "), std::string::npos) << last(1);  // 2^-13
  EXPECT_EQ(without_name(last(2)).substr(0, 4), "SUB ");
  EXPECT_NE(last(3).find(" i8{29} -> INT32[4]"), std::string::npos) << last(3);
  EXPECT_NE(last(4).find("= RESCALE(32) "), std::string::npos) << last(4);
  EXPECT_NE(last(4).find(" i32{1073741824} i8{30} i32{0} i32{0} "), std::string::npos) << last(4);
  EXPECT_NE(last(5).find(" i32{268435456} -> INT32[4]"), std::string::npos) << last(5);
  EXPECT_NE(last(6).find(" i8{10} -> INT32[4]"), std::string::npos) << last(6);
  EXPECT_NE(last(7).find(" i8{28} -> INT32[4]"), std::string::npos) << last(7);
  EXPECT_NE(last(8).find("= RESCALE(32) a i32{1073741824} i8{30} i16{0} i32{0} "),
            std::string::npos)
      << last(8);
}

/// From 128 units on, whose squares have bits enough, and as far as MUL drops bits.
TEST(TosaLookup, InverseRootsAreBroughtNearerWhereBitsAreEnough) {
  const auto is_nearer = [](int from, int to) {
    const Lines lines = inverse_root(from, to);
    return without_name(lines[lines.size() - 2]).substr(0, 4) == "SUB ";
  };
  EXPECT_TRUE(is_nearer(-9, -10));    // 2^29
  EXPECT_FALSE(is_nearer(-8, -10));   // 2^28
  EXPECT_TRUE(is_nearer(-20, -20));   // 2^60
  EXPECT_FALSE(is_nearer(-21, -20));  // 2^61
  // 2^29 / 4 is 2^27: nothing is dropped of the product, and twice the difference is taken.
  const Lines least = inverse_root(-9, -10);
  const auto last = [&](size_t i) { return least[least.size() - i]; };
  EXPECT_NE(last(4).find(" i32{1073741824} i8{29} i32{0} i32{0} "), std::string::npos) << last(4);
  EXPECT_NE(last(5).find(" i32{134217728} -> INT32[4]"), std::string::npos) << last(5);
  EXPECT_NE(last(6).find(" i8{0} -> INT32[4]"), std::string::npos) << last(6);
}

/// Only of the root itself, seen in other shapes at most.
TEST(TosaLookup, OtherFunctionsOfRootsAreTablesOnly) {
  const auto subtractions = [](std::string_view statements) {
    int count = 0;
    for (const std::string& line : listing(
             on_integers({{"4", i16(0x1p-20)}},
                         fmt::format("%d = dequantize(%a) {} %y = quantize(%r) {{ quantisation = "
                                     "{} }}",
                                     statements, i16(0x1p-10)))))
      count += without_name(line).starts_with("SUB ");
    return count;
  };
  EXPECT_EQ(subtractions("%r = rsqrt(%d)"), 2);
  EXPECT_EQ(subtractions("%v = relayout(%d) { relayout = [4] -> [2,2] } %s = rsqrt(%v) "
                         "%r = relayout(%s) { relayout = [2,2] -> [4] }"),
            2);
  EXPECT_EQ(subtractions("%s = rsqrt(%d) %r = neg(%s)"), 0);
  EXPECT_EQ(subtractions("%s = neg(%d) %r = rsqrt(%s)"), 0);
  EXPECT_EQ(subtractions("%r = sigmoid(%d)"), 0);
}

Curve curve_of(double (*function)(double)) {
  return [=](const std::vector<double>& operands) {
    std::vector<double> values;
    for (double x : operands) values.push_back(function(x));
    return values;
  };
}

std::vector<int64_t> entries_of(const TableLevel& level) {
  const layline::Tensor data = layline::tensor_of(level.table);
  std::vector<int64_t> entries;
  for (int64_t i = 0; i < data.count(); ++i) entries.push_back(data.get_int(i));
  return entries;
}

/// A straight line is its points: entry i is the operand 128 i - 32768, as fine as 16 bits allow.
TEST(TosaLongTable, ALineIsItsPoints) {
  const auto levels = long_tables(curve_of([](double x) { return x / 2; }), -32767, 32767);
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_EQ(levels[0].shift, 0);
  const std::vector<int64_t> entries = entries_of(levels[0]);
  ASSERT_EQ(entries.size(), 513u);
  // The largest result, 16384, is 32766.
  EXPECT_EQ(levels[0].scale, 1 / (32766.0 / 16384 * 128));
  for (int64_t i = 0; i < 513; ++i)
    ASSERT_EQ(entries[static_cast<size_t>(i)],
              std::llrint(static_cast<double>(128 * i - 32768) / 2 * (32766.0 / 16384)))
        << i;
}

/// Results beyond the range are as far from 0 as it reaches; small ones are not magnified beyond 1.
TEST(TosaLongTable, EntriesAreAsLargeAsTheRangeOrTheResults) {
  const auto constant = long_tables(curve_of([](double) { return 0.25; }), -128, 127);
  ASSERT_EQ(constant.size(), 1u);
  EXPECT_EQ(constant[0].scale, 1 / (32766.0 * 128));
  EXPECT_EQ(entries_of(constant[0])[0], std::llrint(0.25 * 32766));
  const auto beyond = long_tables(curve_of([](double) { return -1000.0; }), -128, 127);
  EXPECT_EQ(beyond[0].scale, 1 / (32766.0 / 128 * 128));
  EXPECT_EQ(entries_of(beyond[0])[512], -32766);
  const auto nothing = long_tables(curve_of([](double) { return std::nan(""); }), -128, 127);
  EXPECT_EQ(entries_of(nothing[0])[7], 0);
}

/// A line between two points of x² / 2^20 is 64² / 2^20 too high in its middle: every entry is
/// lowered by half of that.
TEST(TosaLongTable, EntriesOfACurveAreLoweredByHalfOfWhatLinesAreTooHigh) {
  const auto levels =
      long_tables(curve_of([](double x) { return x * x * 0x1p-20; }), -32767, 32767);
  ASSERT_EQ(levels.size(), 1u);
  const double unit = levels[0].scale * 128;
  EXPECT_EQ(unit, 1024 / 32766.0);
  const std::vector<int64_t> entries = entries_of(levels[0]);
  const double lower = 64.0 * 64 * 0x1p-20 / 2;
  for (const int64_t i : {1, 2, 100, 256, 300, 511}) {
    const auto x = static_cast<double>(128 * i - 32768);
    EXPECT_EQ(entries[static_cast<size_t>(i)], std::llrint((x * x * 0x1p-20 - lower) / unit)) << i;
  }
  // At the ends there is a line on one side only.
  EXPECT_EQ(entries[0], 32766);
  EXPECT_EQ(entries[512], 32766);
}

/// As TABLE reads it: lines between every 128th integer, in 128ths.
class Tables {
 public:
  explicit Tables(const std::vector<TableLevel>& levels) : levels_(levels) {
    for (const TableLevel& level : levels) entries_.push_back(entries_of(level));
  }

  double at(int64_t integer) const {
    double sum = 0;
    for (size_t i = 0; i < levels_.size(); ++i) {
      const int64_t scaled = integer * (1 << levels_[i].shift),
                    near = std::clamp<int64_t>(scaled, -32768, 32767) + 32768;
      const auto place = static_cast<size_t>(near / 128);
      const int64_t from = entries_[i][place], to = entries_[i][place + 1];
      sum += static_cast<double>(from * 128 + (to - from) * (near % 128)) * levels_[i].scale;
    }
    return sum;
  }

 private:
  const std::vector<TableLevel>& levels_;
  std::vector<std::vector<int64_t>> entries_;
};

std::vector<int> shifts_of(const std::vector<TableLevel>& levels) {
  std::vector<int> shifts;
  for (const TableLevel& level : levels) shifts.push_back(level.shift);
  return shifts;
}

/// A corner at an operand that has an entry is exact. Where it has none, a finer table has: that of
/// shift s has one for every 2^(7 - s)-th operand.
TEST(TosaLongTable, ACornerHasTheCoarsestTableThatHasAnEntryThere) {
  for (const auto& [corner, shift] :
       {std::pair(128, 0), {64, 1}, {-96, 2}, {48, 3}, {40, 4}, {-4, 5}, {6, 6}, {63, 7}}) {
    const Curve curve = [corner = corner](const std::vector<double>& operands) {
      std::vector<double> values;
      for (double x : operands) values.push_back(std::abs(x - corner) / 2);
      return values;
    };
    const auto levels = long_tables(curve, -32767, 32767);
    const Tables tables(levels);
    const std::vector<int> wanted = shift == 0 ? std::vector{0} : std::vector{0, shift};
    EXPECT_EQ(shifts_of(levels), wanted) << corner;
    // Entries are rounded to a unit of their own at most, which is half a unit of the result.
    for (const int64_t x :
         {-32768, -20000, -300, -96, -5, 0, 3, 40, 50, 64, 129, 255, 257, 5000, 32767})
      EXPECT_NEAR(tables.at(x), std::abs(static_cast<double>(x - corner)) / 2, 0.52)
          << x << " of " << corner;
  }
}

/// Corners of these slopes at these places; all of them together are within 16 bits.
struct Corner {
  double place, slope;
};

std::vector<int> shifts_of_corners(const std::vector<Corner>& corners) {
  return shifts_of(long_tables(
      [&](const std::vector<double>& operands) {
        std::vector<double> values;
        for (double x : operands) {
          double sum = 0;
          for (const Corner& corner : corners) sum += std::abs(x - corner.place) * corner.slope;
          values.push_back(sum);
        }
        return values;
      },
      -32767, 32767));
}

/// A table of shift s has an entry for every 2^(7-s)-th operand and reaches to 2^(15-s): a corner
/// at 8192 + 64 needs a shift of 1, one at 4096 + 32 that of 2, and one at 201 that of 7.
TEST(TosaLongTable, TablesAreAddedWhileLinesAreOffByMoreThanAUnit) {
  const Corner far{8256, 0.25}, middle{4128, 0.25}, near{201, 0.25};
  EXPECT_EQ(shifts_of_corners({far}), (std::vector{0, 1}));
  EXPECT_EQ(shifts_of_corners({middle}), (std::vector{0, 2}));
  EXPECT_EQ(shifts_of_corners({far, middle}), (std::vector{0, 1, 2}));
  EXPECT_EQ(shifts_of_corners({far, middle, near}), (std::vector{0, 1, 2, 7}));
  // In the middle between entries a line is off by 64 times the slope, or by 16 times of a finer
  // one: a unit is not worth a table.
  EXPECT_EQ(shifts_of_corners({{8256, 1.0 / 64}}), (std::vector{0}));
  EXPECT_EQ(shifts_of_corners({{8256, 1.0 / 63}}), (std::vector{0, 1}));
  EXPECT_EQ(shifts_of_corners({middle, {8256, 1.0 / 64}}), (std::vector{0, 2}));
  EXPECT_EQ(shifts_of_corners({far, middle, {16, 1.0 / 16}}), (std::vector{0, 1, 2}));
}

/// Lines are worst where the result leaves its range, at 21300, and no finer table reaches there.
TEST(TosaLongTable, TablesThatDoNotHelpAreNotAdded) {
  EXPECT_EQ(
      shifts_of(long_tables(curve_of([](double x) { return std::exp(x / 2048); }), -32767, 32767)),
      std::vector{0});
}

/// From -1 to 32766 is a step of 16 bits, and from -2 it is not.
TEST(TosaLongTable, OnlyALargerStepIsShared) {
  const auto step = [](double low) {
    return long_tables(
        [=](const std::vector<double>& operands) {
          std::vector<double> values;
          for (double x : operands) values.push_back(x < 0 ? low : 32766);
          return values;
        },
        -32767, 32767);
  };
  EXPECT_EQ(shifts_of(step(-1)), (std::vector{0, 7}));
  EXPECT_EQ(shifts_of(step(-2)), (std::vector{0, 7, 7}));
  // Nothing is left to the coarse table, whose unit is then 1 / 32766.
  EXPECT_EQ(step(-1)[0].scale, 1 / (32766.0 * 128));
  EXPECT_EQ(entries_of(step(-1)[0])[0], 0);
}

/// Parabolas of 128 operands each, side by side, from -32768 on. Each line is too high in its
/// middle by what the list says, in units of a range of 8 bits.
std::vector<int64_t> entries_of_parabolas(const std::vector<double>& excess, double* unit) {
  const auto levels = long_tables(
      [&](const std::vector<double>& operands) {
        std::vector<double> values;
        for (double x : operands) {
          const double place = (x + 32768) / 128;
          const auto piece = static_cast<size_t>(place);
          const double part = place - std::floor(place);
          values.push_back(piece < excess.size() ? 100 - 4 * excess[piece] * part * (1 - part)
                                                 : 100);
        }
        return values;
      },
      -128, 127);
  EXPECT_EQ(levels.size(), 1u);
  *unit = levels[0].scale * 128;
  return entries_of(levels[0]);
}

/// Where lines on both sides are too high, by at most twice as much on one as on the other, an
/// entry is lowered by a quarter of both. At a corner, and where the curve turns, it is right.
TEST(TosaLongTable, EntriesAreLoweredWhereTheCurveIsAlikeOnBothSides) {
  const std::vector<double> excess = {0.8, 0.8,  0.5, 0.5, 0.25, 0.25,
                                      0.6, -0.4, 0.9, 0.5, 0.25, 0.5};
  double unit = 0;
  const std::vector<int64_t> entries = entries_of_parabolas(excess, &unit);
  EXPECT_EQ(unit, 100 / 32766.0);
  const auto lowered_by = [&](size_t i) { return static_cast<double>(32766 - entries[i]) * unit; };
  EXPECT_EQ(lowered_by(0), 0);                // there is a line on one side only
  EXPECT_NEAR(lowered_by(1), 1.6 / 4, unit);  //
  EXPECT_NEAR(lowered_by(2), 1.3 / 4, unit);  // 0.8 and 0.5
  EXPECT_NEAR(lowered_by(3), 1.0 / 4, unit);  //
  EXPECT_EQ(lowered_by(4), 0);                // 0.5 is twice 0.25
  EXPECT_NEAR(lowered_by(5), 0.5 / 4, unit);  //
  EXPECT_EQ(lowered_by(6), 0);                // 0.6 is more than that
  EXPECT_EQ(lowered_by(7), 0);                // the curve turns
  EXPECT_EQ(lowered_by(8), 0);                // and back
  EXPECT_NEAR(lowered_by(9), 1.4 / 4, unit);  // 0.9 and 0.5
  EXPECT_EQ(lowered_by(10), 0);               // 0.5 is twice 0.25 again
  EXPECT_EQ(lowered_by(11), 0);               // and from the other side
  EXPECT_EQ(lowered_by(12), 0);               // a straight line on one side
  // At the other end, too.
  std::vector<double> last(512, 0.0);
  last[511] = 0.8;
  EXPECT_EQ(entries_of_parabolas(last, &unit)[512], 32766);
}

struct Steep {
  std::string_view why;
  double (*function)(double);
  double least, greatest;
  double off;       // a unit of the result at most, where it is in 16 bits
  size_t most = 5;  // tables
};

/// Lines are off by a unit before the entries are lowered, or as little as three tables more make
/// it; entries are rounded.
TEST(TosaLongTable, ResultsAreOffByAUnit) {
  const Steep curves[] = {
      {"a step", [](double x) { return x < 100 ? 0.0 : 30000.0; }, -32767, 32767, 0.5, 2},
      {"a steep step", [](double x) { return 32767 * std::tanh(x / 10); }, -32767, 32767, 0.5, 2},
      {"a slope", [](double x) { return 32767 * std::tanh(x / 100); }, -32767, 32767, 0.5, 3},
      {"a root", [](double x) { return 181 * std::sqrt(x); }, -32767, 32767, 0.6, 3},
      {"a logarithm", [](double x) { return 2000 * std::log(x / 4096); }, -32767, 32767, 0.8, 3},
      {"a square beyond the range", [](double x) { return x * x / 16; }, -32767, 32767, 0.7, 2},
      {"a line beyond it", [](double x) { return 3 * x; }, -32767, 32767, 0.51, 1},
      {"a reciprocal in 8 bits", [](double x) { return 1e4 / x; }, -128, 127, 0.01},
      {"an exponential in 8", [](double x) { return 10 * std::exp(x / 4096); }, -128, 127, 0.01, 1},
      {"a range that is not around 0", [](double x) { return 100 * std::exp(x / 9000); }, -28, 227,
       0.01, 1},
  };
  for (const Steep& curve : curves) {
    const auto levels = long_tables(curve_of(curve.function), curve.least, curve.greatest);
    const Tables tables(levels);
    EXPECT_LE(levels.size(), curve.most) << curve.why;
    double most = 0;
    for (int64_t x = -32767; x <= 32767; x += x > -600 && x < 600 ? 1 : 13) {
      const double wanted = curve.function(static_cast<double>(x));
      if (std::isnan(wanted)) continue;
      most = std::max(most, std::abs(std::clamp(wanted, curve.least, curve.greatest) -
                                     std::clamp(tables.at(x), curve.least, curve.greatest)));
    }
    EXPECT_LE(most, curve.off) << curve.why;
  }
}

}  // namespace
}  // namespace layline::tosa

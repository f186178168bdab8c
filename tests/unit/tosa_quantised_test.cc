// Quantised nodes in TOSA: scales as RESCALE has them, functions as tables, integers at the
// boundary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/tensor.h"
#include "ir/text.h"
#include "targets/tosa/long_table.h"
#include "targets/tosa/lower.h"
#include "targets/tosa/rescale.h"

namespace layline::tosa {
namespace {

TEST(TosaMultiplier, IsTheNearestOf31Bits) {
  for (const double scale : {0.5, 1.0, 0.75, 1e-6, 0.0123, 3.99, 1000.0, 1.0 / 3}) {
    const auto m = multiplier_of(scale);
    ASSERT_TRUE(m) << scale;
    EXPECT_GE(m->shift, 2);
    EXPECT_LE(m->shift, 62);
    EXPECT_NEAR(std::ldexp(m->multiplier, -m->shift) / scale, 1, 0x1p-30) << scale;
  }
}

TEST(TosaMultiplier, RefusesWhatRescaleHasNot) {
  EXPECT_FALSE(multiplier_of(0));
  EXPECT_FALSE(multiplier_of(-1));
  EXPECT_FALSE(multiplier_of(std::ldexp(1, 40)));
  EXPECT_FALSE(multiplier_of(std::nan("")));
}

std::vector<fb::Op> operators(const Program& program) {
  std::vector<fb::Op> result;
  for (const Operator& op : program.operators)
    if (op.op() != fb::Op::CONST && op.op() != fb::Op::CONST_SHAPE) result.push_back(op.op());
  return result;
}

Program lowered(std::string_view text, Report& report) {
  std::vector<Graph> graphs;
  graphs.push_back(parse_graph(text, "test"));
  return lower(graphs, report);
}

constexpr std::string_view kSigmoid = R"(graph "g" {
  input "x" %x : f32[1,4]
  %q = quantize(%x) { quantisation = i8 in [-128,127] scale f32[] (0.05) zero i32[] (3) }
  %d = dequantize(%q)
  %s = sigmoid(%d)
  %r = quantize(%s) { quantisation = i8 in [-128,127] scale f32[] (0.00390625) zero i32[] (-128) }
  %y = dequantize(%r)
  output "y" %y
})";

TEST(TosaQuantised, AFunctionOfOneValueIsATableAndTheBoundaryIsOfIntegers) {
  Report report;
  const Program program = lowered(kSigmoid, report);
  EXPECT_EQ(operators(program), std::vector<fb::Op>{fb::Op::TABLE});
  EXPECT_EQ(program.tensors[0].type, fb::DType::INT8);
  EXPECT_EQ(report.inputs[0].dtype, "i8");
  EXPECT_FLOAT_EQ(static_cast<float>(report.inputs[0].scale.value()), 0.05f);
  EXPECT_EQ(report.inputs[0].zero_point, 3);
  EXPECT_EQ(report.outputs[0].zero_point, -128);
  const auto table = std::ranges::find_if(program.tensors, [](const NamedTensor& tensor) {
    return tensor.shape == std::vector<int32_t>{256};
  });
  ASSERT_NE(table, program.tensors.end());
  const std::vector<std::byte> bytes = table->data->bytes();
  for (int integer = -128; integer < 128; ++integer) {
    const double real = 0.05 * (integer - 3);
    const double expected = std::nearbyint(256 / (1 + std::exp(-real))) - 128;
    EXPECT_NEAR(static_cast<int8_t>(bytes[static_cast<size_t>(integer + 128)]),
                std::min(expected, 127.0), 1);
  }
}

/// As TABLE reads 513 entries: straight lines between every 128th integer, in 128ths.
int64_t read_table(const std::vector<std::byte>& bytes, int64_t integer) {
  const auto entry = [&](size_t i) {
    int16_t value = 0;
    std::memcpy(&value, &bytes[2 * i], sizeof value);
    return static_cast<int64_t>(value);
  };
  const auto index = static_cast<size_t>((integer + 32768) >> 7);
  const int64_t fraction = (integer + 32768) & 127;
  return entry(index) * 128 + (entry(index + 1) - entry(index)) * fraction;
}

/// Operands of the RESCALE that is the i-th one.
const Operator& rescale(const Program& program, int i) {
  for (const Operator& op : program.operators)
    if (op.op() == fb::Op::RESCALE && i-- == 0) return op;
  throw std::out_of_range("no such RESCALE");
}

const NamedTensor& tensor(const Program& program, const std::string& name) {
  return *std::ranges::find(program.tensors, name, &NamedTensor::name);
}

int64_t number(const Program& program, const std::string& name) {
  return layline::tensor_of(*tensor(program, name).data).get_int(0);
}

double factor(const Program& program, const Operator& rescale) {
  return std::ldexp(static_cast<double>(number(program, rescale.inputs[1])),
                    -static_cast<int>(number(program, rescale.inputs[2])));
}

TEST(TosaQuantised, AFunctionOf16BitsIsATableOf513EntriesAndARescale) {
  Report report;
  const Program program = lowered(R"(graph "g" {
    input "x" %x : f32[1,4]
    %q = quantize(%x) { quantisation = i16 in [-32767,32767] scale f32[] (0.00025) zero i32[] (0) }
    %d = dequantize(%q)
    %e = sigmoid(%d)
    %r = quantize(%e) { quantisation = i16 in [-32767,32767] scale f32[] (0.00004) zero i32[] (0) }
    %y = dequantize(%r)
    output "y" %y
  })",
                                  report);
  EXPECT_EQ(operators(program), (std::vector<fb::Op>{fb::Op::TABLE, fb::Op::RESCALE}));
  const auto table = std::ranges::find_if(
      program.tensors, [](const NamedTensor& t) { return t.shape == std::vector<int32_t>{513}; });
  ASSERT_NE(table, program.tensors.end());
  const std::vector<std::byte> bytes = table->data->bytes();
  const double scale = factor(program, rescale(program, 0));
  double most = 0;
  for (int64_t integer = -32767; integer <= 32767; ++integer) {
    const double wanted = 1 / (1 + std::exp(-0.00025 * static_cast<double>(integer))) / 0.00004;
    const double found = std::floor(static_cast<double>(read_table(bytes, integer)) * scale + 0.5);
    most = std::max(most, std::abs(found - wanted));
  }
  // Lines of 128 steps are off by h^2 f'' / 8, half of it when the entries are lowered: 0.2 here;
  // the entry and the result are rounded.
  EXPECT_LT(most, 1.2);
}

/// What a program of TABLE, RESCALE, MUL, ADD, SUB and RESHAPE gives for one integer; fails where
/// 32 bits are not enough.
int64_t computed(const Program& program, int64_t integer) {
  std::map<std::string, int64_t> values = {{program.inputs[0], integer}};
  const auto value = [&](const std::string& name) {
    const auto found = values.find(name);
    return found != values.end() ? found->second : number(program, name);
  };
  const auto shifted = [](__int128 product, int64_t bits) {
    return static_cast<int64_t>(bits == 0 ? product
                                          : (product + (__int128{1} << (bits - 1))) >> bits);
  };
  int64_t result = 0;
  for (const Operator& op : program.operators) {
    const auto operand = [&](size_t i) { return value(op.inputs[i]); };
    if (op.op() == fb::Op::TABLE)
      result = read_table(tensor(program, op.inputs[1]).data->bytes(), operand(0));
    else if (op.op() == fb::Op::RESCALE)
      result = shifted(__int128{operand(0)} * operand(1), operand(2));
    else if (op.op() == fb::Op::MUL)
      result = shifted(__int128{operand(0)} * operand(1), operand(2));
    else if (op.op() == fb::Op::ADD)
      result = operand(0) + operand(1);
    else if (op.op() == fb::Op::SUB)
      result = operand(0) - operand(1);
    else if (op.op() == fb::Op::RESHAPE)
      result = operand(0);
    else
      continue;  // constants
    if (tensor(program, op.outputs[0]).type == fb::DType::INT16)
      result = std::clamp<int64_t>(result, -32768, 32767);
    EXPECT_EQ(result, static_cast<int32_t>(result)) << fb::EnumNameOp(op.op()) << " of " << integer;
    values[op.outputs[0]] = result;
  }
  return result;
}

/// Tables alone are off by up to half a unit, and one in forty results is the next integer.
TEST(TosaQuantised, InverseRootsOf16BitsAreTheNearestIntegers) {
  for (const auto& [from, to] :
       {std::pair(0.000244140625, 0.000244140625), std::pair(3.1e-5, 0.002), std::pair(1e-4, 2e-4),
        std::pair(0.01, 1e-4)}) {
    Report report;
    const Program program = lowered(fmt::format(R"(graph "g" {{
      input "x" %x : f32[1,4]
      %q = quantize(%x) {{ quantisation = i16 in [-32767,32767] scale f32[] ({}) zero i32[] (0) }}
      %d = dequantize(%q)
      %e = rsqrt(%d)
      %v = relayout(%e) {{ relayout = [1,4] -> [4] }}
      %r = quantize(%v) {{ quantisation = i16 in [-32767,32767] scale f32[] ({}) zero i32[] (0) }}
      %y = dequantize(%r)
      output "y" %y
    }})",
                                                from, to),
                                    report);
    for (int64_t integer = 1; integer <= 32767; ++integer) {
      const double wanted =
          std::min(1 / std::sqrt(static_cast<double>(integer) * from) / to, 32767.0);
      ASSERT_NEAR(static_cast<double>(computed(program, integer)), wanted, 0.51) << integer;
    }
    EXPECT_EQ(computed(program, 0), 32767);
    EXPECT_NEAR(static_cast<double>(computed(program, -5)), 0, 1);
  }
}

/// What the tables of a function give for an operand, as the program adds them up.
double looked_up(const std::vector<TableLevel>& levels, int64_t integer) {
  double sum = 0;
  for (const TableLevel& level : levels) {
    const int64_t near = std::clamp<int64_t>(integer << level.shift, -32768, 32767);
    sum += static_cast<double>(read_table(level.table.bytes(), near)) * level.scale;
  }
  return sum;
}

Curve curve_of(double (*function)(double)) {
  return [=](const std::vector<double>& operands) {
    std::vector<double> values;
    for (double x : operands) values.push_back(function(x));
    return values;
  };
}

constexpr double kLargest = 32767;

/// By how much the tables are off at most, among operands from `first` on.
double most_off(const std::vector<TableLevel>& levels, double (*function)(double), int64_t first) {
  double most = 0;
  for (int64_t x = first; x <= 32767; ++x) {
    const double wanted = std::clamp(function(static_cast<double>(x)), -kLargest, kLargest);
    const double found = std::clamp(looked_up(levels, x), -kLargest, kLargest);
    most = std::max(most, std::abs(found - wanted));
  }
  return most;
}

TEST(TosaLongTable, WhatCurvesNear0HasFinerTablesThere) {
  const auto inverse_root = [](double x) { return 2e5 / std::sqrt(x); };
  const std::vector<TableLevel> levels = long_tables(curve_of(inverse_root), -kLargest, kLargest);
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(levels[0].shift, 0);
  EXPECT_LT(most_off(levels, inverse_root, 0), 1.5);  // one table is off by thousands
  for (int64_t x = -32768; x < 0; ++x) ASSERT_LT(std::abs(looked_up(levels, x)), 0.6) << x;
}

/// Lines of 128 steps would be off by 4 units at the largest results.
TEST(TosaLongTable, AnExponentialHasATableForTheOperandsWhoseResultsFit) {
  const auto exponential = [](double x) { return std::exp(x / 4096) * 4096; };
  const std::vector<TableLevel> levels = long_tables(curve_of(exponential), -kLargest, kLargest);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_LT(most_off(levels, exponential, -32768), 1);
}

/// TABLE takes steps of 16 bits between entries; from the least result to the greatest is more.
TEST(TosaLongTable, AStepOfMoreThan16BitsIsSharedByTwoTables) {
  const auto reciprocal = [](double x) { return 1e7 / x; };
  const std::vector<TableLevel> levels = long_tables(curve_of(reciprocal), -kLargest, kLargest);
  for (const TableLevel& level : levels) {
    const layline::Tensor entries = layline::tensor_of(level.table);
    for (int64_t i = 1; i < entries.count(); ++i)
      ASSERT_LE(std::abs(entries.get_int(i) - entries.get_int(i - 1)), 32767) << i;
  }
  EXPECT_LT(most_off(levels, reciprocal, 1), 1.5);
  EXPECT_EQ(looked_up(levels, 0), kLargest);
  EXPECT_NEAR(looked_up(levels, -1), -kLargest, 1.5);
  EXPECT_NEAR(looked_up(levels, -20000), -500, 1);
}

TEST(TosaLongTable, OneTableIsEnoughForWhatHardlyCurves) {
  const auto levels = [](double (*function)(double)) {
    return long_tables(curve_of(function), -kLargest, kLargest).size();
  };
  EXPECT_EQ(levels([](double x) { return 4096 / (1 + std::exp(-x / 4096)); }), 1u);
  EXPECT_EQ(levels([](double x) { return std::max(x, 0.0); }), 1u);
}

TEST(TosaQuantised, ASumOf8BitsIsTakenInTheScaleThatVelaFuses) {
  Report report;
  const Program program = lowered(R"(graph "g" {
    input "a" %a : f32[4]
    input "b" %b : f32[4]
    %qa = quantize(%a) { quantisation = i8 in [-128,127] scale f32[] (0.25) zero i32[] (3) }
    %qb = quantize(%b) { quantisation = i8 in [-128,127] scale f32[] (0.5) zero i32[] (0) }
    %c = add(%qa, %qb) { quantisation = i8 in [-128,127] scale f32[] (1) zero i32[] (5) }
    %y = dequantize(%c)
    output "y" %y
  })",
                                  report);
  EXPECT_EQ(operators(program),
            (std::vector<fb::Op>{fb::Op::RESCALE, fb::Op::RESCALE, fb::Op::ADD, fb::Op::RESCALE}));
  EXPECT_EQ(factor(program, rescale(program, 0)), 0x1p18);
  EXPECT_EQ(factor(program, rescale(program, 1)), 0x1p19);
  EXPECT_EQ(factor(program, rescale(program, 2)), 0x1p-20);
}

std::string pool(std::string_view attributes,
                 std::string_view operand = "i8 in [-128,127] scale f32[] (0.5) zero i32[] (7)") {
  return fmt::format(R"(graph "g" {{
    input "x" %x : f32[1,4,6,2]
    %q = quantize(%x) {{ quantisation = {} }}
    %p = avg_pool(%q) {{ kernel = [3,3], dilation = [1,1], {} }}
    %y = dequantize(%p)
    output "y" %y
  }})",
                     operand, attributes);
}

TEST(TosaQuantised, AnAverageIsRoundedOnce) {
  Report report;
  // In the operand's scale AVG_POOL2D does it.
  EXPECT_EQ(operators(lowered(pool("stride = [1,1], low = [0,0], high = [0,0], quantisation = i8 "
                                   "in [-128,127] scale f32[] (0.5) zero i32[] (7)"),
                              report)),
            std::vector<fb::Op>{fb::Op::AVG_POOL2D});
  constexpr std::string_view kFiner = "quantisation = i8 in [-128,127] scale f32[] (0.125)";
  const Program program =
      lowered(pool(fmt::format("stride = [1,1], low = [0,0], high = [0,0], {}", kFiner)), report);
  EXPECT_EQ(operators(program), (std::vector<fb::Op>{fb::Op::DEPTHWISE_CONV2D, fb::Op::RESCALE}));
  EXPECT_NEAR(factor(program, rescale(program, 0)), 4.0 / 9, 1e-9);
  // Where padding does not count, windows have divisors of their own.
  const Program padded =
      lowered(pool(fmt::format("stride = [2,3], low = [1,0], high = [0,0], {}", kFiner)), report);
  EXPECT_EQ(operators(padded),
            (std::vector<fb::Op>{fb::Op::DEPTHWISE_CONV2D, fb::Op::MUL, fb::Op::RESCALE}));
  const auto mul = std::ranges::find(padded.operators, fb::Op::MUL, &Operator::op);
  const layline::Tensor divisors = layline::tensor_of(*tensor(padded, mul->inputs[1]).data);
  ASSERT_EQ(divisors.count(), 4);
  EXPECT_NEAR(static_cast<double>(divisors.get_int(0)), 0x1p22 / 6, 1);
  EXPECT_NEAR(static_cast<double>(divisors.get_int(2)), 0x1p22 / 9, 1);
}

/// In a coarser scale than the operand's, too, and of 16 bits: products of 64 bits are shifted.
TEST(TosaQuantised, APaddedAverageOf16BitsIsRoundedOnce) {
  Report report;
  const Program program = lowered(
      pool("stride = [2,3], low = [1,0], high = [0,0], quantisation = i16 in [-32767,32767] scale "
           "f32[] (0.625)",
           "i16 in [-32767,32767] scale f32[] (0.5)"),
      report);
  EXPECT_EQ(operators(program), (std::vector<fb::Op>{fb::Op::DEPTHWISE_CONV2D, fb::Op::RESCALE,
                                                     fb::Op::MUL, fb::Op::RESCALE}));
  const auto mul = std::ranges::find(program.operators, fb::Op::MUL, &Operator::op);
  const layline::Tensor divisors = layline::tensor_of(*tensor(program, mul->inputs[1]).data);
  EXPECT_NEAR(static_cast<double>(divisors.get_int(0)), 0x1p30 / 6, 1);
  EXPECT_EQ(layline::tensor_of(*tensor(program, mul->inputs[2]).data).get_int(0), 15);
  EXPECT_NEAR(factor(program, rescale(program, 1)), 0.8 * 0x1p-15, 1e-12);
}

std::string resized(std::string_view from, std::string_view to, std::string_view mode) {
  return fmt::format(R"(graph "g" {{
    input "x" %x : f32[1,4,4,2]
    %q = quantize(%x) {{ quantisation = {} }}
    %d = dequantize(%q)
    %s = resize(%d) {{ size = [8,8], step = [0.5,0.5]{} }}
    %r = quantize(%s) {{ quantisation = {} }}
    %y = dequantize(%r)
    output "y" %y
  }})",
                     from, mode, to);
}

TEST(TosaQuantised, AnImageIsResizedOnIntegers) {
  Report report;
  constexpr std::string_view kOwn = "i8 in [-128,127] scale f32[] (0.5) zero i32[] (7)",
                             kOther = "i8 in [-128,127] scale f32[] (0.25) zero i32[] (-2)",
                             kWide = "i16 in [-32767,32767] scale f32[] (0.001) zero i32[] (0)",
                             kNearest = ", mode = nearest";
  using Ops = std::vector<fb::Op>;
  EXPECT_EQ(operators(lowered(resized(kOwn, kOwn, kNearest), report)), Ops{fb::Op::RESIZE});
  EXPECT_EQ(operators(lowered(resized(kWide, kWide, kNearest), report)), Ops{fb::Op::RESIZE});
  const Program other = lowered(resized(kOwn, kOther, kNearest), report);
  EXPECT_EQ(operators(other), (Ops{fb::Op::RESIZE, fb::Op::RESCALE}));
  EXPECT_EQ(factor(other, rescale(other, 0)), 2.0);
  // Weights are quarters along each axis, and the zero point is weighted, too.
  const Program smooth = lowered(resized(kOwn, kOther, ""), report);
  EXPECT_EQ(operators(smooth), (Ops{fb::Op::RESIZE, fb::Op::SUB, fb::Op::RESCALE}));
  EXPECT_EQ(factor(smooth, rescale(smooth, 0)), 2.0 / 16);
  const auto sub = std::ranges::find(smooth.operators, fb::Op::SUB, &Operator::op);
  EXPECT_EQ(number(smooth, sub->inputs[1]), 7 * 16);
  // Sums of 16-bit integers have 48 bits.
  const Program wide = lowered(resized(kWide, kWide, ""), report);
  EXPECT_EQ(operators(wide), (Ops{fb::Op::RESIZE, fb::Op::RESCALE, fb::Op::RESCALE}));
  EXPECT_EQ(tensor(wide, rescale(wide, 0).inputs[0]).type, fb::DType::INT48);
  EXPECT_EQ(factor(wide, rescale(wide, 1)), 1.0 / 16);
}

TEST(TosaQuantised, NumbersOf16BitsInAnotherScaleAreARescale) {
  Report report;
  const Program program = lowered(R"(graph "g" {
    input "x" %x : f32[4]
    %q = quantize(%x) { quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
    %d = dequantize(%q)
    %r = quantize(%d) { quantisation = i16 in [-32767,32767] scale f32[] (0.25) zero i32[] (0) }
    %y = dequantize(%r)
    output "y" %y
  })",
                                  report);
  EXPECT_EQ(operators(program), std::vector<fb::Op>{fb::Op::RESCALE});
  EXPECT_EQ(factor(program, rescale(program, 0)), 2.0);
}

constexpr std::string_view kConv16 = R"(graph "g" {
  input "x" %x : f32[1,1,1,2]
  %q = quantize(%x) { quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
  %w = constant() { data = i8[2,1,1,2] (100, -27, 3, 4), quantisation = i8 in [-127,127] scale f32[2,1,1,1] (0.5, 0.25) }
  %b = constant() { data = f32[2] (3, 4) }
  %c = conv(%q, %w@BIAS@) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], groups = 1, quantisation = i16 in [-32767,32767] scale f32[] (2) zero i32[] (0) }
  %y = dequantize(%c)
  output "y" %y
})";

std::string conv16(std::string_view bias) {
  std::string text(kConv16);
  text.replace(text.find("@BIAS@"), 6, bias);
  return text;
}

TEST(TosaQuantised, AConvolutionOf16BitsSumsIn48AndAddsItsBiasIn32) {
  Report report;
  const Program program = lowered(conv16(", %b"), report);
  EXPECT_EQ(operators(program),
            (std::vector<fb::Op>{fb::Op::CONV2D, fb::Op::RESCALE, fb::Op::ADD, fb::Op::RESCALE}));
  const Operator& narrow = rescale(program, 0);
  EXPECT_EQ(tensor(program, narrow.inputs[0]).type, fb::DType::INT48);
  EXPECT_EQ(tensor(program, narrow.outputs[0]).type, fb::DType::INT32);
  EXPECT_FALSE(narrow.attribute.AsRescaleAttribute()->scale32);
  EXPECT_EQ(factor(program, narrow), 1);  // 127 * 2^15 and the bias fit in 32 bits
  const Operator& last = rescale(program, 1);
  EXPECT_TRUE(last.attribute.AsRescaleAttribute()->per_channel);
  EXPECT_EQ(factor(program, last), 0.5 * 0.5 / 2);
  const auto add = std::ranges::find(program.operators, fb::Op::ADD, &Operator::op);
  EXPECT_EQ(number(program, add->inputs[1]), 12);  // 3 in the scale of the sums
}

TEST(TosaQuantised, WithoutABiasNothingIsAdded) {
  Report report;
  EXPECT_EQ(operators(lowered(conv16(""), report)),
            (std::vector<fb::Op>{fb::Op::CONV2D, fb::Op::RESCALE, fb::Op::RESCALE}));
}

TEST(TosaQuantised, ProductsOf16BitMatricesAreBroughtTo32BitsWithoutOverflow) {
  Report report;
  const Program program = lowered(R"(graph "g" {
    input "a" %a : f32[1,2,64]
    input "b" %b : f32[1,64,2]
    %qa = quantize(%a) { quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
    %qb = quantize(%b) { quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
    %c = matmul(%qa, %qb) { quantisation = i16 in [-32767,32767] scale f32[] (1024) zero i32[] (0) }
    %y = dequantize(%c)
    output "y" %y
  })",
                                  report);
  EXPECT_EQ(operators(program),
            (std::vector<fb::Op>{fb::Op::MATMUL, fb::Op::RESCALE, fb::Op::RESCALE}));
  const double first = factor(program, rescale(program, 0));
  EXPECT_LT(64 * 0x1p30 * first, 0x1p31);
  EXPECT_EQ(first * factor(program, rescale(program, 1)), 0.25 / 1024);
}

TEST(TosaQuantised, ReluOf16BitsIsAClampAtItsZero) {
  Report report;
  const Program program = lowered(R"(graph "g" {
    input "x" %x : f32[4]
    %q = quantize(%x) { quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
    %c = clamp(%q) { bounds = [0,inf], quantisation = i16 in [-32767,32767] scale f32[] (0.5) zero i32[] (0) }
    %y = dequantize(%c)
    output "y" %y
  })",
                                  report);
  ASSERT_EQ(operators(program), std::vector<fb::Op>{fb::Op::CLAMP});
  const auto clamp = std::ranges::find(program.operators, fb::Op::CLAMP, &Operator::op);
  const auto* attribute = clamp->attribute.AsClampAttribute();
  EXPECT_EQ(attribute->min_val, (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(attribute->max_val, (std::vector<uint8_t>{0xff, 0x7f}));
}

}  // namespace
}  // namespace layline::tosa

// Quantised nodes in TOSA: scales as RESCALE has them, functions as tables, integers at the
// boundary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ir/text.h"
#include "targets/tosa/lower.h"
#include "targets/tosa/quantised.h"

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

}  // namespace
}  // namespace layline::tosa

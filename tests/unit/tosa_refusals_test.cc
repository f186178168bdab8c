// Why TOSA does not take a node: each limit, with what is just within it.
#include <gtest/gtest.h>

#include "targets/tosa/kernels.h"
#include "tosa_testing.h"

namespace layline::tosa {
namespace {

/// Why the node that defines %y is refused; empty if it is not.
std::string refusal_of(const std::string& text) {
  const Graph graph = parse_graph(text, "test");
  for (const Node* node : graph)
    if (node->result()->name() == "y") return refusal(*node);
  return "there is no %y";
}

struct Limit {
  std::vector<std::string> inputs;
  std::string statements;
  std::string_view why;  // empty: it is taken
};

void expect_limits(const std::vector<Limit>& limits) {
  for (const Limit& limit : limits)
    EXPECT_EQ(refusal_of(on_tensors(limit.inputs, limit.statements)), limit.why)
        << fmt::format("{} of {}", limit.statements, fmt::join(limit.inputs, ", "));
}

constexpr std::string_view kRanks = "TOSA broadcasts tensors of one rank only",
                           kClamps = "TOSA has no fused clamps",
                           kWindows = "the windows do not end where the operand does";

TEST(TosaRefusals, Tensors) {
  expect_limits({
      {{"f32[2,2,2,2,2,2]"}, "%y = neg(%a)", ""},
      {{"f32[2,2,2,2,2,2,2]"}, "%y = neg(%a)", "7 axes, TOSA takes at most 6"},
      {{"f32[1,1,1,1,1,1,2]"}, "%y = relayout(%a) { relayout = [1,1,1,1,1,1,2] -> [2] }", ""},
      {{"f32[2]"}, "%y = relayout(%a) { relayout = [2] -> [1,1,1,1,1,1,2] }", ""},
      {{"f32[2]"}, "%y = expand(%a) { shape = [1,1,1,1,1,3,2] }", "7 axes, TOSA takes at most 6"},
      {{"f64[2]"}, "%y = neg(%a)", "TOSA has no f64 tensors"},
      {{"bf16[2]"}, "%y = neg(%a)", "TOSA has no bf16 tensors"},
      {{"f32[2]"}, "%y = convert(%a) { to = u8 }", "TOSA has no u8 tensors"},
      {{"f32[0]"}, "%y = neg(%a)", "the tensor is empty"},
      {{"f32[2147483647]"}, "%y = neg(%a)", ""},
      {{"f32[2147483648]"}, "%y = neg(%a)", "the tensor has more than 2^31 elements"},
      {{"f32[2,1]"},
       "%y = expand(%a) { shape = [2,1073741824] }",
       "the tensor has more than 2^31 elements"},
      {{"f32[2,2,2,2,2,2]"},
       "%y = relayout(%a) { relayout = [2,2,2,2,2,2] (2,2,2,2,2,2)->(5,4,3,2,1,0) [2,2,2,2,2,2] }",
       ""},
      {{"f32[2,2,2,2,2,4]"},
       "%y = relayout(%a) { relayout = [2,2,2,2,2,4] (2,2,2,2,2,2,2)->(6,5,4,3,2,1,0) [2,2,2,2,2,4]"
       " }",
       "a transpose of 7 axes, TOSA takes at most 6"},
  });
  EXPECT_EQ(refusal_of(R"(graph "g" {
    symbol s1 "n" in [1,16]
    input "a" %a : f32[s1]
    %y = neg(%a)
    output "y" %y
  })"),
            "the shape is dynamic; export the model with fixed sizes");
}

TEST(TosaRefusals, ElementTypes) {
  expect_limits({
      {{"f16[2]"}, "%y = exp(%a)", ""},
      {{"i32[2]"}, "%y = abs(%a)", ""},
      {{"i64[2]"}, "%y = abs(%a)", ""},
      {{"i8[2]"}, "%y = abs(%a)", "TOSA has no abs of i8"},
      {{"i16[2]"}, "%y = neg(%a)", "TOSA has no neg of i16"},
      {{"f32[2]", "f32[2]"}, "%y = floor_div(%a, %b)", "TOSA has no floor_div of f32"},
      {{"i32[2]", "i32[2]"}, "%y = floor_div(%a, %b)", ""},
      {{"i32[2]"}, "%y = clamp(%a) { bounds = [0,1] }", "TOSA has no clamp of i32"},
      {{"i16[2]"}, "%y = clamp(%a) { bounds = [0,1] }", ""},
      {{"bool[2]"}, "%y = logical_not(%a)", ""},
      {{"i8[2]", "i8[2]"}, "%y = bitwise_and(%a, %b)", ""},
      {{"i8[2,2]", "i32[2]"}, "%y = gather(%a, %b) { axis = 0 }", ""},
      {{"bool[2,2]", "i32[2]"}, "%y = gather(%a, %b) { axis = 0 }", "TOSA has no gather of bool"},
      // The condition is always of bool; what is chosen may be of anything.
      {{"bool[2]", "i8[2]", "i8[2]"}, "%y = where(%a, %b, %c)", ""},
      {{"f32[2]"}, "%y = atan(%a)", "TOSA has no atan"},
      {{"f32[2]"}, "%y = convert(%a) { to = i32 }", ""},
      {{"i32[2]"}, "%y = convert(%a) { to = bool }", ""},
      {{"f32[2]"},
       "%y = convert(%a) { to = bool }",
       "TOSA casts between floats and bool by way of integers only"},
      {{"bool[2]"},
       "%y = convert(%a) { to = f16 }",
       "TOSA casts between floats and bool by way of integers only"},
  });
}

TEST(TosaRefusals, Elementwise) {
  expect_limits({
      {{"f32[2,3]", "f32[3]"}, "%y = add(%a, %b)", kRanks},
      {{"f32[3]", "f32[2,3]"}, "%y = maximum(%a, %b)", kRanks},
      {{"f32[2,3]", "f32[1,3]"}, "%y = add(%a, %b)", ""},
      {{"bool[3]", "f32[2,3]", "f32[2,3]"}, "%y = where(%a, %b, %c)", kRanks},
      {{"f32[3]", "f32[3]"}, "%y = add(%a, %b) { bounds = [0,inf] }", kClamps},
      {{"f32[3]", "f32[3]"}, "%y = mul(%a, %b) { bounds = [-inf,6] }", kClamps},
      {{"f32[3]", "f32[3]"}, "%y = pow(%a, %b)", ""},
      {{"f32[2,3]", "f32[3]"}, "%y = pow(%a, %b)", kRanks},
  });
  const auto power = [](std::string_view base, std::string_view exponent) {
    return refusal_of(on_tensors(
        {"f32[1]"},
        fmt::format("%m = abs(%a) %n = neg(%a) %e = constant() {{ data = f32[1] ({}) }} %y = "
                    "pow({}, %e)",
                    exponent, base)));
  };
  constexpr std::string_view kNegative = "TOSA raises what is not negative only";
  EXPECT_EQ(power("%a", "3"), kNegative);
  EXPECT_EQ(power("%a", "-2"), kNegative);
  EXPECT_EQ(power("%m", "3"), "");
  EXPECT_EQ(power("%n", "3"), kNegative);
  EXPECT_EQ(power("%a", "0.5"), "");
  EXPECT_EQ(power("%a", "1000000000"), kNegative);
  EXPECT_EQ(power("%a", "-1000000000"), kNegative);
  EXPECT_EQ(power("%a", "1000000064"), "");  // the next float; all of them are even
}

TEST(TosaRefusals, Shifts) {
  const auto shift = [](std::string_view count) {
    return refusal_of(on_tensors({"i32[2]", "i32[2]"},
                                 fmt::format("%c = constant() {{ data = i32[2] splat 31 }}\n{}\n"
                                             "%y = right_shift(%a, %n)",
                                             count)));
  };
  const auto clamped = [&](std::string_view least, std::string_view most) {
    return shift(
        fmt::format("%l = constant() {{ data = i32[1] ({}) }}\n"
                    "%m = constant() {{ data = i32[1] ({}) }}\n"
                    "%x = maximum(%b, %l)\n%n = minimum(%x, %m)",
                    least, most));
  };
  constexpr std::string_view kRange = "TOSA shifts by 0 to 31 bits only";
  EXPECT_EQ(shift("%n = constant() { data = i32[2] (0, 31) }"), "");
  EXPECT_EQ(shift("%n = constant() { data = i32[2] (0, 32) }"), kRange);
  EXPECT_EQ(shift("%n = constant() { data = i32[2] (-1, 31) }"), kRange);
  EXPECT_EQ(clamped("0", "31"), "");
  EXPECT_EQ(clamped("1", "30"), "");
  EXPECT_EQ(clamped("0", "32"), kRange);
  EXPECT_EQ(clamped("-1", "31"), kRange);
  EXPECT_EQ(shift("%n = minimum(%b, %c)"), kRange);
  EXPECT_EQ(shift("%n = maximum(%b, %c)"), kRange);
  EXPECT_EQ(shift("%x = maximum(%b, %a) %n = minimum(%x, %c)"), kRange);
  EXPECT_EQ(shift("%x = maximum(%b, %c) %n = minimum(%x, %a)"), kRange);
  EXPECT_EQ(shift("%x = minimum(%b, %c) %n = minimum(%x, %c)"), kRange);
  EXPECT_EQ(shift("%n = add(%b, %c)"), kRange);
  EXPECT_EQ(shift("%x = maximum(%b, %c) %n = maximum(%x, %c)"), kRange);
  EXPECT_EQ(refusal_of(on_tensors({"i32[2,2]", "i32[2]"},
                                  "%c = constant() { data = i32[2] splat 3 }\n"
                                  "%y = left_shift(%a, %c)")),
            kRanks);
}

TEST(TosaRefusals, Movement) {
  constexpr std::string_view kOnce = "TOSA writes to each element once";
  expect_limits({
      {{"f32[4,4]"}, "%y = slice(%a) { start = [0,0], size = [2,2], step = [1,1] }", ""},
      {{"f32[4,4]"},
       "%y = slice(%a) { start = [0,0], size = [2,2], step = [1,2] }",
       "TOSA slices have step 1"},
      {{"f32[4]"},
       "%y = pad(%a) { low = [1], high = [1], mode = reflect }",
       "TOSA pads with a constant only"},
      {{"f32[4]"}, "%y = pad(%a) { low = [1], high = [1] }", ""},
      {{"f32[4]", "i32[2]", "f32[2]"}, "%y = scatter_elements(%a, %b, %c) { axis = 0 }", ""},
      {{"f32[4]", "i32[2]"},
       "%c = constant() { data = f32[2] splat 3 } %y = scatter_elements(%a, %b, %c) { axis = 0 }",
       kOnce},
      {{"f32[4]"}, "%y = roll(%a) { axes = [0], shifts = [1] }", "TOSA has no roll"},
  });
}

std::string conv(std::string_view weight, std::string_view stride, std::string_view low,
                 std::string_view high, std::string_view more = "") {
  const size_t axes = static_cast<size_t>(std::ranges::count(stride, ','));
  const std::string_view ones = std::string_view("1,1,1").substr(0, 2 * axes + 1);
  return fmt::format(
      "%w = constant() {{ data = f32[{}] splat 1 }}\n"
      "%y = conv(%a, %w) {{ stride = [{}], dilation = [{}], low = [{}], high = [{}]{} }}",
      weight, stride, ones, low, high, more);
}

TEST(TosaRefusals, Convolutions) {
  constexpr std::string_view kLarge =
                                 "a kernel or stride over 8192 (level 8K); split the convolution",
                             kGroups = "TOSA has no grouped convolutions";
  expect_limits({
      {{"f32[1,4,2]"}, conv("3,1,2", "1", "0", "0"), "TOSA convolves two or three spatial axes"},
      {{"f32[1,4,4,2]"}, conv("3,1,1,2", "1,1", "0,0", "0,0"), ""},
      {{"f32[1,4,4,4,2]"}, conv("3,1,1,1,2", "1,1,1", "0,0,0", "0,0,0"), ""},
      {{"f32[1,4,4,2]"}, conv("3,1,1,2", "1,1", "0,0", "0,0", ", bounds = [0,6]"), kClamps},
      // (4 + low + high - 2) must be a multiple of the stride, of each axis.
      {{"f32[1,4,4,2]"}, conv("3,2,2,2", "2,2", "0,0", "0,0"), ""},
      {{"f32[1,4,4,2]"}, conv("3,2,2,2", "2,2", "1,0", "1,0"), ""},
      {{"f32[1,4,4,2]"}, conv("3,2,2,2", "2,2", "1,0", "0,0"), kWindows},
      {{"f32[1,4,4,2]"}, conv("3,2,2,2", "2,2", "0,0", "0,1"), kWindows},
      {{"f32[1,5,4,2]"}, conv("3,2,2,2", "2,2", "0,0", "0,0"), kWindows},
      {{"f32[1,4,5,2]"}, conv("3,2,3,2", "2,2", "0,0", "0,0"), ""},
      {{"f32[1,8192,1,1]"}, conv("1,8192,1,1", "1,1", "0,0", "0,0"), ""},
      {{"f32[1,8193,1,1]"}, conv("1,8193,1,1", "1,1", "0,0", "0,0"), kLarge},
      {{"f32[1,1,8193,1]"}, conv("1,1,8193,1", "1,1", "0,0", "0,0"), kLarge},
      {{"f32[1,1,1,1]"}, conv("1,1,1,1", "8192,1", "0,0", "0,0"), ""},
      {{"f32[1,1,1,1]"}, conv("1,1,1,1", "8193,1", "0,0", "0,0"), kLarge},
      {{"f32[1,4,4,2]"}, conv("2,1,1,1", "1,1", "0,0", "0,0", ", groups = 2"), ""},
      {{"f32[1,4,4,2]"}, conv("4,1,1,1", "1,1", "0,0", "0,0", ", groups = 2"), ""},
      {{"f32[1,4,4,4]"}, conv("2,1,1,2", "1,1", "0,0", "0,0", ", groups = 2"), kGroups},
      {{"f32[1,4,4,4,2]"}, conv("2,1,1,1,1", "1,1,1", "0,0,0", "0,0,0", ", groups = 2"), kGroups},
      {{"f32[1,4,4,2]", "f32[2,1,1,1]"},
       "%y = conv(%a, %b) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], groups = 2"
       " }",
       kGroups},
      // A dilated window ends further on: 1 + 2 * 2 = 5 of 6 elements.
      {{"f32[1,6,6,1]", "f32[1,3,3,1]"},
       "%y = conv(%a, %b) { stride = [1,2], dilation = [2,1], low = [0,0], high = [0,1] }",
       ""},
      {{"f32[1,6,6,1]", "f32[1,3,3,1]"},
       "%y = conv(%a, %b) { stride = [2,1], dilation = [2,1], low = [0,0], high = [0,0] }",
       kWindows},
      {{"f32[2,3]", "f32[4,3]"}, "%y = linear(%a, %b)", ""},
      {{"f32[2,3]", "f32[4,3]"}, "%y = linear(%a, %b) { bounds = [0,inf] }", kClamps},
  });
}

std::string transposed(std::string_view stride, std::string_view low, std::string_view high,
                       std::string_view extra, std::string_view more = "dilation = [1,1]") {
  return fmt::format(
      "%y = conv_transpose(%a, %b) {{ stride = [{}], low = [{}], high = [{}], extra = [{}], {} }}",
      stride, low, high, extra, more);
}

TEST(TosaRefusals, TransposedConvolutions) {
  constexpr std::string_view kCrop = "TOSA crops less than the kernel",
                             kLarge = "a kernel or stride over 8192 (level 8K)";
  const std::vector<std::string> image = {"f32[1,4,4,2]", "f32[2,2,3,2]"};
  expect_limits({
      {image, transposed("1,1", "0,0", "0,0", "0,0"), ""},
      {image, transposed("1,1", "1,2", "0,0", "0,0"), ""},
      {image, transposed("1,1", "2,0", "0,0", "0,0"), kCrop},
      {image, transposed("1,1", "0,3", "0,0", "0,0"), kCrop},
      {image, transposed("1,1", "0,0", "1,2", "0,0"), ""},
      {image, transposed("1,1", "0,0", "2,0", "0,0"), kCrop},
      {image, transposed("2,2", "0,0", "0,3", "0,0"), kCrop},
      {image, transposed("2,2", "0,0", "2,3", "1,1"), ""},
      {image, transposed("1,1", "0,0", "0,0", "0,0", "dilation = [2,1]"),
       "TOSA's transposed convolution has no dilation"},
      {image, transposed("1,1", "0,0", "0,0", "0,0", "dilation = [1,2]"),
       "TOSA's transposed convolution has no dilation"},
      {image, transposed("1,1", "0,0", "0,0", "0,0", "dilation = [1,1], bounds = [0,1]"), kClamps},
      {{"f32[1,4,4,2]", "f32[2,2,3,1]"},
       transposed("1,1", "0,0", "0,0", "0,0", "dilation = [1,1], groups = 2"),
       "TOSA's transposed convolution has no groups"},
      {{"f32[1,4,2]", "f32[2,2,2]"},
       transposed("1", "0", "0", "0", "dilation = [1]"),
       "TOSA's transposed convolution has two spatial axes"},
      {{"f32[1,4,4,4,2]", "f32[2,2,2,2,2]"},
       transposed("1,1,1", "0,0,0", "0,0,0", "0,0,0", "dilation = [1,1,1]"),
       "TOSA's transposed convolution has two spatial axes"},
      {{"f32[1,1,1,1]", "f32[1,8192,1,1]"}, transposed("1,1", "0,0", "0,0", "0,0"), ""},
      {{"f32[1,1,1,1]", "f32[1,8193,1,1]"}, transposed("1,1", "0,0", "0,0", "0,0"), kLarge},
      {{"f32[1,1,1,1]", "f32[1,1,1,1]"}, transposed("1,8192", "0,0", "0,0", "0,0"), ""},
      {{"f32[1,1,1,1]", "f32[1,1,1,1]"}, transposed("1,8193", "0,0", "0,0", "0,0"), kLarge},
  });
}

std::string pool(std::string_view kernel, std::string_view stride, std::string_view low,
                 std::string_view high, std::string_view more = "dilation = [1,1]",
                 std::string_view op = "avg_pool") {
  return fmt::format("%y = {}(%a) {{ kernel = [{}], stride = [{}], low = [{}], high = [{}], {} }}",
                     op, kernel, stride, low, high, more);
}

TEST(TosaRefusals, Pools) {
  constexpr std::string_view kCounted = "TOSA's averages do not count padding",
                             kLarge = "a kernel or stride over 8192 (level 8K)";
  constexpr std::string_view kCounts = "dilation = [1,1], count_padding = true";
  const std::vector<std::string> image = {"f32[1,4,4,2]"};
  expect_limits({
      {image, pool("2,2", "2,2", "0,0", "0,0"), ""},
      {image, pool("2,2", "2,2", "0,0", "0,0", "dilation = [1,1]", "max_pool"), ""},
      {image, pool("2,2", "2,2", "0,0", "0,0", "dilation = [1,1], bounds = [0,1]"), kClamps},
      {image, pool("2,2", "2,2", "0,0", "0,0", kCounts), ""},
      {image, pool("2,2", "2,2", "1,0", "1,0", kCounts), kCounted},
      {image, pool("2,2", "1,1", "0,1", "0,0", kCounts), kCounted},
      {image, pool("2,2", "1,1", "0,0", "1,0", kCounts), kCounted},
      {image, pool("2,2", "1,1", "0,0", "0,1", kCounts), kCounted},
      {image, pool("2,2", "2,2", "1,0", "1,0"), ""},
      {image, pool("2,2", "2,2", "1,0", "0,0"), kWindows},
      {image, pool("2,2", "1,1", "0,0", "0,0", "dilation = [2,1]", "max_pool"),
       "TOSA's pools have no dilation"},
      {image, pool("2,2", "1,1", "0,0", "0,0", "dilation = [1,2]", "max_pool"),
       "TOSA's pools have no dilation"},
      {image, pool("3,2", "1,1", "2,1", "2,1"), ""},
      {{"f32[1,4,2]"}, pool("2", "1", "0", "0", "dilation = [1]"), "TOSA pools two spatial axes"},
      {{"f32[1,4,4,4,2]"},
       pool("2,2,2", "1,1,1", "0,0,0", "0,0,0", "dilation = [1,1,1]"),
       "TOSA pools two spatial axes"},
      {{"f32[1,8192,1,1]"}, pool("8192,1", "1,1", "0,0", "0,0"), ""},
      {{"f32[1,8193,1,1]"}, pool("8193,1", "1,1", "0,0", "0,0"), kLarge},
      {{"f32[1,1,1,1]"}, pool("1,1", "8192,1", "0,0", "0,0"), ""},
      {{"f32[1,1,1,1]"}, pool("1,1", "1,8193", "0,0", "0,0"), kLarge},
  });
}

TEST(TosaRefusals, MatricesAndImages) {
  constexpr std::string_view kMatrices =
      "TOSA multiplies matrices [N,H,C] and [N,C,W] of one batch";
  expect_limits({
      {{"f32[2,3,4]", "f32[2,4,5]"}, "%y = matmul(%a, %b)", ""},
      {{"f32[2,3,4]", "f32[1,4,5]"}, "%y = matmul(%a, %b)", kMatrices},
      {{"f32[3,4]", "f32[4,5]"}, "%y = matmul(%a, %b)", kMatrices},
      {{"f32[2,3,4]", "f32[4,5]"}, "%y = matmul(%a, %b)", kMatrices},
      {{"f32[4,3,4]", "f32[4,5]"}, "%y = matmul(%a, %b)", kMatrices},
      {{"f32[2,4]", "f32[2,4,5]"}, "%y = matmul(%a, %b)", kMatrices},
      {{"f32[1,2,3,4]", "f32[1,2,4,5]"}, "%y = matmul(%a, %b)", kMatrices},
      {{"f32[2,3,4]", "f32[2,5,4]"},
       "%y = matmul(%a, %b) { transpose_b = true }",
       "TOSA has no transposed operands"},
      {{"f32[1,4,4,2]"}, "%y = resize(%a) { size = [8,8], step = [0.5,0.5] }", ""},
      {{"f32[1,40,4,2]"},
       "%y = resize(%a) { size = [2,8], step = [20,0.5] }",
       "the scale is not one that TOSA can express"},
      {{"f32[1,4,40,2]"},
       "%y = resize(%a) { size = [8,2], step = [0.5,20] }",
       "the scale is not one that TOSA can express"},
  });
}

struct QuantisedLimit {
  std::vector<QuantisedInput> inputs;
  std::string statements;
  std::string_view why;
};

void expect_quantised(const std::vector<QuantisedLimit>& limits) {
  for (const QuantisedLimit& limit : limits)
    EXPECT_EQ(refusal_of(on_integers(limit.inputs, limit.statements)), limit.why)
        << limit.statements;
}

constexpr std::string_view kIntegersOnly = "quantised numbers are of i8, or of i16 around 0",
                           kFar = "the scales differ too much for RESCALE",
                           kProducts = "quantised products are of i8, or of i16 around 0";

std::string i16_off_0() { return "i16 in [-32767,32767] scale f32[] (1) zero i32[] (1)"; }

std::string of(std::string_view expression, std::string_view attributes,
               const std::string& quantisation) {
  return fmt::format("%y = {} {{ {} quantisation = {} }}", expression, attributes, quantisation);
}

TEST(TosaRefusals, QuantisedArithmetic) {
  for (const std::string_view op : {"add(%a, %b)", "sub(%a, %b)", "mul(%a, %b)"}) {
    expect_quantised({
        {{{"4", i8(1)}, {"4", i8(1)}}, of(op, "", i8(1)), ""},
        {{{"4", i16_off_0()}, {"4", i8(1)}}, of(op, "", i8(1)), kIntegersOnly},
        {{{"4", i8(1)}, {"4", i16_off_0()}}, of(op, "", i8(1)), kIntegersOnly},
        {{{"4", i8(1)}, {"4", i8(1)}}, of(op, "", i16_off_0()), kIntegersOnly},
        {{{"2,4", i8(1)}, {"4", i8(1)}}, of(op, "", i8(1)), kRanks},
    });
  }
  expect_quantised({
      // Sums are in 2^-19 of the larger scale: a result 2^-48 of it is 2^29 times finer.
      {{{"4", i8(1)}, {"4", i8(1)}}, of("add(%a, %b)", "", i8(0x1p-47)), ""},
      {{{"4", i8(1)}, {"4", i8(1)}}, of("add(%a, %b)", "", i8(0x1p-48)), kFar},
      // Products of 1 and 1 in 2^-28 are, and in 2^-29 are not.
      {{{"4", i8(1)}, {"4", i8(1)}}, of("mul(%a, %b)", "", i8(0x1p-28)), ""},
      {{{"4", i8(1)}, {"4", i8(1)}}, of("mul(%a, %b)", "", i8(0x1p-29)), kFar},
      {{{"4,2", i8(1)}}, of("reduce_sum(%a)", "axes = [0],", i8(0x1p-28)), ""},
      {{{"4,2", i8(1)}}, of("reduce_sum(%a)", "axes = [0],", i8(0x1p-29)), kFar},
      {{{"4,2", i8(1)}}, of("reduce_mean(%a)", "axes = [0],", i8(0x1p-29)), ""},
      {{{"4,2", i16_off_0()}}, of("reduce_mean(%a)", "axes = [0],", i8(1)), kIntegersOnly},
      {{{"4,2", i8(1)}}, of("reduce_sum(%a)", "axes = [0],", i16_off_0()), kIntegersOnly},
      {{{"4,2", i8(1)}}, of("reduce_max(%a)", "axes = [0],", i8(1)), ""},
      {{{"4,2", i8(1)}}, of("reduce_max(%a)", "axes = [0],", i8(1, 1)), kIntegersOnly},
      {{{"4,2", i16_off_0()}}, of("reduce_min(%a)", "axes = [0],", i16_off_0()), kIntegersOnly},
      {{{"4", i8(1)}}, of("clamp(%a)", "bounds = [0,1],", i8(1)), ""},
      {{{"4", i16_off_0()}}, of("clamp(%a)", "bounds = [0,1],", i16_off_0()), kIntegersOnly},
      {{{"4", i8(1)}},
       "%y = roll(%a) { axes = [0], shifts = [1] }",
       "TOSA does not move integers so"},
      {{{"4", i8(1)}},
       "%y = slice(%a) { start = [0], size = [2], step = [2] }",
       "TOSA slices have step 1"},
  });
}

TEST(TosaRefusals, QuantisedPools) {
  constexpr std::string_view kWindow =
      "kernel = [2,2], stride = [2,2], dilation = [1,1], low = [0,0], high = [0,0],";
  constexpr std::string_view kOver =
      "kernel = [2,2], stride = [2,2], dilation = [1,1], low = [1,0], high = [0,0],";
  expect_quantised({
      {{{"1,4,4,1", i8(1)}}, of("max_pool(%a)", kWindow, i8(1)), ""},
      {{{"1,4,4,1", i8(1)}}, of("max_pool(%a)", kWindow, i8(0.5)), kIntegersOnly},
      {{{"1,4,4,1", i16_off_0()}}, of("max_pool(%a)", kWindow, i16_off_0()), kIntegersOnly},
      {{{"1,4,4,1", i8(1)}}, of("max_pool(%a)", kOver, i8(1)), kWindows},
      {{{"1,4,4,1", i8(1)}}, of("avg_pool(%a)", kWindow, i8(0.5)), ""},
      {{{"1,4,4,1", i16_off_0()}}, of("avg_pool(%a)", kWindow, i8(0.5)), kIntegersOnly},
      {{{"1,4,4,1", i8(1)}}, of("avg_pool(%a)", kOver, i8(1)), kWindows},
      {{{"1,4,4,1", i8(1)}}, of("avg_pool(%a)", kWindow, i8(0x1p-28)), ""},
      {{{"1,4,4,1", i8(1)}}, of("avg_pool(%a)", kWindow, i8(0x1p-29)), kFar},
  });
}

/// A 1x1 convolution with this weight, and what else stands before it.
std::string conv_with(std::string_view weight, std::string_view operands = "%a, %w",
                      const std::string& result = i8(1), std::string_view more = "") {
  return fmt::format(
      "{}\n%y = conv({}) {{ stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0],{} "
      "quantisation = {} }}",
      weight, operands, more, result);
}

TEST(TosaRefusals, QuantisedContractions) {
  constexpr std::string_view kWeights = "quantised weights are constant, of 8 bits, and around 0";
  const auto weight = [](std::string_view table, std::string_view scales,
                         std::string_view more = "", std::string_view dtype = "i8 in [-127,127]") {
    return fmt::format(
        "%w = constant() {{ data = {0}[2,1,1,2] splat 1, quantisation = {1} scale f32[{2}] ({3}){4}"
        " }}",
        dtype.substr(0, dtype.find(' ')), dtype, table, scales, more);
  };
  const std::string plain = weight("", "1");
  const std::vector<QuantisedInput> image = {{"1,1,1,2", i8(1)}}, wide = {{"1,1,1,2", i16(1)}};
  const auto with_bias = [&](std::string_view number) {
    return conv_with(fmt::format("{}\n%b = constant() {{ data = f32[2] (0, {}) }}", plain, number),
                     "%a, %w, %b");
  };
  expect_quantised({
      {image, conv_with(plain), ""},
      {image, conv_with(weight("2,1,1,1", "1, 2")), ""},
      {image, conv_with(weight("1,1,1,2", "1, 2")),
       "quantised weights have one scale for each output"},
      {image, conv_with(weight("2,1,1,2", "1, 2, 3, 4")),
       "quantised weights have one scale for each output"},
      {image, conv_with(weight("", "1", " zero i32[] (3)")), kWeights},
      {image, conv_with(weight("", "1", "", "i16 in [-32767,32767]")), kWeights},
      {{{"1,1,1,2", i8(1)}, {"2,1,1,2", i8(1)}}, conv_with("", "%a, %b"), kWeights},
      {{{"1,1,1,2", i8(1)}, {"2,1,1,2", "i8 in [-127,127] scale f32[] (1)"}},
       conv_with("", "%a, %b"),
       kWeights},
      {{{"1,2,1,2", i8(1)}},
       conv_with("%w = constant() { data = i8[2,2,1,2] splat 1, quantisation = i8 in [-127,127] "
                 "scale f32[1,2,1,1] (1, 2) }"),
       "quantised weights have one scale for each output"},
      {{{"1,1,1,2", i16_off_0()}}, conv_with(plain), kProducts},
      {image, conv_with(plain, "%a, %w", i16_off_0()), kProducts},
      {image, conv_with(plain, "%a, %w", i8(0x1p-28)), ""},
      {image, conv_with(plain, "%a, %w", i8(0x1p-29)), kFar},
      {image, with_bias("1073741760"), ""},  // the float before 2^30
      {image, with_bias("1073741824"), "the bias exceeds 32 bits in the scale of the sums"},
      {image, with_bias("-1073741824"), "the bias exceeds 32 bits in the scale of the sums"},
      {image, with_bias("inf"), "the bias exceeds 32 bits in the scale of the sums"},
      {wide, with_bias("1073741824"), ""},  // is added after a shift
      {image,
       conv_with(plain, "%a, %w, %n")
           .insert(0,
                   "%f = constant() { data = f32[2] (1, 2) }\n"
                   "%n = neg(%f)\n"),
       "the bias is not constant"},
      {{{"1,1,2", i8(1)}},
       "%w = constant() { data = i8[2,1,2] splat 1, quantisation = i8 in [-127,127] scale f32[] "
       "(1) }\n%y = conv(%a, %w) { stride = [1], dilation = [1], low = [0], high = [0], "
       "quantisation = " +
           i8(1) + " }",
       "TOSA convolves two or three spatial axes"},
      {image,
       plain +
           "\n%y = conv_transpose(%a, %w) { stride = [1,1], dilation = [1,1], low = [1,0], high "
           "= [0,0], extra = [1,0], quantisation = " +
           i8(1) + " }",
       "TOSA crops less than the kernel"},
  });
}

/// Numbers that are quantised as they are read.
TEST(TosaRefusals, DynamicScales) {
  EXPECT_EQ(refusal_of(on_tensors({"f32[2,4]"},
                                  "%w = constant() { data = i8[3,4] splat 1, quantisation = i8 in "
                                  "[-127,127] scale f32[] (1) }\n"
                                  "%y = linear(%a, %w) { dynamic = true }")),
            "TOSA has no scales that are chosen at run time");
}

TEST(TosaRefusals, QuantisedMatricesAndRounding) {
  const auto product = [](const std::string& a, const std::string& b, const std::string& y,
                          std::string_view shape = "1,4,3") {
    return refusal_of(
        on_integers({{"1,2,4", a}, {std::string(shape), b}}, of("matmul(%a, %b)", "", y)));
  };
  EXPECT_EQ(product(i8(1), i8(1), i8(1)), "");
  EXPECT_EQ(product(i16(1), i16(1), i16(1)), "");
  EXPECT_EQ(product(i8(1), i16(1), i16(1)), kProducts);
  EXPECT_EQ(product(i16(1), i8(1), i16(1)), kProducts);
  EXPECT_EQ(product(i16_off_0(), i16(1), i16(1)), kProducts);
  EXPECT_EQ(product(i16(1), i16_off_0(), i16(1)), kProducts);
  EXPECT_EQ(product(i8(1), i8(1), i16_off_0()), kProducts);
  EXPECT_EQ(product(i8(1), i8(1), i8(0x1p-28)), "");
  EXPECT_EQ(product(i8(1), i8(1), i8(0x1p-29)), kFar);
  EXPECT_EQ(product(i8(1), i8(1), i8(1), "4,3"),
            "TOSA multiplies matrices [N,H,C] and [N,C,W] of one batch");
  constexpr std::string_view kOneScale = "numbers are quantised to i8 or i16, with one scale";
  const auto rounding = [](std::string_view statements) {
    return refusal_of(on_tensors({"f32[2,2]"}, statements));
  };
  EXPECT_EQ(rounding("%y = quantize(%a) { quantisation = i8 in [-128,127] scale f32[] (1) }"), "");
  EXPECT_EQ(rounding("%y = quantize(%a) { quantisation = i8 in [-128,127] scale f32[2,1] (1, 2) }"),
            kOneScale);
  EXPECT_EQ(rounding("%q = quantize(%a) { quantisation = i8 in [-128,127] scale f32[2,1] (1, 2) }\n"
                     "%y = dequantize(%q)"),
            kOneScale);
}

}  // namespace
}  // namespace layline::tosa

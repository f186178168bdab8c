// Ops on floats, plain integers and truth values as TOSA programs, operator by operator.
#include <gtest/gtest.h>

#include "base/error.h"
#include "targets/tosa/accelerator.h"
#include "tosa_testing.h"

namespace layline::tosa {
namespace {

struct Case {
  std::vector<std::string> inputs;
  std::string_view statements;
  Lines lines;
};

void expect_programs(const std::vector<Case>& cases, const Accelerator* accelerator = nullptr) {
  for (const Case& one : cases)
    EXPECT_EQ(listing(on_tensors(one.inputs, one.statements), accelerator), one.lines)
        << one.statements;
}

TEST(TosaFloatPrograms, ContractionsAndPools) {
  expect_programs({
      {{"f32[2,3,4]"},
       "%w = constant() { data = f32[2,4] splat 3 } %b = constant() { data = f32[2] (1, 2) }"
       "%y = linear(%a, %w, %b)",
       {"%0 = RESHAPE a <1,6,1,4> -> FP32[1,6,1,4]",
        "%1 = CONV2D(pad=0,0,0,0 stride=1,1 dilation=1,1 acc=FP32) %0 "
        "f32[2,1,1,4]{3,3,3,3,3,3,3,3} f32{1,2} f32{0} f32{0} -> FP32[1,6,1,2]",
        "y = RESHAPE %1 <2,3,2> -> FP32[2,3,2]"}},
      {{"f32[2,3,4]", "f32[2,4,5]"},
       "%y = matmul(%a, %b)",
       {"y = MATMUL a b f32{0} f32{0} -> FP32[2,3,5]"}},
      {{"f32[1,4,5,2]", "f32[3,2,3,2]"},
       "%y = conv(%a, %b) { stride = [1,2], dilation = [2,1], low = [1,0], high = [0,2] }",
       {"y = CONV2D(pad=1,0,0,2 stride=1,2 dilation=2,1 acc=FP32) a b f32{0} f32{0} f32{0} -> "
        "FP32[1,3,3,3]"}},
      {{"f32[1,2,1,2]"},
       "%w = constant() { data = f32[4,2,1,1] (1, 2, 3, 4, 5, 6, 7, 8) } "
       "%b = constant() { data = f32[4] (1, 2, 3, 4) }"
       "%y = conv(%a, %w, %b) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], "
       "groups = 2 }",
       {"y = DEPTHWISE_CONV2D(pad=0,0,0,0 stride=1,1 dilation=1,1 acc=FP32) a "
        "f32[2,1,2,2]{1,3,5,7,2,4,6,8} f32{1,2,3,4} f32{0} f32{0} -> FP32[1,1,1,4]"}},
      {{"f32[1,3,2,2,1]", "f32[1,2,1,1,1]"},
       "%y = conv(%a, %b) { stride = [1,1,1], dilation = [1,1,1], low = [0,0,1], high = [0,1,0] }",
       {"y = CONV3D(pad=0,0,0,1,1,0 stride=1,1,1 dilation=1,1,1 acc=FP32) a b f32{0} f32{0} "
        "f32{0} -> FP32[1,2,3,3,1]"}},
      {{"f32[1,2,2,1]", "f32[1,3,4,1]", "f32[1]"},
       "%y = conv_transpose(%a, %b, %c) { stride = [2,3], dilation = [1,1], low = [1,0], high = "
       "[0,2], extra = [1,0] }",
       {"y = TRANSPOSE_CONV2D(out_pad=-1,1,0,-2 stride=2,3 acc=FP32) a b c f32{0} f32{0} -> "
        "FP32[1,5,5,1]"}},
      {{"f32[1,4,5,2]"},
       "%y = max_pool(%a) { kernel = [2,3], stride = [1,2], dilation = [1,1], low = [1,0], high = "
       "[0,2] }",
       {"y = MAX_POOL2D(kernel=2,3 stride=1,2 pad=1,0,0,2) a -> FP32[1,4,3,2]"}},
      {{"f16[1,4,5,2]"},
       "%y = avg_pool(%a) { kernel = [2,3], stride = [1,2], dilation = [1,1], low = [1,0], high = "
       "[0,2] }",
       {"y = AVG_POOL2D(kernel=2,3 stride=1,2 pad=1,0,0,2 acc=FP32) a f16{0} f16{0} -> "
        "FP16[1,4,3,2]"}},
      {{"f32[1,2,3,1]"},
       "%y = resize(%a) { size = [4,5], step = [0.5,0.5], align_corners = true }",
       {"y = RESIZE(BILINEAR) a <2,1,2,1> <0,0> <1,0> -> FP32[1,4,5,1]"}},
      {{"f32[1,2,3,1]"},
       "%y = resize(%a) { size = [4,3], step = [0.5,1], mode = nearest }",
       {"y = RESIZE(NEAREST) a <4,2,2,2> <-1,0> <1,0> -> FP32[1,4,3,1]"}},
  });
}

TEST(TosaFloatPrograms, Elementwise) {
  expect_programs({
      {{"f32[2,3]", "f32[1,3]"}, "%y = mul(%a, %b)", {"y = MUL a b i8{0} -> FP32[2,3]"}},
      {{"f32[2]", "f32[2]"}, "%y = sub(%a, %b)", {"y = SUB a b -> FP32[2]"}},
      {{"f32[2]", "f32[2]"}, "%y = minimum(%a, %b)", {"y = MINIMUM a b -> FP32[2]"}},
      {{"i32[2]", "i32[2]"}, "%y = maximum(%a, %b)", {"y = MAXIMUM a b -> INT32[2]"}},
      {{"f32[2]", "f32[2]"}, "%y = less(%a, %b)", {"y = GREATER b a -> BOOL[2]"}},
      {{"f32[2]", "f32[2]"}, "%y = less_equal(%a, %b)", {"y = GREATER_EQUAL b a -> BOOL[2]"}},
      {{"f32[2]", "f32[2]"}, "%y = greater(%a, %b)", {"y = GREATER a b -> BOOL[2]"}},
      {{"f32[2]", "f32[2]"}, "%y = greater_equal(%a, %b)", {"y = GREATER_EQUAL a b -> BOOL[2]"}},
      {{"f32[2]", "f32[2]"},
       "%y = not_equal(%a, %b)",
       {"%0 = EQUAL a b -> BOOL[2]", "y = LOGICAL_NOT %0 -> BOOL[2]"}},
      {{"bool[2]", "bool[2]"}, "%y = logical_or(%a, %b)", {"y = LOGICAL_OR a b -> BOOL[2]"}},
      {{"bool[2]", "bool[2]"}, "%y = logical_and(%a, %b)", {"y = LOGICAL_AND a b -> BOOL[2]"}},
      {{"bool[2]", "bool[2]"}, "%y = logical_xor(%a, %b)", {"y = LOGICAL_XOR a b -> BOOL[2]"}},
      {{"i8[2]", "i8[2]"}, "%y = bitwise_or(%a, %b)", {"y = BITWISE_OR a b -> INT8[2]"}},
      {{"i32[2]", "i32[2]"}, "%y = bitwise_and(%a, %b)", {"y = BITWISE_AND a b -> INT32[2]"}},
      {{"i64[2]", "i64[2]"}, "%y = bitwise_xor(%a, %b)", {"y = BITWISE_XOR a b -> INT32[2]"}},
      {{"i64[2]"}, "%y = neg(%a)", {"y = NEGATE a i32{0} i32{0} -> INT32[2]"}},
      {{"f32[2]"}, "%y = clamp(%a) { bounds = [-0.5,6] }", {"y = CLAMP(-0.5,6) a -> FP32[2]"}},
      {{"i8[2]"}, "%y = clamp(%a) { bounds = [-3,6] }", {"y = CLAMP(-3,6) a -> INT8[2]"}},
      {{"bool[2]", "f32[2]", "f32[2]"}, "%y = where(%a, %b, %c)", {"y = SELECT a b c -> FP32[2]"}},
      {{"f32[2,3]"},
       "%y = argmax(%a) { axis = 0 }",
       {"%0 = ARGMAX(0) a -> INT32[3]", "y = RESHAPE %0 <1,3> -> INT32[1,3]"}},
  });
}

TEST(TosaFloatPrograms, Casts) {
  expect_programs({
      // CAST rounds, where torch drops the fraction: up below 0, and down above.
      {{"f32[2,3]"},
       "%y = convert(%a) { to = i32 }",
       {"%0 = CEIL a -> FP32[2,3]", "%1 = FLOOR a -> FP32[2,3]",
        "%2 = GREATER f32[1,1]{0} a -> BOOL[2,3]", "%3 = SELECT %2 %0 %1 -> FP32[2,3]",
        "y = CAST %3 -> INT32[2,3]"}},
      {{"i32[2]"}, "%y = convert(%a) { to = f32 }", {"y = CAST a -> FP32[2]"}},
      {{"f32[2]"}, "%y = convert(%a) { to = f16 }", {"y = CAST a -> FP16[2]"}},
      {{"i32[2]"}, "%y = convert(%a) { to = bool }", {"y = CAST a -> BOOL[2]"}},
      {{"i32[2]"}, "%y = convert(%a) { to = i8 }", {"y = CAST a -> INT8[2]"}},
      {{"bool[2]"}, "%y = convert(%a) { to = i32 }", {"y = CAST a -> INT32[2]"}},
      // Both are of 32 bits in TOSA.
      {{"i64[2]"}, "%y = convert(%a) { to = i32 }", {"y = IDENTITY a -> INT32[2]"}},
  });
}

TEST(TosaFloatPrograms, IntegersAreDividedDown) {
  expect_programs(
      {{{"i32[2,3]", "i32[1,3]"},
        "%y = floor_div(%a, %b)",
        {"%0 = INTDIV a b -> INT32[2,3]", "%1 = MUL %0 b i8{0} -> INT32[2,3]",
         "%2 = SUB a %1 -> INT32[2,3]", "%3 = GREATER i32[1,1]{0} %2 -> BOOL[2,3]",
         "%4 = GREATER i32[1,1]{0} b -> BOOL[1,3]", "%5 = LOGICAL_XOR %3 %4 -> BOOL[2,3]",
         "%6 = EQUAL %2 i32[1,1]{0} -> BOOL[2,3]", "%7 = LOGICAL_NOT %6 -> BOOL[2,3]",
         "%8 = LOGICAL_AND %5 %7 -> BOOL[2,3]", "%9 = CAST %8 -> INT32[2,3]",
         "y = SUB %0 %9 -> INT32[2,3]"}}});
}

TEST(TosaFloatPrograms, Reductions) {
  expect_programs({
      {{"f32[2,3,4]"},
       "%y = reduce_sum(%a) { axes = [1] }",
       {"y = REDUCE_SUM(1) a -> FP32[2,1,4]"}},
      {{"f32[2,3,4]"},
       "%y = reduce_max(%a) { axes = [0,2] }",
       {"%0 = REDUCE_MAX(0) a -> FP32[1,3,4]", "y = REDUCE_MAX(2) %0 -> FP32[1,3,1]"}},
      {{"i8[2,3,4]"},
       "%y = reduce_min(%a) { axes = [0,1,2] }",
       {"%0 = REDUCE_MIN(0) a -> INT8[1,3,4]", "%1 = REDUCE_MIN(1) %0 -> INT8[1,1,4]",
        "y = REDUCE_MIN(2) %1 -> INT8[1,1,1]"}},
      {{"f32[2,3]"},
       "%y = reduce_prod(%a) { axes = [1] }",
       {"y = REDUCE_PRODUCT(1) a -> FP32[2,1]"}},
      {{"bool[2,3]"}, "%y = reduce_any(%a) { axes = [0] }", {"y = REDUCE_ANY(0) a -> BOOL[1,3]"}},
      {{"bool[2,3]"}, "%y = reduce_all(%a) { axes = [0] }", {"y = REDUCE_ALL(0) a -> BOOL[1,3]"}},
      {{"f32[2,3]"}, "%y = reduce_sum(%a) { axes = [] }", {"y = IDENTITY a -> FP32[2,3]"}},
  });
}

TEST(TosaFloatPrograms, Movement) {
  expect_programs({
      {{"f32[2,3,4]"},
       "%y = slice(%a) { start = [0,1,2], size = [2,2,1], step = [1,1,1] }",
       {"y = SLICE a <0,1,2> <2,2,1> -> FP32[2,2,1]"}},
      {{"f32[2,3]", "f32[2,1]"},
       "%y = concat(%a, %b) { axis = 1 }",
       {"y = CONCAT(1) a b -> FP32[2,4]"}},
      {{"f32[2,3]"},
       "%y = pad(%a) { low = [1,0], high = [0,2], value = -1.5 }",
       {"y = PAD a <1,0,0,2> f32{-1.5} -> FP32[3,5]"}},
      {{"f32[2,3]"},
       "%y = flip(%a) { axes = [0,1] }",
       {"%0 = REVERSE(0) a -> FP32[2,3]", "y = REVERSE(1) %0 -> FP32[2,3]"}},
      {{"f32[2,3]"}, "%y = flip(%a) { axes = [] }", {"y = IDENTITY a -> FP32[2,3]"}},
      // An axis that is there already stays; one of 1 and a new one are repeated.
      {{"f32[3,1]"},
       "%y = expand(%a) { shape = [2,3,4] }",
       {"%0 = RESHAPE a <1,3,1> -> FP32[1,3,1]", "y = TILE %0 <2,1,4> -> FP32[2,3,4]"}},
      {{"f32[2,3,4]"},
       "%y = relayout(%a) { relayout = [2,3,4] (2,3,4)->(2,0,1) [4,2,3] }",
       {"y = TRANSPOSE(2,0,1) a -> FP32[4,2,3]"}},
      // Of two axes that stay together, as many as the operand has them, or fewer between views.
      {{"f32[2,3,4]"},
       "%y = relayout(%a) { relayout = [2,3,4] (6,4)->(1,0) [8,3] }",
       {"%0 = RESHAPE a <6,4> -> FP32[6,4]", "%1 = TRANSPOSE(1,0) %0 -> FP32[4,6]",
        "y = RESHAPE %1 <8,3> -> FP32[8,3]"}},
  });
}

TEST(TosaFloatPrograms, Gathers) {
  expect_programs({
      {{"f32[2,3,4]", "i32[5]"},
       "%y = gather(%a, %b) { axis = 1 }",
       {"%0 = RESHAPE b <1,5> -> INT32[1,5]", "%1 = TILE %0 <2,1> -> INT32[2,5]",
        "y = GATHER a %1 -> FP32[2,5,4]"}},
      {{"f32[3,4]", "i64[5]"},
       "%y = gather(%a, %b) { axis = 0 }",
       {"%0 = RESHAPE b <1,5> -> INT32[1,5]", "%1 = RESHAPE a <1,3,4> -> FP32[1,3,4]",
        "%2 = GATHER %1 %0 -> FP32[1,5,4]", "y = RESHAPE %2 <5,4> -> FP32[5,4]"}},
      // At [o, k, i] the index j names the element (o * 3 + j) * 2 + i.
      {{"f32[2,3,2]", "i32[2,1,2]"},
       "%y = gather_elements(%a, %b) { axis = 1 }",
       {"%0 = MUL b i32[1,1,1]{2} i8{0} -> INT32[2,1,2]",
        "%1 = ADD %0 i32[2,1,2]{0,1,6,7} -> INT32[2,1,2]", "%2 = RESHAPE %1 <1,4> -> INT32[1,4]",
        "%3 = RESHAPE a <1,12,1> -> FP32[1,12,1]", "%4 = GATHER %3 %2 -> FP32[1,4,1]",
        "y = RESHAPE %4 <2,1,2> -> FP32[2,1,2]"}},
      // Along the last axis an index is a place already.
      {{"f32[2,3]", "i32[2,2]", "f32[2,2]"},
       "%y = scatter_elements(%a, %b, %c) { axis = 1 }",
       {"%0 = ADD b i32[2,2]{0,0,3,3} -> INT32[2,2]", "%1 = RESHAPE %0 <1,4> -> INT32[1,4]",
        "%2 = RESHAPE a <1,6,1> -> FP32[1,6,1]", "%3 = RESHAPE c <1,4,1> -> FP32[1,4,1]",
        "%4 = SCATTER %2 %1 %3 -> FP32[1,6,1]", "y = RESHAPE %4 <2,3> -> FP32[2,3]"}},
      {{"f32[3,2]", "i32[1,2]", "f32[1,2]"},
       "%y = scatter_elements(%a, %b, %c) { axis = 0 }",
       {"%0 = MUL b i32[1,1]{2} i8{0} -> INT32[1,2]", "%1 = ADD %0 i32[1,2]{0,1} -> INT32[1,2]",
        "%2 = RESHAPE %1 <1,2> -> INT32[1,2]", "%3 = RESHAPE a <1,6,1> -> FP32[1,6,1]",
        "%4 = RESHAPE c <1,2,1> -> FP32[1,2,1]", "%5 = SCATTER %3 %2 %4 -> FP32[1,6,1]",
        "y = RESHAPE %5 <3,2> -> FP32[3,2]"}},
  });
}

/// An NPU has forms of its own.
TEST(TosaFloatPrograms, ATransposeForAnNpuIsOfTheFormThatItLikes) {
  const std::string text = on_tensors(
      {"i8[1,3,4,5]"}, "%y = relayout(%a) { relayout = [1,3,4,5] (3,20)->(1,0) [1,4,5,3] }");
  EXPECT_EQ(listing(text), Lines{"y = TRANSPOSE(0,2,3,1) a -> INT8[1,4,5,3]"});
  EXPECT_EQ(listing(text, &find_accelerator("ethos-u55-128")),
            (Lines{"%0 = RESHAPE a <3,20> -> INT8[3,20]", "%1 = TRANSPOSE(1,0) %0 -> INT8[20,3]",
                   "y = RESHAPE %1 <1,4,5,3> -> INT8[1,4,5,3]"}));
}

/// Seven axes that a permutation moves are fewer where neighbours stay together.
TEST(TosaFloatPrograms, ATransposeHasTheAxesOfTheOperandUnlessTheyAreOverSix) {
  const std::string_view seven =
      "%y = relayout(%a) { relayout = [2,1,1,1,1,2,3] (4,3)->(1,0) [3,2,1,1,1,1,2] }";
  const std::string text =
      "graph \"g\" { input \"a\" %f : f32[12] %a = relayout(%f) { relayout = "
      "[12] -> [2,1,1,1,1,2,3] } " +
      std::string(seven) +
      " %v = relayout(%y) { relayout = [3,2,1,1,1,1,2] -> [12] } output \"y\" "
      "%v }";
  EXPECT_EQ(listing(text),
            (Lines{"%0 = RESHAPE a <4,3> -> FP32[4,3]", "%1 = TRANSPOSE(1,0) %0 -> FP32[3,4]",
                   "y = RESHAPE %1 <12> -> FP32[12]"}));
  expect_programs({{{"f32[2,1,1,1,2,3]"},
                    "%y = relayout(%a) { relayout = [2,1,1,1,2,3] (4,3)->(1,0) [3,2,1,1,1,2] }",
                    {"y = TRANSPOSE(5,0,1,2,3,4) a -> FP32[3,2,1,1,1,2]"}}});
}

/// Names are those of the module, and unique: where a name is given a second time it is numbered.
TEST(TosaFloatPrograms, TensorsAreNamedByModuleAndOperator) {
  const Lowered lowered = lowered_with_report(R"(graph "g" {
    input "x" %x : f32[2]
    input "none" fixed none
    %n = neg(%x) @1
    %m = neg(%n) @1
    %o = abs(%m) @2
    %p = abs(%o)
    output "y" %p
    origin @1 "node" "" "module"
    origin @2 "other" "" ""
  })");
  std::vector<std::string> made;
  for (const Operator& op : lowered.program.operators) made.push_back(op.outputs[0]);
  EXPECT_EQ(made, (std::vector<std::string>{"const", "module/negate", "module/negate_1",
                                            "other/abs", "y"}));
  EXPECT_EQ(lowered.program.inputs, std::vector<std::string>{"x"});
}

TEST(TosaFloatPrograms, AConstantIsWrittenOnceForEachShapeItIsReadIn) {
  const Lowered lowered = lowered_with_report(R"(graph "g" {
    input "x" %x : f32[2,2]
    %c = constant() { data = f32[2,2] (1, 2, 3, 4) }
    %a = add(%x, %c)
    %b = sub(%a, %c)
    %y = linear(%b, %c)
    output "y" %y
  })");
  int64_t shapes_of_c = 0, bytes = 0;
  for (const NamedTensor& tensor : lowered.program.tensors) {
    if (!tensor.data) continue;
    bytes += static_cast<int64_t>(tensor.data->byte_count());
    shapes_of_c += tensor.data->byte_count() == 16;
  }
  EXPECT_EQ(shapes_of_c, 2);  // [2,2] and [2,1,1,2]
  EXPECT_EQ(lowered.report.constant_bytes, bytes);
  EXPECT_EQ(bytes, 2 * 16 + 4);  // and the zero of the bias and of the zero points
  EXPECT_EQ(lowered.report.ops, 3);
}

/// A view of a constant, and a shape that two operators read.
TEST(TosaFloatPrograms, ConstantsAndShapesAreReadWhereTheyAre) {
  expect_programs(
      {{{"f32[6]"},
        "%c = constant() { data = f32[2,3] (1, 2, 3, 4, 5, 6) } %v = relayout(%c) { "
        "relayout = [2,3] -> [6] } %y = add(%a, %v)",
        {"%0 = RESHAPE f32[2,3]{1,2,3,4,5,6} <6> -> FP32[6]", "y = ADD a %0 -> FP32[6]"}}});
  const Program program =
      lowered_with_report(
          on_tensors({"f32[4]"},
                     "%s = slice(%a) { start = [1], size = [2], step = [1] } "
                     "%t = neg(%a) %u = slice(%t) { start = [1], size = [2], step = "
                     "[1] } %y = add(%s, %u)"))
          .program;
  EXPECT_EQ(program.shapes.size(), 2u);
}

/// By the role that they have in the op.
TEST(TosaFloatPrograms, ConstantsAreNamedByTheirRole) {
  const Program program =
      lowered_with_report(on_tensors({"f32[2,2]"},
                                     "%w = constant() { data = f32[3,2] splat 1 } %b = constant() "
                                     "{ data = f32[3] splat 1 } "
                                     "%y = linear(%a, %w, %b)"))
          .program;
  std::vector<std::string> names;
  for (const NamedTensor& tensor : program.tensors)
    if (tensor.data) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"y/weight", "y/bias", "const"}));
}

TEST(TosaFloatPrograms, IntegersOf64BitsMustFitIn32) {
  const auto with = [](std::string_view number) {
    return listing(on_tensors(
        {"i64[1]"},
        fmt::format("%c = constant() {{ data = i64[1] ({}) }} %y = add(%a, %c)", number)));
  };
  EXPECT_EQ(with("2147483647"), Lines{"y = ADD a i32{2147483647} -> INT32[1]"});
  EXPECT_EQ(with("-2147483648"), Lines{"y = ADD a i32{-2147483648} -> INT32[1]"});
  for (const std::string_view number : {"2147483648", "-2147483649"}) {
    try {
      with(number);
      ADD_FAILURE() << number;
    } catch (const UserError& error) {
      EXPECT_NE(
          std::string(error.what())
              .find(fmt::format("y/b holds {}, and TOSA has integers of 32 bits only", number)),
          std::string::npos)
          << error.what();
    }
  }
}

TEST(TosaFloatPrograms, TheReportSaysWhatTensorsAreOutside) {
  const Lowered lowered = lowered_with_report(R"(graph "g" {
    input "x" %x : f32[2,3] order (1,0)
    input "n" %n : i64[2,3]
    %q = quantize(%x) { quantisation = i8 in [-128,127] scale f32[] (0.5) zero i32[] (3) }
    %d = dequantize(%q)
    %f = neg(%n)
    output "d" %d
    output "f" %f
  })");
  const auto& [inputs, outputs] = std::tie(lowered.report.inputs, lowered.report.outputs);
  ASSERT_EQ(inputs.size(), 2u);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(inputs[0].dtype, "i8");
  EXPECT_EQ(inputs[0].scale, 0.5);
  EXPECT_EQ(inputs[0].zero_point, 3);
  EXPECT_EQ(inputs[1].dtype, "i32");
  EXPECT_FALSE(inputs[1].scale);
  EXPECT_EQ(outputs[0].dtype, "i8");
  EXPECT_EQ(outputs[0].zero_point, 3);
  EXPECT_EQ(outputs[1].dtype, "i32");
}

struct Boundary {
  std::string_view why;
  std::string_view statements;  // of %x, which is an input of real numbers
  fb::DType input, output;
};

/// Only what quantises an input at once, and always alike, is left to the caller.
TEST(TosaFloatPrograms, NumbersCrossTheBoundaryAsIntegersWhereNothingReadsThemAsReals) {
  constexpr std::string_view kOwn = "i8 in [-128,127] scale f32[] (0.5) zero i32[] (3)";
  const auto text = [&](std::string_view statements) {
    std::string all = fmt::format("graph \"g\" {{ input \"x\" %x : f32[4]\n{}\n}}", statements);
    for (size_t at; (at = all.find("OWN")) != std::string::npos;) all.replace(at, 3, kOwn);
    return all;
  };
  const Boundary cases[] = {
      {"twice in one way",
       "%q = quantize(%x) { quantisation = OWN } %r = quantize(%x) { quantisation = OWN }"
       "%s = add(%q, %r) { quantisation = OWN } %y = dequantize(%s) output \"y\" %y",
       fb::DType::INT8, fb::DType::INT8},
      {"in two ways",
       "%q = quantize(%x) { quantisation = OWN } %r = quantize(%x) { quantisation = i8 in "
       "[-128,127] scale f32[] (0.25) } %s = add(%q, %r) { quantisation = OWN }"
       "%y = dequantize(%s) output \"y\" %y",
       fb::DType::FP32, fb::DType::INT8},
      {"an output that is an input",
       "%q = quantize(%x) { quantisation = OWN } %y = dequantize(%q) output \"y\" %y output \"x\" "
       "%x",
       fb::DType::FP32, fb::DType::INT8},
      {"read as reals, too",
       "%q = quantize(%x) { quantisation = OWN } %d = dequantize(%q) %n = neg(%x)"
       "%y = add(%d, %n) output \"y\" %y",
       fb::DType::FP32, fb::DType::FP32},
      {"read by nothing", "%y = constant() { data = f32[1] (1) } output \"y\" %y", fb::DType::FP32,
       fb::DType::FP32},
  };
  for (const Boundary& wanted : cases) {
    const Program program = lowered_with_report(text(wanted.statements)).program;
    const auto type = [&](const std::string& name) {
      return std::ranges::find(program.tensors, name, &NamedTensor::name)->type;
    };
    EXPECT_EQ(type(program.inputs[0]), wanted.input) << wanted.why;
    EXPECT_EQ(type(program.outputs[0]), wanted.output) << wanted.why;
  }
}

}  // namespace
}  // namespace layline::tosa

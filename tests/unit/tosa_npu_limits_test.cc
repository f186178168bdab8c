// What Ethos-U cannot run: every limit, with what is just within it.
#include "targets/tosa/npu_limits.h"

#include <gtest/gtest.h>

#include "tosa_testing.h"

namespace layline::tosa {
namespace {

const Accelerator& u55() { return find_accelerator("ethos-u55-128"); }
const Accelerator& u65() { return find_accelerator("ethos-u65-256"); }
const Accelerator& u85() { return find_accelerator("ethos-u85-256"); }

using Dims = std::vector<int32_t>;

struct Operand {
  Dims shape;
  fb::DType type = fb::DType::INT8;
  bool is_constant = false;
};

/// A program of one operator.
template <typename Attribute>
Program program_of(Attribute attribute, const std::vector<Operand>& inputs, const Operand& output) {
  Program program;
  Operator op;
  op.attribute.Set(std::move(attribute));
  for (size_t i = 0; i <= inputs.size(); ++i) {
    const Operand& tensor = i < inputs.size() ? inputs[i] : output;
    const std::string name = i < inputs.size() ? fmt::format("x{}", i) : "y";
    program.tensors.push_back({name, tensor.type, tensor.shape, std::nullopt});
    if (tensor.is_constant) program.tensors.back().data = Constant::scalar(DType::i8, 0);
    (i < inputs.size() ? op.inputs : op.outputs).push_back(name);
  }
  program.operators.push_back(std::move(op));
  return program;
}

struct Limit {
  Program program;
  std::string_view why;  // on U55 and U65; empty: it runs
  bool on_u85 = false;   // there, too
};

void expect_limits(const std::vector<Limit>& limits) {
  const auto first = [](const Limit& limit, const Accelerator& accelerator) {
    const auto problems = npu_problems(limit.program, accelerator);
    return problems.empty() ? "" : problems[0].why;
  };
  for (const Limit& limit : limits) {
    const std::string name =
        fmt::format("{} of [{}]", fb::EnumNameOp(limit.program.operators[0].op()),
                    fmt::join(limit.program.tensors[0].shape, ","));
    EXPECT_EQ(first(limit, u55()), limit.why) << name;
    EXPECT_EQ(first(limit, u65()), limit.why) << name;
    EXPECT_EQ(first(limit, u85()), limit.on_u85 ? limit.why : "") << name;
  }
}

constexpr auto kI8 = fb::DType::INT8, kI16 = fb::DType::INT16, kI32 = fb::DType::INT32,
               kBool = fb::DType::BOOL, kF32 = fb::DType::FP32, kF16 = fb::DType::FP16;

template <typename Attribute>
Program unary(Operand x, fb::DType to, Attribute attribute = {}) {
  const Operand y{x.shape, to};
  return program_of(std::move(attribute), {std::move(x)}, y);
}

TEST(TosaNpuLimits, Types) {
  constexpr std::string_view kFloats = "floats, and it has integers only: quantise the model there",
                             kTruth = "it has no truth values";
  expect_limits({
      {unary<fb::AbsAttributeT>({{4}, kF32}, kF32), kFloats, true},
      {unary<fb::AbsAttributeT>({{4}, kF16}, kF16), kFloats, true},
      {unary<fb::CastAttributeT>({{4}, kI32}, kF32), kFloats, true},
      {unary<fb::CastAttributeT>({{4}, kF32}, kI32), kFloats, true},
      {unary<fb::CastAttributeT>({{4}, kBool}, kI32), kTruth},
      {unary<fb::CastAttributeT>({{4}, kI32}, kBool), kTruth},
      {unary<fb::CastAttributeT>({{4}, kI8}, kI32), ""},
      {unary<fb::CastAttributeT>({{4}, kI32}, kI32), ""},
      {unary<fb::CastAttributeT>({{4}, kI32}, kI8),
       "it does not cast 32-bit integers to fewer bits"},
      {unary<fb::CastAttributeT>({{4}, kI32}, kI16),
       "it does not cast 32-bit integers to fewer bits"},
      {unary<fb::CastAttributeT>({{4}, kI16}, kI8), ""},
      {unary<fb::AbsAttributeT>({{4}, kI32}, kI32), ""},
  });
}

/// Operators of integers that only U85 has.
TEST(TosaNpuLimits, OperatorsThatThereAreNot) {
  const Operand x{{4}, kI32};
  const auto binary = [&](auto attribute) { return program_of(std::move(attribute), {x, x}, x); };
  expect_limits({
      {binary(fb::IntDivAttributeT{}), "it has no INTDIV"},
      {binary(fb::BitwiseAndAttributeT{}), "it has no BITWISE_AND"},
      {binary(fb::BitwiseOrAttributeT{}), "it has no BITWISE_OR"},
      {binary(fb::BitwiseXorAttributeT{}), "it has no BITWISE_XOR"},
      {binary(fb::BitwiseNotAttributeT{}), "it has no BITWISE_NOT"},
      {binary(fb::LogicalRightShiftAttributeT{}), "it has no LOGICAL_RIGHT_SHIFT"},
      {binary(fb::LogicalAndAttributeT{}), "it has no LOGICAL_AND"},
      {binary(fb::LogicalOrAttributeT{}), "it has no LOGICAL_OR"},
      {binary(fb::LogicalXorAttributeT{}), "it has no LOGICAL_XOR"},
      {binary(fb::LogicalNotAttributeT{}), "it has no LOGICAL_NOT"},
      {binary(fb::SelectAttributeT{}), "it has no SELECT"},
      {binary(fb::EqualAttributeT{}), "it has no EQUAL"},
      {binary(fb::GreaterAttributeT{}), "it has no GREATER"},
      {binary(fb::GreaterEqualAttributeT{}), "it has no GREATER_EQUAL"},
      {binary(fb::ReduceAllAttributeT{}), "it has no REDUCE_ALL"},
      {binary(fb::ReduceAnyAttributeT{}), "it has no REDUCE_ANY"},
      {binary(fb::GatherAttributeT{}), "it has no GATHER"},
      {binary(fb::ScatterAttributeT{}), "it has no SCATTER"},
      {binary(fb::AddAttributeT{}), ""},
      {binary(fb::LogicalLeftShiftAttributeT{}), ""},
      {binary(fb::ArithmeticRightShiftAttributeT{}), ""},
  });
}

/// The weight and the bias are constants unless they are said not to be.
template <typename Attribute>
Program window(Attribute attribute, Dims image, Dims filter, std::vector<bool> constants = {}) {
  constants.resize(2, true);
  const Operand sums{image, kI32};
  return program_of(
      std::move(attribute),
      {{std::move(image)}, {std::move(filter), kI8, constants[0]}, {{1}, kI32, constants[1]}},
      sums);
}

template <typename Attribute>
Attribute strided(std::vector<int32_t> stride) {
  Attribute attribute;
  attribute.stride = std::move(stride);
  return attribute;
}

TEST(TosaNpuLimits, Convolutions) {
  using Conv2d = fb::Conv2dAttributeT;
  using Depthwise = fb::DepthwiseConv2dAttributeT;
  using Conv3d = fb::Conv3dAttributeT;
  constexpr std::string_view kComputed = "weights that are not constant";
  expect_limits({
      {window(Conv2d{}, {1, 2, 2, 65536}, {1, 1, 1, 65536}), ""},
      {window(Conv2d{}, {1, 2, 2, 65537}, {1, 1, 1, 65537}), "65537 channels, the most are 65536",
       true},
      {window(Conv2d{}, {1, 2, 65537, 2}, {1, 1, 1, 2}), ""},
      {window(strided<Depthwise>({3, 3}), {1, 8, 8, 2}, {1, 1, 2, 1}), ""},
      {window(strided<Depthwise>({4, 1}), {1, 8, 8, 2}, {1, 1, 2, 1}),
       "a depthwise stride of 4, the most is 3"},
      {window(strided<Depthwise>({2, 5}), {1, 8, 8, 2}, {1, 1, 2, 1}),
       "a depthwise stride of 5, the most is 3"},
      {window(Conv3d{}, {1, 4, 4, 4, 1}, {1, 1, 2, 2, 1}), ""},
      {window(Conv3d{}, {1, 4, 4, 4, 1}, {1, 2, 1, 1, 1}),
       "a kernel of depth 2, the only one is 1"},
      {window(Conv3d{}, {1, 4, 4, 4, 1}, {1, 1, 2, 2, 1}, {false, true}), kComputed, true},
      {window(Conv3d{}, {1, 4, 4, 4, 1}, {1, 1, 2, 2, 1}, {true, false}), kComputed, true},
      {window(Conv2d{}, {1, 4, 4, 1}, {1, 1, 1, 1}, {false, false}), ""},
  });
}

TEST(TosaNpuLimits, TransposedConvolutions) {
  using Attribute = fb::TransposeConv2dAttributeT;
  const auto why = [](std::string_view strides) {
    return fmt::format("transposed strides of {}, there are 1x1 and 2x2", strides);
  };
  const std::string one_two = why("1x2"), two_one = why("2x1"), three = why("3x3"),
                    one_three = why("1x3");
  const Dims image = {1, 4, 4, 2}, filter = {2, 3, 3, 2};
  expect_limits({
      {window(strided<Attribute>({1, 1}), image, filter), ""},
      {window(strided<Attribute>({2, 2}), image, filter), ""},
      {window(strided<Attribute>({3, 3}), image, filter), three},
      {window(strided<Attribute>({1, 2}), image, filter), one_two},
      {window(strided<Attribute>({1, 2}), {1, 1, 4, 2}, {2, 1, 3, 2}), ""},
      {window(strided<Attribute>({1, 2}), {1, 1, 4, 2}, {2, 2, 3, 2}), one_two},
      {window(strided<Attribute>({1, 2}), {1, 2, 4, 2}, {2, 1, 3, 2}), one_two},
      {window(strided<Attribute>({1, 3}), {1, 1, 4, 2}, {2, 1, 3, 2}), one_three},
      {window(strided<Attribute>({2, 1}), image, filter), two_one},
      {window(strided<Attribute>({2, 1}), {1, 4, 1, 2}, {2, 3, 1, 2}), ""},
      {window(strided<Attribute>({2, 1}), {1, 4, 1, 2}, {2, 3, 2, 2}), two_one},
      {window(strided<Attribute>({2, 1}), {1, 4, 2, 2}, {2, 3, 1, 2}), two_one},
      {window(strided<Attribute>({2, 1}), {1, 1, 4, 2}, {2, 1, 3, 2}), two_one},
      {window(strided<Attribute>({1, 2}), {1, 4, 1, 2}, {2, 3, 1, 2}), one_two},
      {window(strided<Attribute>({1, 1}), image, filter, {false, true}),
       "weights that are not constant", true},
  });
}

TEST(TosaNpuLimits, Averages) {
  const auto average = [](Dims kernel, Dims pad) {
    fb::AvgPool2dAttributeT attribute;
    attribute.kernel = std::move(kernel);
    attribute.pad = std::move(pad);
    return unary({{1, 20, 20, 2}}, kI8, std::move(attribute));
  };
  expect_limits({
      {average({8, 8}, {1, 0, 0, 0}), ""},
      {average({9, 9}, {0, 0, 0, 0}), ""},
      {average({9, 1}, {1, 0, 0, 0}), "a padded average over 9x1, the most is 8x8"},
      {average({1, 9}, {0, 0, 0, 1}), "a padded average over 1x9, the most is 8x8"},
  });
}

TEST(TosaNpuLimits, MatricesAndReductions) {
  const auto matmul = [](fb::DType type, int32_t columns, int32_t width) {
    return program_of(fb::MatMulAttributeT{},
                      {{{1, 2, columns}, type}, {{1, columns, width}, type}},
                      {{1, 2, width}, kI32});
  };
  const auto sum = [](Dims shape, int32_t axis) {
    fb::ReduceSumAttributeT attribute;
    attribute.axis = axis;
    return unary({std::move(shape), kI32}, kI32, std::move(attribute));
  };
  constexpr std::string_view kNarrow = "its extrema are of 8 or 16-bit integers";
  expect_limits({
      {matmul(kI8, 65536, 65536), ""},
      {matmul(kI8, 65537, 2), "rows over 65536"},
      {matmul(kI8, 2, 65537), "rows over 65536"},
      {matmul(kI16, 2, 2), "it multiplies matrices of 8-bit integers"},
      {unary<fb::ReduceMaxAttributeT>({{4}, kI32}, kI32), kNarrow},
      {unary<fb::ReduceMinAttributeT>({{4}, kI32}, kI32), kNarrow},
      {unary<fb::ReduceMaxAttributeT>({{4}, kI16}, kI16), ""},
      {unary<fb::ReduceMinAttributeT>({{4}, kI8}, kI8), ""},
      {sum({2, 65536}, 1), ""},
      {sum({2, 65537}, 1), "a sum of 65537, the most are 65536"},
      {sum({65537, 2}, 0), "a sum of 65537, the most are 65536"},
      // Along the last axis whatever is outside of it.
      {sum({65537, 2}, 1), ""},
      {sum({256, 256, 2, 256, 256}, 2), ""},
      {sum({256, 257, 2, 3}, 2),
       "a sum along one axis with 65792 elements outside and 3 inside, the most are 65536"},
      {sum({3, 2, 256, 257}, 1),
       "a sum along one axis with 3 elements outside and 65792 inside, the most are 65536"},
  });
}

TEST(TosaNpuLimits, OtherOperators) {
  const auto reverse = [](int32_t axis) {
    fb::ReverseAttributeT attribute;
    attribute.axis = axis;
    return unary({{2, 3, 4}}, kI8, std::move(attribute));
  };
  const auto argmax = [](Dims shape, int32_t axis) {
    fb::ArgMaxAttributeT attribute;
    attribute.axis = axis;
    return unary({std::move(shape)}, kI32, std::move(attribute));
  };
  constexpr std::string_view kClasses =
      "its argmax is along the last of at most 4 axes, of at most 127 elements";
  const auto resize = [](Dims from, Dims to, fb::ResizeMode mode = fb::ResizeMode::NEAREST) {
    fb::ResizeAttributeT attribute;
    attribute.mode = mode;
    return program_of(std::move(attribute), {{std::move(from)}}, {std::move(to)});
  };
  constexpr std::string_view kGrows = "it resizes both axes to 2, 4 or 8 times their size";
  const Dims image = {1, 3, 5, 2};
  expect_limits({
      {reverse(0), ""},
      {reverse(1), ""},
      {reverse(2), "it reverses no channels"},
      {argmax({2, 3, 4, 127}, 3), ""},
      {argmax({2, 3, 4, 128}, 3), kClasses},
      {argmax({2, 3, 4, 5}, 2), kClasses},
      {argmax({1, 2, 3, 4, 5}, 4), kClasses},
      {argmax({256, 256, 5}, 2), ""},
      {argmax({256, 257, 5}, 2), kClasses},
      {resize(image, {1, 6, 10, 2}), ""},
      {resize(image, {1, 12, 40, 2}), ""},
      {resize(image, {1, 24, 20, 2}), ""},
      {resize(image, {1, 6, 5, 2}), kGrows},
      {resize(image, {1, 3, 10, 2}), kGrows},
      {resize(image, {1, 9, 10, 2}), kGrows},
      {resize(image, {1, 6, 80, 2}), kGrows},
      {resize(image, {1, 6, 10, 2}, fb::ResizeMode::BILINEAR),
       "it does not interpolate when it resizes"},
  });
}

TEST(TosaNpuLimits, Transposes) {
  const auto transpose = [](Dims shape, fb::DType type) {
    return unary<fb::TransposeAttributeT>({std::move(shape), type}, type);
  };
  expect_limits({
      {transpose({3, 65536}, kI8), ""},
      {transpose({3, 65537}, kI8), "a transpose of [3,65537]"},
      {transpose({3, 65536}, kI16), ""},
      {transpose({3, 16384}, kI32), ""},
      {transpose({3, 16385}, kI32), "a transpose of [3,16385]"},
      {transpose({3, 16385}, kI16), ""},
      {transpose({1, 65537, 1}, kI8), ""},  // one axis that is not 1 does not move
      {transpose({2, 3, 256, 256}, kI8), ""},
      {transpose({2, 3, 256, 257}, kI8), "a transpose of [2,3,256,257]"},
      {transpose({256, 257, 256}, kI8), ""},
      {transpose({1, 256, 257, 256}, kI8), ""},
      {transpose({2, 3, 128, 128}, kI32), ""},
      {transpose({2, 3, 128, 129}, kI32), "a transpose of [2,3,128,129]"},
  });
}

/// Every operator of a program is looked at, but for what only holds data.
TEST(TosaNpuLimits, ProblemsAreNumberedAsTheOperatorsAre) {
  Program program = unary<fb::AbsAttributeT>({{4}, kI32}, kI32);
  Operator constant, select;
  constant.attribute.Set(fb::ConstAttributeT{});
  constant.outputs = {"f"};
  program.tensors.push_back({"f", kF32, {1}, std::nullopt});
  select.attribute.Set(fb::SelectAttributeT{});
  select.inputs = {"y", "a shape"};
  select.outputs = {"y"};
  program.operators.push_back(std::move(constant));
  program.operators.push_back(std::move(select));
  const auto problems = npu_problems(program, u55());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].op, 2u);
}

TEST(TosaNpuLimits, EachAcceleratorHasItsTraits) {
  struct Traits {
    std::string name;
    bool is_u85, merges_axes;
    int64_t rows;
  };
  for (const Traits& wanted :
       {Traits{"ethos-u55-32", false, true, 0}, Traits{"ethos-u55-64", false, true, 0},
        Traits{"ethos-u55-128", false, true, 0}, Traits{"ethos-u55-256", false, true, 0},
        Traits{"ethos-u65-256", false, false, 0}, Traits{"ethos-u65-512", false, false, 0},
        Traits{"ethos-u85-128", true, false, 32}, Traits{"ethos-u85-256", true, false, 64},
        Traits{"ethos-u85-512", true, false, 64}, Traits{"ethos-u85-1024", true, false, 64},
        Traits{"ethos-u85-2048", true, false, 64}}) {
    const Accelerator& found = find_accelerator(wanted.name);
    EXPECT_EQ(found.name, wanted.name);
    EXPECT_EQ(found.is_u85, wanted.is_u85) << wanted.name;
    EXPECT_EQ(found.merges_axes, wanted.merges_axes) << wanted.name;
    EXPECT_EQ(found.rows, wanted.rows) << wanted.name;
  }
}

}  // namespace
}  // namespace layline::tosa

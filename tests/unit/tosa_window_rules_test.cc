// Convolutions, pools, matrices and images as TOSA has them, and for Ethos-U as that has them: the
// same numbers, by the ops that are meant, and nothing where nothing is needed.
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "targets/rewrites/weights.h"
#include "tosa_rules_testing.h"

namespace layline::tosa {
namespace {

const Accelerator& u55() { return find_accelerator("ethos-u55-128"); }
const Accelerator& u85() { return find_accelerator("ethos-u85-128"); }

/// Small whole numbers, of which sums are exact, and of either sign.
layline::Tensor some(Shape shape) {
  layline::Tensor tensor({DType::f32, std::move(shape)});
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, static_cast<double>((i * 37 + 11) % 23 - 11));
  return tensor;
}

/// The same as the text of a constant.
std::string constant(std::string_view name, const Shape& shape) {
  const layline::Tensor tensor = some(shape);
  std::string numbers;
  for (const std::byte byte : tensor.bytes())
    numbers += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return fmt::format("%{} = constant() {{ data = {} 0x{} }}\n", name, to_string(tensor.type()),
                     numbers);
}

std::string window(std::string_view stride, std::string_view dilation, std::string_view low,
                   std::string_view high, std::string_view more = "") {
  return fmt::format("{{ stride = [{}], dilation = [{}], low = [{}], high = [{}]{} }}", stride,
                     dilation, low, high, more);
}

/// What no window reads is not there: padding goes first, and then the operand.
TEST(TosaWindowRules, WindowsEndWhereTheOperandDoes) {
  struct Trim {
    Shape x;
    std::string attributes;
    int slices;
    Ints low, high;  // what is left of the padding
  };
  const Trim trims[] = {
      // (8 + 1 - 3) % 2 is 0, but (8 + 2 - 3) % 2 is 1, of the padding.
      {{1, 8, 8, 2}, window("2,2", "1,1", "1,1", "1,0"), 0, {1, 1}, {0, 0}},
      // (7 - 3) % 3 is 1, of the operand.
      {{1, 7, 6, 2}, window("3,1", "1,1", "0,0", "0,0"), 1, {0, 0}, {0, 0}},
      // (8 + 1 - 3) % 4 is 2: one of the padding, and one of the operand.
      {{1, 3, 8, 2}, window("1,4", "1,1", "0,0", "0,1"), 1, {0, 0}, {0, 0}},
      // A dilated window reads 5: (8 - 5) % 2 is 1.
      {{1, 8, 8, 2}, window("2,1", "2,1", "0,0", "0,0"), 1, {0, 0}, {0, 0}},
      // (1 + 4 - 3) % 3 is 2: the operand, too, and all that is read are zeros.
      {{1, 1, 3, 2}, window("3,1", "1,1", "4,0", "0,0"), 1, {0, 0}, {0, 0}},
      {{1, 2, 3, 2}, window("3,1", "1,1", "3,0", "0,0"), 1, {0, 0}, {0, 0}},
      // (2 + 2 + 1 - 3) % 3 is 2: one of the padding, and the other one of two elements.
      {{1, 2, 3, 2}, window("3,1", "1,1", "2,0", "1,0"), 1, {2, 0}, {0, 0}},
      // (3 + 2 - 3) % 3 is 2: one element of the operand is left.
      {{1, 3, 3, 2}, window("3,1", "1,1", "2,0", "0,0"), 1, {2, 0}, {0, 0}},
  };
  for (const Trim& trim : trims) {
    const Both found = checked(
        {some(trim.x)}, constant("w", {2, 3, 3, 2}) + "%y = conv(%a, %w) " + trim.attributes);
    EXPECT_EQ(found.count(Op::slice), trim.slices) << trim.attributes;
    const auto& attrs = found.only(Op::conv)->attrs<ConvAttrs>();
    EXPECT_EQ(attrs.low, trim.low) << trim.attributes;
    EXPECT_EQ(attrs.high, trim.high) << trim.attributes;
  }
}

TEST(TosaWindowRules, Groups) {
  struct Grouped {
    Shape x, weight;
    std::string_view more;
    int convolutions;
  };
  for (const Grouped& one :
       {Grouped{{2, 4, 4, 4}, {6, 3, 3, 2}, ", groups = 2", 2},
        Grouped{{1, 4, 4, 6}, {3, 1, 2, 2}, ", groups = 3, bounds = [-20,20]", 3}}) {
    const std::string attributes = window("1,1", "1,1", "1,0", "0,1", one.more);
    const layline::Tensor bias = some({one.weight[0]});
    // Weights that are constant, and that are not.
    EXPECT_EQ(checked({some(one.x), bias},
                      constant("w", one.weight) + "%y = conv(%a, %w, %b) " + attributes)
                  .count(Op::conv),
              one.convolutions);
    checked({some(one.x), some(one.weight), bias}, "%y = conv(%a, %b, %c) " + attributes);
    checked({some(one.x), some(one.weight)}, "%y = conv(%a, %b) " + attributes);
  }
  // Volumes have no DEPTHWISE_CONV2D, and filters that are computed are not in its order.
  const std::string volume = window("1,1,1", "1,1,1", "0,0,0", "0,0,0", ", groups = 2");
  EXPECT_EQ(checked({some({1, 3, 3, 3, 2})},
                    constant("w", {4, 2, 2, 2, 1}) + "%y = conv(%a, %w) " + volume)
                .count(Op::conv),
            2);
  EXPECT_EQ(checked({some({1, 3, 3, 2}), some({2, 2, 2, 1})},
                    "%y = conv(%a, %b) " + window("1,1", "1,1", "0,0", "0,0", ", groups = 2"))
                .count(Op::conv),
            2);
  // Windows along one axis.
  checked({some({1, 5, 4})}, constant("w", {4, 3, 2}) + "%y = conv(%a, %w) " +
                                 window("2", "1", "1", "1", ", groups = 2"));
}

/// A quantised weight in groups: each has its own scales.
TEST(TosaWindowRules, QuantisedGroups) {
  const auto text = [](std::string_view table, std::string_view scales,
                       std::string_view more = "") {
    return on_integers(
        {{"1,3,3,4", i8(0.25, 3)}},
        fmt::format(
            "%w = constant() {{ data = i8[4,1,1,2] (1, -2, 3, 4, -5, 6, 7, 9), quantisation "
            "= i8 in [-127,127] scale f32[{}] ({}){} }}\n"
            "%b = constant() {{ data = f32[4] (1, 2, 3, -4) }}\n"
            "%y = conv(%a, %w, %b) {} ",
            table, scales, more,
            window("1,1", "1,1", "0,0", "0,0", ", groups = 2, quantisation = " + i8(1, 5))));
  };
  const std::vector<layline::Tensor> x = {some({1, 3, 3, 4})};
  const Both each = both(text("4,1,1,1", "0.5, 0.25, 1, 2"), x);
  expect_same(each, 0);
  EXPECT_EQ(each.count(Op::conv), 2);
  std::vector<std::vector<float>> scales;
  for (const Node* node : each.graph)
    if (node->is(Op::conv)) scales.push_back(node->operand(1)->type().quantisation->scales);
  EXPECT_EQ(scales, (std::vector<std::vector<float>>{{0.5f, 0.25f}, {1, 2}}));
  const Both all = both(text("", "0.5"), x);
  expect_same(all, 0);
  EXPECT_EQ(all.count(Op::conv), 2);
  // Scales along another axis, and zero points, are not taken apart: the op is on real numbers.
  for (const Both& reals :
       {both(text("1,1,1,2", "0.5, 1"), x), both(text("", "0.5", " zero i32[] (3)"), x)}) {
    expect_same(reals, 0);
    for (const Node* node : reals.graph)
      if (node->is(Op::conv)) {
        EXPECT_FALSE(node->result()->type().quantisation);
      }
  }
}

std::string cropped(std::string_view stride, std::string_view dilation, std::string_view low,
                    std::string_view high, std::string_view extra, std::string_view more = "") {
  return window(stride, dilation, low, high, fmt::format(", extra = [{}]{}", extra, more));
}

TEST(TosaWindowRules, TransposedConvolutions) {
  const auto transposed = [](Shape x, const Shape& weight, const std::string& attributes) {
    return checked({some(std::move(x))},
                   constant("w", weight) + "%y = conv_transpose(%a, %w) " + attributes);
  };
  // Cropped by as much as the kernel, or more: of the full result.
  for (const auto& [low, high, extra] :
       {std::tuple("2,0", "0,0", "0,0"), std::tuple("0,3", "0,0", "0,0"),
        std::tuple("0,0", "2,0", "0,0"), std::tuple("0,0", "0,4", "0,1"),
        std::tuple("3,1", "0,4", "1,0")}) {
    const Both found =
        transposed({1, 3, 4, 2}, {2, 2, 3, 2}, cropped("2,2", "1,1", low, high, extra));
    EXPECT_EQ(found.only(Op::conv_transpose)->attrs<ConvTransposeAttrs>().low, (Ints{0, 0}));
    EXPECT_EQ(found.only(Op::conv_transpose)->attrs<ConvTransposeAttrs>().high, (Ints{0, 0}));
  }
  // Dilated, for each channel, or of volumes: a convolution of what is spread out.
  for (const std::string& attributes :
       {cropped("1,1", "2,1", "0,0", "0,0", "0,0"), cropped("2,3", "1,2", "1,0", "0,2", "1,0"),
        cropped("2,1", "3,1", "4,0", "4,0", "1,0"), cropped("1,1", "2,1", "3,0", "0,0", "0,0"),
        cropped("1,1", "2,1", "0,0", "3,0", "0,0")}) {
    const Both found = transposed({2, 3, 4, 2}, {2, 2, 3, 2}, attributes);
    EXPECT_EQ(found.count(Op::conv), 1) << attributes;
    EXPECT_EQ(found.count(Op::conv_transpose), 0) << attributes;
  }
  EXPECT_EQ(transposed({1, 3, 4, 2}, {2, 2, 3, 1},
                       cropped("2,1", "1,1", "1,0", "0,0", "0,0", ", groups = 2, bounds = [-9,9]"))
                .count(Op::conv),
            1);
  EXPECT_EQ(transposed({1, 2, 3, 2, 2}, {2, 2, 1, 2, 2},
                       cropped("2,1,1", "1,1,1", "1,0,0", "0,0,1", "1,0,0"))
                .count(Op::conv),
            1);
  // Groups of several channels, each on its own.
  EXPECT_EQ(transposed({1, 3, 4, 4}, {4, 2, 3, 2},
                       cropped("2,1", "1,1", "1,0", "0,0", "0,0", ", groups = 2"))
                .count(Op::conv_transpose),
            2);
  // One channel is no filter for each.
  EXPECT_EQ(transposed({1, 3, 4, 1}, {2, 2, 3, 1}, cropped("2,2", "1,1", "2,0", "0,0", "0,0"))
                .count(Op::conv_transpose),
            1);
  // What is extra makes up for what is cropped: only the clamp is taken apart.
  EXPECT_EQ(transposed({1, 3, 4, 1}, {2, 2, 3, 1},
                       cropped("2,2", "1,1", "0,0", "1,0", "1,0", ", bounds = [-9,9]"))
                .only(Op::conv_transpose)
                ->attrs<ConvTransposeAttrs>()
                .high,
            (Ints{1, 0}));
  transposed({1, 3, 2}, {2, 2, 2}, cropped("2", "1", "1", "0", "0"));
  // A filter that is not constant is reversed when it runs.
  EXPECT_EQ(checked({some({1, 3, 4, 2}), some({2, 2, 3, 2})},
                    "%y = conv_transpose(%a, %b) " + cropped("1,1", "2,1", "0,0", "0,0", "0,0"))
                .count(Op::flip),
            1);
}

std::string pool(std::string_view op, std::string_view kernel, const std::string& rest) {
  std::string text = rest;
  return fmt::format("%y = {}(%a) {}", op, text.insert(1, fmt::format(" kernel = [{}],", kernel)));
}

TEST(TosaWindowRules, Pools) {
  layline::Tensor negative = some({1, 5, 6, 2});
  for (int64_t i = 0; i < negative.count(); ++i) negative.set(i, negative.get(i) - 100);
  // Outside of the operand there is nothing, and not 0; a maximum for each axis.
  const Both dilated =
      checked({negative}, pool("max_pool", "2,3", window("2,1", "2,1", "1,1", "1,0")));
  EXPECT_EQ(dilated.count(Op::maximum), 1 + 2);
  EXPECT_EQ(dilated.count(Op::clamp), 0);
  EXPECT_EQ(checked({negative}, pool("max_pool", "2,2",
                                     window("1,1", "1,3", "0,0", "0,0", ", bounds = [-105,-95]")))
                .count(Op::clamp),
            1);
  checked({negative}, pool("max_pool", "2,2", window("2,3", "1,1", "0,0", "0,0")));
  checked({negative}, pool("max_pool", "1,2", window("1,1", "1,3", "0,0", "0,0")));
  EXPECT_EQ(checked({negative}, pool("max_pool", "2,2",
                                     window("1,1", "1,1", "0,0", "0,0", ", bounds = [-105,-95]")))
                .count(Op::clamp),
            1);
  // Padding that counts is there.
  const layline::Tensor x = some({1, 5, 6, 2});
  const auto average = [&](const std::string& attributes) {
    return checked({x}, pool("avg_pool", "2,3", attributes), 1e-6);
  };
  const Both counted = average(window("1,1", "1,1", "1,0", "0,2", ", count_padding = true"));
  EXPECT_EQ(counted.only(Op::avg_pool)->attrs<PoolAttrs>().low, (Ints{0, 0}));
  EXPECT_EQ(counted.only(Op::avg_pool)->attrs<PoolAttrs>().high, (Ints{0, 0}));
  EXPECT_EQ(counted.count(Op::pad), 2);
  EXPECT_EQ(average(window("2,1", "1,1", "0,0", "0,1", ", count_padding = true")).count(Op::pad),
            1);
  average(window("2,2", "1,1", "0,0", "0,0"));
  average(window("2,2", "1,1", "1,0", "1,1"));
  checked({some({1, 5, 2})}, pool("avg_pool", "2", window("1", "1", "1", "0")), 1e-6);
}

/// Of quantised maxima the padding is the least integer.
TEST(TosaWindowRules, QuantisedDilatedMaxima) {
  const auto found = [](const std::string& quantisation, std::string_view bounds) {
    return both(
        on_integers({{"1,5,5,1", quantisation}},
                    pool("max_pool", "2,2",
                         window("1,1", "2,2", "1,1", "1,0",
                                fmt::format("{}, quantisation = {}", bounds, quantisation)))),
        {some({1, 5, 5, 1})});
  };
  for (const std::string& quantisation :
       {i8(0.25, 3), i8(0.25, 100), i8(0.25, 0, "-127,127"), i16(0.01)})
    for (const std::string_view bounds : {"", ", bounds = [-1,2]"}) {
      const Both one = found(quantisation, bounds);
      expect_same(one, 0);
      EXPECT_EQ(one.count(Op::reduce_max), 2);
      EXPECT_EQ(one.count(Op::clamp), bounds.empty() ? 0 : 1);
      for (const Node* node : one.graph)
        if (!node->is(Op::constant)) {
          EXPECT_EQ(refusal(*node), "") << print(one.graph);
        }
    }
}

/// Along an axis with a window of one nothing is compared.
TEST(TosaWindowRules, QuantisedMaximaOfOneAxis) {
  const Both found =
      both(on_integers({{"1,3,5,1", i8(0.25, 3)}},
                       pool("max_pool", "1,2",
                            window("1,1", "1,2", "0,0", "0,0", ", quantisation = " + i8(0.25, 3)))),
           {some({1, 3, 5, 1})});
  expect_same(found, 0);
}

/// What rounds more than once is left to arithmetic.
TEST(TosaWindowRules, QuantisedPoolsOfVolumesAndWindowsAreOnRealNumbersOrTrimmed) {
  const Both volume = both(
      on_integers({{"1,4,4,4,1", i8(0.25, 3)}}, pool("max_pool", "2,2,2",
                                                     window("2,2,2", "1,1,1", "0,0,0", "0,0,0",
                                                            ", quantisation = " + i8(0.25, 3)))),
      {some({1, 4, 4, 4, 1})});
  expect_same(volume, 0);
  const Both average = both(
      on_integers({{"1,4,4,4,1", i8(0.25, 3)}}, pool("avg_pool", "2,2,2",
                                                     window("2,2,2", "1,1,1", "0,0,0", "0,0,0",
                                                            ", quantisation = " + i8(0.4, 3)))),
      {some({1, 4, 4, 4, 1})});
  expect_same(average, 0);
  for (const Both* found : {&volume, &average})
    for (const Node* node : found->graph)
      if (node->is(Op::max_pool) || node->is(Op::avg_pool)) {
        EXPECT_FALSE(node->result()->type().quantisation);
      }
  const Both trimmed =
      both(on_integers({{"1,5,5,1", i8(0.25, 3)}},
                       pool("avg_pool", "2,2",
                            window("2,2", "1,1", "0,0", "0,0", ", quantisation = " + i8(0.5, 3)))),
           {some({1, 5, 5, 1})});
  expect_same(trimmed, 0);
  EXPECT_EQ(trimmed.count(Op::avg_pool), 1);
  EXPECT_EQ(trimmed.count(Op::slice), 2);
}

TEST(TosaWindowRules, VolumesOfRealNumbersArePooled) {
  const std::string attributes = window("2,2,2", "1,1,1", "0,0,0", "0,0,0");
  checked({some({1, 4, 4, 4, 1})}, pool("max_pool", "2,2,2", attributes));
  checked({some({1, 4, 4, 4, 1})}, pool("avg_pool", "2,2,2", attributes), 1e-6);
}

/// Quantised matrices, too, are seen in three axes.
TEST(TosaWindowRules, QuantisedMatrices) {
  const Both found = both(on_integers({{"2,4", i8(0.25, 3)}, {"4,3", i8(0.5, -1)}},
                                      "%y = matmul(%a, %b) { quantisation = " + i8(2, 7) + " }"),
                          {some({2, 4}), some({4, 3})});
  expect_same(found, 0);
  EXPECT_TRUE(found.only(Op::matmul)->result()->type().quantisation);
  EXPECT_EQ(found.only(Op::matmul)->result()->shape(), (Shape{1, 2, 3}));
}

TEST(TosaWindowRules, Matrices) {
  struct Product {
    Shape a, b;
    bool transpose_b;
    Shape first;  // the operand of the product that is left
  };
  for (const Product& one :
       {Product{{2, 3, 4}, {2, 5, 4}, true, {2, 3, 4}}, Product{{3, 4}, {4, 5}, false, {1, 3, 4}},
        Product{{2, 3, 4}, {4, 5}, false, {1, 6, 4}},
        Product{{2, 3, 4}, {1, 4, 5}, false, {1, 6, 4}},
        Product{{1, 3, 4}, {2, 4, 5}, false, {2, 3, 4}},
        Product{{3, 4}, {2, 4, 5}, false, {2, 3, 4}},
        Product{{2, 2, 3, 4}, {2, 4, 5}, false, {4, 3, 4}},
        Product{{2, 1, 3, 4}, {3, 5, 4}, true, {6, 3, 4}},
        Product{{2, 3, 4}, {5, 4}, true, {1, 6, 4}}}) {
    const Both found =
        checked({some(one.a), some(one.b)},
                fmt::format("%y = matmul(%a, %b) {{ transpose_b = {} }}", one.transpose_b));
    EXPECT_EQ(found.only(Op::matmul)->operand(0)->shape(), one.first);
  }
}

/// Where RESIZE has no such scale, elements are gathered.
TEST(TosaWindowRules, ImagesOfOtherSizes) {
  for (const std::string_view attributes :
       {"size = [2,7], step = [20,0.3]", "size = [3,5], step = [17,1.7], align_corners = true",
        "size = [2,7], step = [20,0.57], mode = nearest", "size = [9,9], step = [4.123,0.4321]"}) {
    const Both found =
        checked({some({2, 40, 5, 2})}, fmt::format("%y = resize(%a) {{ {} }}", attributes), 1e-5);
    EXPECT_EQ(found.count(Op::gather), attributes.find("nearest") == attributes.npos ? 4 : 2);
  }
}

/// A convolution with ones that ends at each place.
TEST(TosaWindowRules, QuantisedSumsUpToEachPlace) {
  for (const int axis : {0, 1, 2}) {
    const Both found =
        both(on_integers({{"3,4,2", i8(0.25, 3)}},
                         fmt::format("%d = dequantize(%a)\n%c = cumsum(%d) {{ axis = {} }}\n"
                                     "%y = quantize(%c) {{ quantisation = {} }}",
                                     axis, i8(0.5, -7))),
             {some({3, 4, 2})});
    expect_same(found, 0);
    const auto& attrs = found.only(Op::conv)->attrs<ConvAttrs>();
    EXPECT_EQ(attrs.low, (Ints{std::array{2, 3, 1}[static_cast<size_t>(axis)], 0}));
    EXPECT_EQ(attrs.high, (Ints{0, 0}));
  }
}

/// A float op on an NPU's rules: the same numbers, and what is said about it.
struct Fitted {
  Shape x;
  std::string statements;
  std::string_view what;  // empty: nothing is rewritten for the NPU
};

void expect_fitted(const std::vector<Fitted>& cases, const Accelerator& accelerator) {
  for (const Fitted& one : cases) {
    SCOPED_TRACE(one.statements);
    const layline::Tensor x = some(one.x);
    const Both found = both(on_tensors({to_string(x.type())}, one.statements), {x}, &accelerator);
    expect_same(found, 0);
    if (one.what.empty()) {
      EXPECT_TRUE(found.explanations.empty()) << found.explanations[0].text;
    } else {
      EXPECT_TRUE(found.changed);
      ASSERT_FALSE(found.explanations.empty());
      EXPECT_EQ(found.explanations[0].text.find(one.what), 0u) << found.explanations[0].text;
    }
  }
}

constexpr std::string_view kBlocks = "convolves blocks at stride 1 instead of striding over them",
                           kShorter = "strides less far, and drops what is between",
                           kImages = "convolves images instead of volumes",
                           kGroups = "convolves all groups at once, with zeros between them",
                           kSpread = "convolves the operand with zeros between",
                           kRows = "reverses rows instead of channels",
                           kSlices = "takes slices instead of gathering";

std::string conv(const Shape& weight, const std::string& attributes) {
  return constant("w", weight) + "%y = conv(%a, %w) " + attributes;
}

TEST(TosaNpuRules, StridesThatAreTooLong) {
  const std::vector<Fitted> cases = {
      {{1, 8, 8, 2}, conv({3, 2, 2, 2}, window("3,3", "1,1", "0,0", "0,0")), ""},
      {{1, 10, 8, 2}, conv({3, 2, 2, 2}, window("4,3", "1,1", "0,0", "0,0")), kBlocks},
      {{1, 8, 10, 2}, conv({3, 2, 2, 2}, window("3,4", "1,1", "0,0", "0,0")), kBlocks},
      {{2, 13, 13, 1}, conv({3, 6, 5, 1}, window("4,4", "1,1", "1,2", "2,1")), kBlocks},
      {{1, 9, 9, 1}, conv({2, 1, 1, 1}, window("4,4", "1,1", "0,0", "0,0")), kBlocks},
      // One window has no stride.
      {{1, 3, 3, 2}, conv({3, 3, 3, 2}, window("4,4", "1,1", "0,0", "0,0")), ""},
      {{1, 3, 10, 2}, conv({3, 3, 2, 2}, window("4,3", "1,1", "0,0", "0,1")), ""},
      // A dilated window is no block; along the other axis it may be dilated.
      {{1, 11, 5, 1}, conv({1, 3, 2, 1}, window("4,1", "2,1", "0,0", "2,0")), ""},
      {{1, 5, 11, 1}, conv({1, 2, 3, 1}, window("1,4", "1,2", "0,0", "0,2")), ""},
      {{1, 10, 6, 1}, conv({1, 2, 3, 1}, window("4,1", "1,2", "0,0", "0,0")), kBlocks},
      {{1, 10, 9, 1}, conv({1, 2, 2, 1}, window("4,3", "1,2", "0,0", "0,0")), kBlocks},
  };
  expect_fitted(cases, u55());
  expect_fitted(cases, u85());
  // Only the axis that strides too far is of blocks.
  const auto stride = [](std::string_view given) {
    return both(on_tensors({"f32[1,10,10,1]"},
                           conv({1, 2, 2, 1}, window(given, "1,1", "0,0", "0,0"))),
                {some({1, 10, 10, 1})}, &u55())
        .only(Op::conv)
        ->attrs<ConvAttrs>()
        .stride;
  };
  EXPECT_EQ(stride("4,2"), (Ints{1, 2}));
  EXPECT_EQ(stride("3,4"), (Ints{3, 1}));
  EXPECT_EQ(stride("4,3"), (Ints{1, 3}));
  // Weights that are not known are not put together anew.
  const Both computed = both(on_tensors({"f32[1,9,9,1]", "f32[2,1,1,1]"},
                                        "%y = conv(%a, %b) " + window("4,4", "1,1", "0,0", "0,0")),
                             {some({1, 9, 9, 1}), some({2, 1, 1, 1})}, &u55());
  EXPECT_TRUE(computed.explanations.empty());
}

TEST(TosaNpuRules, DepthwiseStridesThatAreTooLong) {
  const auto depthwise = [](std::string_view stride) {
    return conv({2, 2, 2, 1}, window(stride, "1,1", "0,0", "0,0", ", groups = 2"));
  };
  expect_fitted({{{1, 14, 14, 2}, depthwise("4,3"), kShorter},
                 {{1, 14, 14, 2}, depthwise("3,6"), kShorter},
                 {{1, 12, 12, 2}, depthwise("5,5"), kShorter},
                 {{1, 14, 11, 2}, depthwise("3,3"), ""}},
                u55());
  expect_fitted({{{1, 14, 14, 2}, depthwise("4,3"), ""}}, u85());
  // 4 is twice 2, and 6 twice 3; of 5 there is only 1.
  const auto strides = [&](std::string_view given, Shape x) {
    const layline::Tensor image = some(std::move(x));
    const Both found =
        both(on_tensors({to_string(image.type())}, depthwise(given)), {image}, &u55());
    return found.only(Op::conv)->attrs<ConvAttrs>().stride;
  };
  EXPECT_EQ(strides("4,6", {1, 14, 14, 2}), (Ints{2, 3}));
  EXPECT_EQ(strides("5,3", {1, 12, 11, 2}), (Ints{1, 3}));
  EXPECT_EQ(strides("9,8", {1, 20, 18, 2}), (Ints{3, 2}));
}

TEST(TosaNpuRules, Volumes) {
  const auto volume = [](const Shape& weight, std::string_view stride, std::string_view dilation,
                         std::string_view low, std::string_view high, std::string_view more = "") {
    return conv(weight, window(stride, dilation, low, high, more));
  };
  expect_fitted(
      {{{1, 4, 3, 4, 2}, volume({2, 2, 2, 2, 2}, "1,1,1", "1,1,1", "0,0,0", "0,0,0"), kImages},
       {{2, 5, 3, 3, 1}, volume({2, 3, 1, 2, 1}, "2,1,1", "1,1,1", "1,0,0", "1,1,0"), kImages},
       {{1, 6, 3, 3, 1}, volume({2, 2, 1, 1, 1}, "1,1,1", "3,1,1", "0,0,0", "0,0,0"), kImages},
       {{1, 5, 3, 3, 1}, volume({2, 1, 2, 2, 1}, "2,1,1", "1,1,1", "0,0,0", "0,0,0"), kImages},
       {{1, 4, 3, 3, 1}, volume({2, 2, 2, 2, 1}, "1,1,1", "1,1,1", "1,0,0", "0,0,0"), kImages},
       {{1, 5, 3, 3, 1}, volume({2, 1, 2, 2, 1}, "1,1,1", "1,1,1", "0,0,0", "0,0,0"), ""}},
      u55());
  expect_fitted(
      {{{1, 9, 3, 3, 1}, volume({2, 1, 2, 2, 1}, "4,1,1", "1,1,1", "0,0,0", "0,0,0"), ""}}, u85());
  expect_fitted(
      {{{1, 4, 3, 3, 2}, volume({2, 2, 2, 2, 2}, "1,1,1", "1,1,1", "0,0,0", "0,0,0"), ""}}, u85());
}

/// Nothing is padded that the model does not pad.
TEST(TosaNpuRules, VolumesAreReadAsTheyAre) {
  const Both found =
      both(on_tensors({"f32[1,4,3,3,1]"},
                      conv({2, 2, 2, 2, 1}, window("1,1,1", "1,1,1", "0,0,0", "0,0,0"))),
           {some({1, 4, 3, 3, 1})}, &u55());
  EXPECT_EQ(found.count(Op::pad), 0);
  EXPECT_EQ(found.count(Op::slice), 2);
  const Both padded =
      both(on_tensors({"f32[1,4,3,3,1]"},
                      conv({2, 2, 2, 2, 1}, window("1,1,1", "1,1,1", "1,0,0", "0,0,0"))),
           {some({1, 4, 3, 3, 1})}, &u55());
  EXPECT_EQ(padded.only(Op::pad)->attrs<PadAttrs>().low, (Ints{0, 1, 0, 0, 0}));
  EXPECT_EQ(padded.only(Op::pad)->attrs<PadAttrs>().high, (Ints{0, 0, 0, 0, 0}));
}

/// Weights and places that are computed are not known: nothing can be put together from them.
TEST(TosaNpuRules, WhatIsNotConstantIsLeft) {
  const auto explained = [](std::vector<layline::Tensor> inputs, std::string_view statements) {
    std::vector<std::string> types;
    for (const layline::Tensor& input : inputs) types.push_back(to_string(input.type()));
    const Both found = both(on_tensors(types, statements), inputs, &u55());
    expect_same(found, 0);
    return found.explanations.size();
  };
  EXPECT_EQ(explained({some({1, 2, 2, 4}), some({4, 1, 1, 2})},
                      "%y = conv(%a, %b) " + window("1,1", "1,1", "0,0", "0,0", ", groups = 2")),
            0u);
  EXPECT_EQ(explained({some({1, 3, 3, 3, 1}), some({1, 2, 2, 2, 1})},
                      "%y = conv(%a, %b) " + window("1,1,1", "1,1,1", "0,0,0", "0,0,0")),
            0u);
  EXPECT_EQ(explained({some({1, 3, 3, 1}), some({1, 3, 3, 1})},
                      "%y = conv_transpose(%a, %b) " + cropped("3,3", "1,1", "0,0", "0,0", "0,0")),
            0u);
  EXPECT_EQ(explained({some({4, 2}), make_tensor(DType::i32, {2}, {1, 3})},
                      "%y = gather(%a, %b) { axis = 0 }"),
            0u);
}

/// Up to 16 channels are read and written at once.
TEST(TosaNpuRules, Groups) {
  const auto grouped = [](const Shape& weight, int groups) {
    return conv(weight, window("1,1", "1,1", "0,0", "0,0", fmt::format(", groups = {}", groups)));
  };
  const std::vector<Fitted> cases = {
      {{1, 2, 2, 16}, grouped({16, 1, 2, 4}, 4), kGroups},
      {{1, 2, 2, 18}, grouped({16, 1, 2, 9}, 2), ""},
      {{1, 2, 2, 16}, grouped({18, 1, 2, 8}, 2), ""},
      {{1, 2, 2, 4}, grouped({6, 2, 1, 2}, 2), kGroups},
      {{1, 2, 2, 4}, grouped({4, 2, 1, 1}, 4), ""},
      {{1, 2, 2, 4}, grouped({4, 2, 1, 4}, 1), ""},
  };
  expect_fitted(cases, u55());
  expect_fitted(cases, u85());
}

TEST(TosaNpuRules, TransposedConvolutions) {
  const auto transposed = [](const Shape& weight, std::string_view stride,
                             std::string_view more = "") {
    return constant("w", weight) + "%y = conv_transpose(%a, %w) " +
           cropped(stride, "1,1", "0,0", "0,0", "0,0", more);
  };
  const std::string sparse = transposed({2, 2, 3, 2}, "1,2");
  expect_fitted({{{1, 3, 4, 2}, transposed({2, 2, 3, 2}, "1,1"), ""},
                 {{1, 3, 4, 2}, transposed({2, 2, 3, 2}, "2,2"), ""},
                 {{1, 3, 4, 2}, sparse, kSpread},
                 {{1, 3, 4, 2}, transposed({2, 2, 3, 2}, "3,3"), kSpread},
                 {{1, 1, 4, 2}, transposed({2, 1, 3, 2}, "1,2"), ""},
                 {{1, 1, 4, 2}, transposed({2, 2, 3, 2}, "1,2"), kSpread},
                 {{1, 2, 4, 2}, transposed({2, 1, 3, 2}, "1,2"), kSpread},
                 {{1, 4, 1, 2}, transposed({2, 3, 1, 2}, "2,1"), ""},
                 {{1, 4, 1, 2}, transposed({2, 3, 2, 2}, "2,1"), kSpread},
                 {{1, 4, 1, 2}, transposed({2, 3, 1, 2}, "3,1"), kSpread},
                 {{1, 1, 4, 2}, transposed({2, 1, 3, 2}, "1,3"), kSpread},
                 {{1, 1, 4, 2}, transposed({2, 1, 3, 2}, "2,1"), kSpread}},
                u55());
  expect_fitted({{{1, 3, 4, 2}, sparse, ""}}, u85());
}

TEST(TosaNpuRules, ReversedChannelsAndKnownPlaces) {
  const auto gather = [](std::string_view indices, int axis = 1) {
    return fmt::format(
        "%i = constant() {{ data = i32[{}] ({}) }}\n%y = gather(%a, %i) {{ axis = "
        "{} }}",
        std::ranges::count(indices, ',') + 1, indices, axis);
  };
  expect_fitted({{{2, 3, 4}, "%y = flip(%a) { axes = [2] }", kRows},
                 {{2, 3, 4}, "%y = flip(%a) { axes = [0,2] }", kRows},
                 {{2, 3, 4}, "%y = flip(%a) { axes = [0,1] }", ""},
                 {{2, 3, 1}, "%y = flip(%a) { axes = [2] }", ""},
                 {{2, 5, 3}, gather("1, 2, 3, 0, 4"), kSlices},
                 {{2, 5, 3}, gather("3"), kSlices},
                 {{2, 5, 3}, gather("1, 1, 2, 4"), kSlices},
                 {{5, 3}, gather("4, 3, 2", 0), kSlices}},
                u55());
  expect_fitted(
      {{{2, 3, 4}, "%y = flip(%a) { axes = [2] }", ""}, {{2, 5, 3}, gather("1, 2, 3, 0, 4"), ""}},
      u85());
  // Neighbours are one slice: [1,2,3], [0], [4].
  const auto slices = [&](const std::string& text) {
    return both(on_tensors({"f32[2,5,3]"}, text), {some({2, 5, 3})}, &u55()).count(Op::slice);
  };
  EXPECT_EQ(slices(gather("1, 2, 3, 0, 4")), 3);
  EXPECT_EQ(slices(gather("1, 2, 3")), 1);
  EXPECT_EQ(slices(gather("1, 1, 2")), 2);
}

/// 1024 places are sliced, and more are not.
TEST(TosaNpuRules, ManyPlacesAreGathered) {
  const auto explained = [](int count) {
    return both(
               on_tensors({"f32[3,2]"}, fmt::format("%i = constant() {{ data = i32[{}] splat 1 }}\n"
                                                    "%y = gather(%a, %i) {{ axis = 0 }}",
                                                    count)),
               {some({3, 2})}, &u55())
        .explanations.size();
  };
  EXPECT_EQ(explained(1024), 1u);
  EXPECT_EQ(explained(1025), 0u);
}

/// Of what is too large to transpose, halves: of the outermost axis if it stays there, and of the
/// longest one otherwise.
TEST(TosaNpuRules, LargeTransposes) {
  const auto parts = [](const Shape& shape, std::string_view relayout) {
    const layline::Tensor x = some(shape);
    const Both found =
        both(on_tensors({to_string(x.type())},
                        fmt::format("%y = relayout(%a) {{ relayout = {} }}", relayout)),
             {x}, &u55());
    expect_same(found, 0);
    std::vector<Shape> sizes;
    for (const Node* node : found.graph)
      if (node->is(Op::slice)) sizes.push_back(node->result()->shape());
    return sizes;
  };
  EXPECT_EQ(parts({3, 16411}, "[3,16411] (3,16411)->(1,0) [16411,3]"),
            (std::vector<Shape>{{3, 8206}, {3, 8205}}));
  EXPECT_EQ(parts({3, 4}, "[3,4] (3,4)->(1,0) [4,3]"), std::vector<Shape>{});
  EXPECT_EQ(parts({2, 3, 16411}, "[2,3,16411] (2,3,16411)->(0,2,1) [2,16411,3]")[0],
            (Shape{1, 3, 16411}));
  // Of two that are as long, the first.
  Graph square = parse_graph(
      on_tensors(
          {"f32[16411,16411]"},
          "%y = relayout(%a) { relayout = [16411,16411] (16411,16411)->(1,0) [16411,16411] }"),
      "test");
  const TargetRules target = rules(&u55());
  PassContext context("legalise", target, nullptr);
  EXPECT_TRUE(target.legalise(square, context));
  EXPECT_EQ(square.first()->result()->shape(), (Shape{8206, 16411}));
}

TEST(TosaNpuRules, WhatIsRightIsNotChanged) {
  EXPECT_FALSE(both(on_tensors({"f32[4]"}, "%y = neg(%a)"), {some({4})}, &u55()).changed);
  EXPECT_FALSE(both(on_tensors({"f32[4]"}, "%y = neg(%a)"), {some({4})}).changed);
}

/// A weight that rules can put together anew: constant, and scaled by outputs if at all.
TEST(TosaNpuRules, PlainWeights) {
  const auto graph = [](std::string_view quantisation) {
    return parse_graph(
        on_tensors(
            {"f32[1,1,2]"},
            fmt::format("%w = constant() {{ data = i8[2,2,1] (1, 2, 3, 4), quantisation = i8 "
                        "in [-127,127] {} }} %y = dequantize(%w)",
                        quantisation)),
        "test");
  };
  const auto weight = [](const Graph& of) { return of.first()->result(); };
  struct Weight {
    std::string_view quantisation;
    bool is_plain;
  };
  for (const Weight& wanted :
       {Weight{"scale f32[] (0.5)", true}, Weight{"scale f32[2,1,1] (0.5, 1)", true},
        Weight{"scale f32[1,2,1] (0.5, 1)", false},
        Weight{"scale f32[2,2,1] (0.5, 1, 2, 3)", false},
        Weight{"scale f32[] (0.5) zero i32[] (1)", false},
        Weight{"scale f32[2,1,1] (0.5, 1) zero i32[2,1,1] (1, 0)", false}}) {
    Graph one = graph(wanted.quantisation);
    EXPECT_EQ(rewrites::is_plain_weight(weight(one)), wanted.is_plain) << wanted.quantisation;
    if (!wanted.is_plain) continue;
    const layline::Tensor numbers = rewrites::numbers_of(weight(one));
    EXPECT_EQ(numbers.get_int(3), 4);
    // In two axes, with the scales of the outputs.
    const layline::Tensor flat({DType::i8, {2, 2}},
                               {numbers.bytes().begin(), numbers.bytes().end()});
    const Value* other = rewrites::weight_of(Builder(one, nullptr), weight(one), flat);
    const Quantisation& own = *other->type().quantisation;
    EXPECT_EQ(own.scales, weight(one)->type().quantisation->scales);
    EXPECT_EQ(own.dims,
              own.scales.size() == 1 ? std::vector<int64_t>{} : (std::vector<int64_t>{2, 1}));
  }
  const Graph computed = parse_graph(on_tensors({"f32[2]"}, "%y = neg(%a)"), "test");
  EXPECT_FALSE(rewrites::is_plain_weight(computed.inputs()[0].value));
  EXPECT_FALSE(rewrites::is_plain_weight(weight(computed)));
}

}  // namespace
}  // namespace layline::tosa

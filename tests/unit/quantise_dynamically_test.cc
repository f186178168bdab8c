// What contractions become that quantise what they read (src/transforms/quantise_dynamically.cc):
// exactly, since numbers are rounded anew and cannot be compared.
#include <gtest/gtest.h>

#include "transforms_testing.h"

namespace layline {
namespace {

/// x is quantised with scales chosen along `axes`, dequantised as %d, and read by `reader`, %y.
Graph quantised(const std::string& shape, const std::string& axes, const std::string& reader) {
  const std::string choice = fmt::format("(%x) {{ axes = {}, eps = 1e-7 }}\n", axes);
  return parse_graph("graph \"g\" {\ninput \"x\" %x : f32" + shape + "\n%s = choose_scale" +
                         choice + "%z = choose_zero_point" + choice +
                         "%q = quantize_by(%x, %s, %z)\n%d = dequantize_by(%q, %s, %z)\n" + reader +
                         "\noutput \"y\" %y\n}",
                     "test");
}

struct Ran {
  Graph graph;
  bool changed;
  std::vector<Explanation> explanations = {};

  /// The op that computes the output, with its operands and attributes, as text.
  std::string result() const {
    const std::string text = print(graph);
    const size_t end = text.find("\n  output");
    const std::string line = text.substr(0, end).substr(text.rfind('\n', end - 1) + 1);
    return line.substr(line.find(" = ") + 3);
  }
};

Ran run(Graph graph, const TargetRules& rules = {}) {
  verify(graph);
  Ran ran{std::move(graph), false};
  PassContext context("quantise_dynamically", rules, &ran.explanations);
  const auto pass = std::ranges::find(all_passes(), "quantise_dynamically", &Pass::name);
  ran.changed = pass->run(ran.graph, context);
  verify(ran.graph);
  return ran;
}

std::string weight(const std::string& shape, const std::string& dims) {
  return fmt::format(
      "%w = constant() {{ data = i8{} splat 3, quantisation = i8 in [-128,127] scale f32{} splat "
      "0.5 }}\n",
      shape, dims);
}

const std::string kBias = "%b = constant() { data = f32[4] (1,2,3,4) }\n";

TEST(QuantiseDynamically, OneScaleForAWholeTensor) {
  EXPECT_FALSE(run(quantised("[3,6]", "[0,1]", "%y = tanh(%d)")).changed);
  const std::string reader = weight("[4,6]", "[4,1]") + kBias + "%y = linear(%d, %w, %b)";
  TargetRules without;
  without.quantises_dynamically = false;
  EXPECT_FALSE(run(quantised("[3,6]", "[0,1]", reader), without).changed);
  EXPECT_TRUE(run(quantised("[3,6]", "[0,1]", reader)).changed);
}

TEST(QuantiseDynamically, AWindowOfOnePixelIsALinearOp) {
  struct Case {
    const char* why;
    std::string window, stride, low, high;
    int groups;
    bool is_linear;
  };
  const Case cases[] = {
      {"one pixel", "[4,1,1,2]", "[1,1]", "[0,0]", "[0,0]", 1, true},
      {"two rows", "[4,2,1,2]", "[1,1]", "[0,0]", "[0,0]", 1, false},
      {"two columns", "[4,1,2,2]", "[1,1]", "[0,0]", "[0,0]", 1, false},
      {"a stride down", "[4,1,1,2]", "[2,1]", "[0,0]", "[0,0]", 1, false},
      {"a stride across", "[4,1,1,2]", "[1,2]", "[0,0]", "[0,0]", 1, false},
      {"padded above", "[4,1,1,2]", "[1,1]", "[1,0]", "[0,0]", 1, false},
      {"padded on the left", "[4,1,1,2]", "[1,1]", "[0,1]", "[0,0]", 1, false},
      {"padded below", "[4,1,1,2]", "[1,1]", "[0,0]", "[1,0]", 1, false},
      {"padded on the right", "[4,1,1,2]", "[1,1]", "[0,0]", "[0,1]", 1, false},
      {"two groups", "[4,1,1,2]", "[1,1]", "[0,0]", "[0,0]", 2, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.why);
    const std::string geometry = fmt::format("stride = {}, dilation = [1,1], low = {}, high = {}",
                                             one.stride, one.low, one.high) +
                                 (one.groups == 1 ? "" : fmt::format(", groups = {}", one.groups));
    const Ran ran = run(quantised(
        one.groups == 1 ? "[1,4,4,2]" : "[1,4,4,4]", "[0,1,2,3]",
        weight(one.window, "[4,1,1,1]") + kBias +
            fmt::format("%dw = dequantize(%w)\n%y = conv(%d, %dw, %b) {{ {}, bounds = [0,6] }}",
                        geometry)));
    EXPECT_TRUE(ran.changed);
    const std::string expected =
        one.is_linear
            ? "linear(%x, %constant, %b) { bounds = [0,6], dynamic = true }"
            : fmt::format("conv(%x, %w, %b) {{ {}, bounds = [0,6], dynamic = true }}", geometry);
    EXPECT_EQ(ran.result(), expected);
    // Nothing is left of choosing scales.
    for (const Node* node : ran.graph)
      EXPECT_TRUE(node->is(Op::constant) || node->is(Op::relayout) ||
                  node->result()->output_uses() > 0);
  }
}

TEST(QuantiseDynamically, ALineOfOnePixelIsALinearOpToo) {
  const Ran ran = run(
      quantised("[1,4,2]", "[0,1,2]",
                weight("[4,1,2]", "[4,1,1]") +
                    "%y = conv(%d, %w) { stride = [1], dilation = [1], low = [0], high = [0] }"));
  EXPECT_EQ(ran.result(), "linear(%x, %constant) { dynamic = true }");
}

TEST(QuantiseDynamically, ATransposedConvolutionKeepsItsForm) {
  const Ran ran = run(
      quantised("[1,4,4,2]", "[0,1,2,3]",
                weight("[4,1,1,2]", "[4,1,1,1]") +
                    "%y = conv_transpose(%d, %w) { stride = [2,2], dilation = [1,1], low = [0,0], "
                    "high = [0,0], extra = [1,0] }"));
  EXPECT_EQ(ran.result(),
            "conv_transpose(%x, %w) { stride = [2,2], dilation = [1,1], low = [0,0], high = [0,0], "
            "extra = [1,0], dynamic = true }");
}

TEST(QuantiseDynamically, MovesFollowInTheirOrder) {
  const Ran ran = run(quantised("[2,3,4]", "[0,1,2]",
                                weight("[4,3]", "[4,1]") +
                                    "%a = relayout(%d) { relayout = [2,3,4] (6,4)->(1,0) [4,6] }\n"
                                    "%c = relayout(%a) { relayout = [4,6] -> [8,3] }\n"
                                    "%y = linear(%c, %w)"));
  EXPECT_EQ(ran.result(), "linear(%relayout_1, %w) { dynamic = true }");
  const Node* linear = ran.graph.last();
  const Node* second = linear->operand(0)->def();
  EXPECT_EQ(second->attrs<RelayoutAttrs>().relayout, Relayout::view({4, 6}, {8, 3}));
  EXPECT_EQ(second->operand(0)->def()->attrs<RelayoutAttrs>().relayout.target(), (Shape{4, 6}));
  EXPECT_FALSE(second->operand(0)->def()->attrs<RelayoutAttrs>().relayout.is_view());
  EXPECT_EQ(second->operand(0)->def()->operand(0), ran.graph.inputs()[0].value);
}

TEST(QuantiseDynamically, ScalesOfGroupsAreKeptInBfloat16) {
  const auto scales = [](const std::string& dims, const std::string& numbers) {
    const Ran ran =
        run(quantised("[3,6]", "[0,1]",
                      fmt::format("%w = constant() {{ data = i8[2,6] splat 3, quantisation = i8 in "
                                  "[-8,7] scale f32{} ({}) }}\n%y = linear(%d, %w)",
                                  dims, numbers)));
    const Value* kept = ran.graph.last()->operand(1);
    EXPECT_EQ(stored_constant(kept)->shape(), (Shape{2, 6}));
    EXPECT_EQ(kept->type().quantisation->min, -8);
    return kept->type().quantisation->scales;
  };
  // 0.1 is 1.6 / 16: of the 7 bits behind the 1, 0.6 * 128 = 76.8 are 77.
  const float kept = (1 + 77.0f / 128) / 16;
  EXPECT_EQ(scales("[2,2]", "0.1, 0.5, 1, 0.1"), (std::vector<float>{kept, 0.5f, 1, kept}));
  EXPECT_EQ(scales("[2,1]", "0.1, 0.5"), (std::vector<float>{0.1f, 0.5f}));
  EXPECT_EQ(scales("[]", "0.1"), (std::vector<float>{0.1f}));
}

TEST(QuantiseDynamically, SaysWhyNot) {
  const auto told = [](Graph graph) {
    const Ran ran = run(std::move(graph));
    EXPECT_FALSE(ran.changed);
    return ran.explanations.empty() ? "" : ran.explanations[0].text;
  };
  EXPECT_EQ(told(quantised("[1,4,4,4]", "[0,1,2,3]",
                           weight("[4,3,3,1]", "[4,1,1,1]") +
                               "%y = conv(%d, %w) { stride = [1,1], dilation = [1,1], "
                               "low = [1,1], high = [1,1], groups = 4 }")),
            "does not quantise x itself: depthwise kernels take no dynamic scales");
  EXPECT_EQ(told(quantised("[1,4,4,4,2]", "[0,1,2,3,4]",
                           weight("[4,1,1,1,2]", "[4,1,1,1,1]") +
                               "%y = conv(%d, %w) { stride = [1,1,1], dilation = [1,1,1], "
                               "low = [0,0,0], high = [0,0,0] }")),
            "does not quantise x itself: no kernel convolves volumes with dynamic scales");
  EXPECT_EQ(told(quantised("[3,6]", "[0]", weight("[4,6]", "[4,1]") + "%y = linear(%d, %w)")),
            "does not quantise x itself: its scales are for less than a row");
  // A scale for each pixel, or row of pixels, is one for each row of a linear op, and for less than
  // an image.
  for (const char* axes : {"[3]", "[2,3]"})
    EXPECT_EQ(told(quantised("[1,4,4,2]", axes,
                             weight("[4,1,1,2]", "[4,1,1,1]") +
                                 "%y = conv(%d, %w) { stride = [1,1], dilation = [1,1], "
                                 "low = [0,0], high = [0,0] }")),
              "does not quantise x itself: its scales are for less than a row");
}

TEST(QuantiseDynamically, ALinearOpOfManyAxesDoes) {
  EXPECT_TRUE(
      run(quantised("[1,2,2,3,6]", "[0,1,2,3,4]", weight("[4,6]", "[4,1]") + "%y = linear(%d, %w)"))
          .changed);
}

}  // namespace
}  // namespace layline

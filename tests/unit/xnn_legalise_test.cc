// What is written in place of an op that XNNPACK has not, or not like that. That it means the same
// is checked by tests/near_misses/legalise.near; here is which ops it takes.
#include "targets/xnnpack/xnnpack_rewrites.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/tensor.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace layline::xnnpack {
namespace {

/// The ops that compute the graph's outputs once it is legalised, constants left out, each as
/// `op[shape of its result]`.
std::vector<std::string> ops(Graph graph) {
  legalise(graph);
  verify(graph);
  std::vector<std::string> result;
  for (const Node* node : graph) {
    if (node->is(Op::constant)) continue;
    if (node->result()->uses().empty() && node->result()->output_uses() == 0) continue;
    result.push_back(fmt::format("{}{}", name(node->op()), to_string(node->result()->shape())));
  }
  return result;
}

std::vector<std::string> ops(std::string_view body) {
  return ops(parse_graph(fmt::format("graph \"test\" {{\n{}\noutput \"y\" %y\n}}", body), "test"));
}

using Ops = std::vector<std::string>;

TEST(XnnLegalise, AChoiceOfInfinityIsOneOp) {
  const auto chosen = [](std::string_view yes, std::string_view no) {
    return ops(
        fmt::format("input \"c\" %c : bool[1] input \"x\" %x : f32[4] input \"z\" %z : f32[4] "
                    "%low = constant() {{ data = f32[1] (-inf) }} %high = constant() {{ data "
                    "= f32[] (inf) }} %two = constant() {{ data = f32[4] (-inf,-inf,0,-inf) }} "
                    "%y = where(%c, {}, {})",
                    yes, no));
  };
  EXPECT_EQ(chosen("%x", "%low"), (Ops{"where[1]", "minimum[4]"}));
  EXPECT_EQ(chosen("%x", "%high"), (Ops{"where[1]", "neg[1]", "maximum[4]"}));
  EXPECT_EQ(chosen("%low", "%x"), (Ops{"where[1]", "neg[1]", "minimum[4]"}));
  EXPECT_EQ(chosen("%high", "%x"), (Ops{"where[1]", "maximum[4]"}));
  const Ops both = {"where[1]", "neg[1]", "minimum[4]", "minimum[4]", "maximum[4]"};
  EXPECT_EQ(chosen("%x", "%z"), both);
  EXPECT_EQ(chosen("%x", "%two"), both);
}

/// The largest constant after an expansion of one element to so many; 0 if it is left alone.
int64_t ones_for(int64_t count) {
  Graph graph("wide");
  const Builder build(graph, nullptr);
  Value* x = graph.add_input("x", {DType::f32, {1}});
  graph.add_output("y", build.expand(x, {count}));
  int64_t most = 0;
  if (!legalise(graph)) return most;
  for (const Node* node : graph)
    if (node->is(Op::constant))
      most = std::max(most, element_count(node->result()->shape()).value());
  return most;
}

TEST(XnnLegalise, OnesTake64MegabytesAtMost) {
  constexpr int64_t kMost = int64_t{16} << 20;  // of four bytes
  EXPECT_EQ(ones_for(kMost), kMost);
  EXPECT_EQ(ones_for(kMost + 1), 0);
}

TEST(XnnLegalise, ABroadcastMergesAxesOfOneKind) {
  EXPECT_EQ(ops("input \"x\" %x : f32[2,1,1,3,1,4] %y = expand(%x) { shape = [2,5,6,3,1,4] }"),
            (Ops{"relayout[2,1,12]", "mul[2,30,12]", "relayout[2,5,6,3,1,4]"}));
  // Dynamic sizes keep their axes: no view is needed.
  EXPECT_EQ(ops("symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,1,3] "
                "%y = expand(%x) { shape = [s1,5,3] }"),
            Ops{"mul[s1,5,3]"});
  EXPECT_EQ(ops("symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,2,1,1,1,1] "
                "%y = expand(%x) { shape = [s1,2,5,1,1,1] }"),
            Ops{"mul[s1,2,5,1,1,1]"});
  // Seven axes are merged all the same.
  EXPECT_EQ(ops("symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,2,1,1,1,1,1] "
                "%y = expand(%x) { shape = [s1,2,5,1,1,1,1] }"),
            (Ops{"relayout[2*s1,1]", "mul[2*s1,5]", "relayout[s1,2,5,1,1,1,1]"}));
}

TEST(XnnLegalise, AMeanOverLongRowsIsAPoolFirst) {
  const auto mean = [](std::string_view op, int64_t length) {
    return ops(fmt::format("input \"x\" %x : f32[2,{}] %y = {}(%x) {{ axes = [1] }}", length, op));
  };
  EXPECT_EQ(mean("reduce_mean", 2048), Ops{"linear[2,1]"});
  // 2049 is 3 * 683: three rows of 683.
  EXPECT_EQ(mean("reduce_mean", 2049), (Ops{"relayout[2,3,1,683]", "reduce_mean[2,1,1,683]",
                                            "linear[2,1,1,1]", "relayout[2,1]"}));
  EXPECT_EQ(mean("reduce_mean", 4096), (Ops{"relayout[2,2,1,2048]", "reduce_mean[2,1,1,2048]",
                                            "linear[2,1,1,1]", "relayout[2,1]"}));
  EXPECT_EQ(mean("reduce_sum", 2048), Ops{"linear[2,1]"});
  const Ops scaled = mean("reduce_sum", 2049);
  EXPECT_EQ(scaled.size(), 5u);
  EXPECT_EQ(scaled[3], "mul[2,1,1,1]");
}

TEST(XnnLegalise, AMeanOverOtherAxesIsAPool) {
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4] %y = reduce_mean(%x) { axes = [1] }"),
            (Ops{"relayout[2,3,1,4]", "reduce_mean[2,1,1,4]", "relayout[2,1,4]"}));
  // Neighbours are one run; the last is a product with a row of weights.
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4,5] %y = reduce_mean(%x) { axes = [0,2,3] }"),
            (Ops{"relayout[1,2,1,60]", "reduce_mean[1,1,1,60]", "relayout[3,20]", "linear[3,1]",
                 "relayout[1,3,1,1]"}));
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4] %y = reduce_sum(%x) { axes = [1] }"),
            (Ops{"relayout[2,3,1,4]", "reduce_mean[2,1,1,4]", "mul[2,1,1,4]", "relayout[2,1,4]"}));
}

TEST(XnnLegalise, TheGreatestIsAPool) {
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4] %y = reduce_max(%x) { axes = [1] }"),
            (Ops{"relayout[2,3,1,4]", "max_pool[2,1,1,4]", "relayout[2,1,4]"}));
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4] %y = reduce_min(%x) { axes = [2] }"),
            (Ops{"neg[2,3,4]", "relayout[6,4,1,1]", "max_pool[6,1,1,1]", "neg[6,1,1,1]",
                 "relayout[2,3,1]"}));
  // Of one element it is that.
  EXPECT_EQ(ops("input \"x\" %x : f32[2,1,4] %y = reduce_max(%x) { axes = [1] }"), Ops{});
}

TEST(XnnLegalise, ASoftmaxIsPermutedThereAndBack) {
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4] %y = softmax(%x) { axis = 0 }"),
            (Ops{"relayout[4,3,2]", "softmax[4,3,2]", "relayout[2,3,4]"}));
}

TEST(XnnLegalise, ProductsHaveAsManyAxes) {
  const auto product = [](std::string_view a, std::string_view b) {
    return ops(
        fmt::format("input \"a\" %a : f32{} input \"b\" %b : f32{} %y = matmul(%a, %b)", a, b));
  };
  EXPECT_EQ(product("[2,3]", "[3,4]"), Ops{"matmul[2,4]"});
  EXPECT_EQ(product("[6,5,2,3]", "[3,4]"), Ops{"matmul[6,5,2,4]"});  // one matrix for all
  EXPECT_EQ(product("[2,3]", "[5,3,4]"), (Ops{"relayout[1,2,3]", "matmul[5,2,4]"}));
}

/// Two sizes of a product may be dynamic. A view of it is one of the rows before they are
/// multiplied, where one of them is left.
TEST(XnnLegalise, RowsAreRegroupedBeforeTheyAreMultiplied) {
  const auto viewed = [](std::string_view a, std::string_view b, std::string_view relayout,
                         std::string_view more = "") {
    return ops(fmt::format(
        "symbol s1 \"m\" in [1,9] symbol s2 \"n\" in [1,9] input \"a\" %a : f32{} input \"b\" %b : "
        "f32{} %p = matmul(%a, %b) %y = relayout(%p) {{ relayout = {} }}{}",
        a, b, relayout, more));
  };
  EXPECT_EQ(viewed("[1,s1,2,3]", "[3,s2]", "[1,s1,2,s2] -> [s1,2,s2]"),
            (Ops{"relayout[s1,2,3]", "matmul[s1,2,s2]"}));
  // One size is found by itself.
  EXPECT_EQ(viewed("[1,s1,2,3]", "[3,4]", "[1,s1,2,4] -> [s1,2,4]"),
            (Ops{"matmul[1,s1,2,4]", "relayout[s1,2,4]"}));
  // Columns are regrouped, too.
  EXPECT_EQ(viewed("[1,s1,2,3]", "[3,s2]", "[1,s1,2,s2] -> [s1,2*s2]"),
            (Ops{"matmul[1,s1,2,s2]", "relayout[s1,2*s2]"}));
  // Each batch has a matrix of its own.
  EXPECT_EQ(viewed("[1,s1,2,3]", "[1,1,3,s2]", "[1,s1,2,s2] -> [s1,2,s2]"),
            (Ops{"matmul[1,s1,2,s2]", "relayout[s1,2,s2]"}));
  // Others read the product as it is.
  EXPECT_EQ(viewed("[1,s1,2,3]", "[3,s2]", "[1,s1,2,s2] -> [s1,2,s2]", " output \"p\" %p"),
            (Ops{"matmul[1,s1,2,s2]", "relayout[s1,2,s2]"}));
}

/// What slices are cut from is viewed, once for all of them. (Nobody reads the first slice any
/// more.)
TEST(XnnLegalise, WhatIsCutIsViewedBeforeItIsMultiplied) {
  EXPECT_EQ(ops("symbol s1 \"m\" in [1,9] symbol s2 \"n\" in [1,9] input \"x\" %x : f32[1,s1,4,3] "
                "input \"b\" %b : f32[3,s2] "
                "%a = slice(%x) { start = [0,0,2,0], size = [1,s1,2,3], step = [1,1,1,1] } "
                "%p = matmul(%a, %b) %y = relayout(%p) { relayout = [1,s1,2,s2] -> [s1,2,s2] }"),
            (Ops{"slice[1,s1,2,3]", "relayout[s1,4,3]", "slice[s1,2,3]", "matmul[s1,2,s2]"}));
}

/// Weights that are constant are multiplied by a kernel if only the bias is not.
TEST(XnnLegalise, OnlyWeightsThatAreNotConstantGoToTheBatchedProduct) {
  EXPECT_EQ(
      ops("input \"x\" %x : f32[5,3] input \"b\" %b : f32[2] %w = constant() { data = f32[2,3] "
          "splat 1 } %y = linear(%x, %w, %b)"),
      (Ops{"matmul[5,2]", "add[5,2]"}));
  EXPECT_EQ(ops("input \"x\" %x : f32[5,3] input \"w\" %w : f32[2,3] %y = linear(%x, %w)"),
            (Ops{"relayout[1,5,3]", "relayout[1,2,3]", "matmul[1,5,2]", "relayout[5,2]"}));
}

TEST(XnnLegalise, AWindowOfOneElementIsASlice) {
  EXPECT_EQ(
      ops("input \"x\" %x : f32[1,6,5,2] %y = max_pool(%x) { kernel = [1,1], stride = [1,2], "
          "dilation = [1,1], low = [0,0], high = [0,0] }"),
      ops("input \"x\" %x : f32[1,6,5,2] %y = slice(%x) { start = [0,0,0,0], size = [1,6,3,2], "
          "step = [1,1,2,1] }"));
}

/// The last of three pairs may end behind the axis: then all begin one earlier, or one is padded.
TEST(XnnLegalise, ASteppedSliceTakesOneOfEachGroup) {
  const auto sliced = [](int64_t length, int64_t start) {
    return ops(
        fmt::format("input \"x\" %x : f32[{}] %y = slice(%x) {{ start = [{}], size = [3], step "
                    "= [2] }}",
                    length, start));
  };
  EXPECT_EQ(sliced(6, 0), (Ops{"relayout[1,3,2,1]", "slice[1,3,1,1]", "relayout[3]"}));
  EXPECT_EQ(sliced(6, 1), (Ops{"relayout[1,3,2,1]", "slice[1,3,1,1]", "relayout[3]"}));
  EXPECT_EQ(sliced(7, 1), (Ops{"slice[6]", "relayout[1,3,2,1]", "slice[1,3,1,1]", "relayout[3]"}));
  EXPECT_EQ(sliced(5, 0), (Ops{"pad[6]", "relayout[1,3,2,1]", "slice[1,3,1,1]", "relayout[3]"}));
}

TEST(XnnLegalise, AnImageInDepthIsAPlaneForEachTap) {
  EXPECT_EQ(ops("input \"x\" %x : f32[1,4,3,3,1] %w = constant() { data = f32[1,2,1,2,1] splat 1 } "
                "%y = conv(%x, %w) { stride = [1,1,1], dilation = [1,1,1], low = [0,0,0], high = "
                "[0,0,0] }"),
            (Ops{"slice[1,3,3,3,1]", "relayout[3,3,3,1]", "slice[1,1,1,2,1]", "relayout[1,1,2,1]",
                 "conv[3,3,2,1]", "slice[1,3,3,3,1]", "relayout[3,3,3,1]", "slice[1,1,1,2,1]",
                 "relayout[1,1,2,1]", "conv[3,3,2,1]", "add[3,3,2,1]", "relayout[1,3,3,2,1]"}));
}

TEST(XnnLegalise, PaddingIsRunsOfItsOwnElements) {
  // 1 | 0 1 2 3 | 2 1: all but the ends is one run, and each step back one of its own.
  EXPECT_EQ(ops("input \"x\" %x : f32[4] %y = pad(%x) { low = [1], high = [2], mode = reflect }"),
            (Ops{"slice[1]", "slice[1]", "slice[1]", "concat[7]"}));
  EXPECT_EQ(ops("input \"x\" %x : f32[4] %y = pad(%x) { low = [1], high = [2], mode = circular }"),
            (Ops{"slice[1]", "slice[2]", "concat[7]"}));
}

TEST(XnnLegalise, ARollOnceAroundIsNothing) {
  EXPECT_EQ(ops("input \"x\" %x : f32[4] %y = roll(%x) { axes = [0], shifts = [8] }"), Ops{});
}

TEST(XnnLegalise, PartsWithoutElementsAreLeftOut) {
  Graph graph = parse_graph(
      "graph \"t\" { input \"x\" %x : f32[2] input \"e\" %e : f32[0] %y = concat(%x, %e, %x) { "
      "axis = "
      "0 } output \"y\" %y }",
      "test");
  EXPECT_TRUE(legalise(graph));
  EXPECT_EQ(graph.outputs()[0].value->def()->operand_count(), 2);
}

TEST(XnnLegalise, HalfFloatsAreNormalisedInSinglePrecision) {
  const auto converts = [](std::string_view dtype) {
    const Ops all = ops(fmt::format(
        "input \"x\" %x : {}[2,4] %y = normalize(%x) {{ axes = [1], eps = 0.1 }}", dtype));
    return std::ranges::count(all, "convert[2,4]");
  };
  EXPECT_EQ(converts("f16"), 2);
  EXPECT_EQ(converts("bf16"), 2);
  EXPECT_EQ(converts("f32"), 0);
  EXPECT_EQ(converts("f64"), 0);
}

TEST(XnnLegalise, HalfFloatsAreComputedWith) {
  EXPECT_EQ(ops("input \"x\" %x : f16[2,3] %y = softmax(%x) { axis = 0 }"),
            (Ops{"relayout[3,2]", "softmax[3,2]", "relayout[2,3]"}));
}

/// A large constant of which one element is needed is not loaded for it.
TEST(XnnLegalise, LargeConstantsAreNotComputedWith) {
  Graph graph("large");
  const Builder build(graph, nullptr);
  Value* large = build.constant(Tensor({DType::i64, {(int64_t{8} << 20) + 1}}));
  graph.add_output("y", build.slice(large, 0, 0, 1));
  EXPECT_FALSE(legalise(graph));
}

TEST(XnnLegalise, ListsOfMatricesOfManyAxesAreOneList) {
  EXPECT_EQ(
      ops("input \"a\" %a : f32[2,1,2,1,2,3,4] input \"b\" %b : f32[2,1,2,1,2,4,5] "
          "%y = matmul(%a, %b)"),
      (Ops{"relayout[8,3,4]", "relayout[8,4,5]", "matmul[8,3,5]", "relayout[2,1,2,1,2,3,5]"}));
}

/// Constants of i64[rows,1] and i64[1,columns], added.
bool is_computed(int64_t rows, int64_t columns) {
  Graph graph("large");
  const Builder build(graph, nullptr);
  const auto zeros = [&](Shape shape) { return build.constant(Tensor({DType::i64, shape})); };
  graph.add_output("y", build.add(Op::add, {zeros({rows, 1}), zeros({1, columns})}, BinaryAttrs{}));
  return legalise(graph);
}

TEST(XnnLegalise, WhatFollowsFromConstantsIsComputedUpTo64Megabytes) {
  EXPECT_TRUE(is_computed(64, 64));
  EXPECT_FALSE(is_computed(4096, 2049));
}

TEST(XnnLegalise, AxesAreMergedWhereOperandsAreAlike) {
  const auto sum = [](std::string_view a, std::string_view b) {
    return ops(fmt::format("input \"a\" %a : f32{} input \"b\" %b : f32{} %y = add(%a, %b)", a, b));
  };
  EXPECT_EQ(sum("[2,3,1,2,1,2,3]", "[2,3,1,2,1,2,3]"),
            (Ops{"relayout[72]", "relayout[72]", "add[72]", "relayout[2,3,1,2,1,2,3]"}));
  EXPECT_EQ(sum("[2,3,1,2,1,2,3]", "[2,3]"),
            (Ops{"relayout[12,6]", "relayout[1,6]", "add[12,6]", "relayout[2,3,1,2,1,2,3]"}));
  // Six axes are left: still views.
  EXPECT_EQ(sum("[2,1,2,1,2,1,1]", "[1,2,1,2,1,2,1]"),
            (Ops{"relayout[2,1,2,1,2,1]", "relayout[1,2,1,2,1,2]", "add[2,2,2,2,2,2]",
                 "relayout[2,2,2,2,2,2,1]"}));
  // Seven are left: the operands are spread out.
  const Ops spread = sum("[2,1,2,1,2,1,2]", "[1,2,1,2,1,2,1]");
  EXPECT_EQ(std::ranges::count(spread, "add[128]"), 1);
}

TEST(XnnLegalise, OnlyWhatIsWholeIsMerged) {
  EXPECT_EQ(
      ops("input \"x\" %x : f32[2,3,4,1,2,5,3] %y = slice(%x) { start = [0,0,1,0,0,0,2], size "
          "= [2,3,2,1,2,5,1], step = [1,1,1,1,1,1,1] }"),
      (Ops{"relayout[6,4,10,3]", "slice[6,2,10,1]", "relayout[2,3,2,1,2,5,1]"}));
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4,1,2,5,3] %y = pad(%x) { low = [0,0,1,0,0,0,0], high = "
                "[0,0,0,0,0,0,2] }"),
            (Ops{"relayout[6,4,10,3]", "pad[6,5,10,5]", "relayout[2,3,5,1,2,5,5]"}));
  EXPECT_EQ(ops("input \"x\" %x : f32[2,3,4,1,2,5,3] %y = softmax(%x) { axis = 6 }"),
            (Ops{"relayout[240,3]", "softmax[240,3]", "relayout[2,3,4,1,2,5,3]"}));
  EXPECT_EQ(
      ops("input \"x\" %x : f32[2,3,4,1,2,5,3] %y = concat(%x, %x) { axis = 2 }"),
      (Ops{"relayout[6,4,30]", "relayout[6,4,30]", "concat[6,8,30]", "relayout[2,3,8,1,2,5,3]"}));
}

/// A transpose of n factors in steps, none of which has more than six.
size_t transposes(std::string_view relayout, std::string_view shape) {
  Graph graph =
      parse_graph(fmt::format("graph \"t\" {{ input \"x\" %x : f32{} %y = relayout(%x) {{ "
                              "relayout = {} }} output \"y\" %y }}",
                              shape, relayout),
                  "test");
  legalise(graph);
  size_t count = 0;
  for (const Node* node : graph) {
    if (!node->is(Op::relayout)) continue;
    const Relayout& moved = node->attrs<RelayoutAttrs>().relayout;
    EXPECT_LE(moved.factors().size(), 6u);
    count += !moved.is_view();
  }
  return count;
}

TEST(XnnLegalise, ATransposeHasAsFewStepsAsBlocksCanBeMoved) {
  EXPECT_EQ(transposes("[64] (2,2,2,2,2,2)->(5,4,3,2,1,0) [64]", "[64]"), 1u);
  // In a reversal a move brings one pair together: seven factors are then six.
  EXPECT_EQ(transposes("[128] (2,2,2,2,2,2,2)->(6,5,4,3,2,1,0) [128]", "[128]"), 2u);
  EXPECT_EQ(transposes("[256] (2,2,2,2,2,2,2,2)->(7,6,5,4,3,2,1,0) [256]", "[256]"), 3u);
}

// --- quantised -----------------------------------------------------------------------------------

TEST(XnnLegalise, ABiasOfIntegerWeightsIsAddedApart) {
  const auto product = [](std::string_view x, std::string_view attributes, bool bias = true) {
    return ops(
        fmt::format("input \"x\" %x : f32[2,4] {} %w = constant() {{ data = i8[3,4] splat 2, "
                    "quantisation = i8 in "
                    "[-128,127] scale f32[] (0.5) }} {} {{ {} }} {}",
                    x,
                    bias ? "%b = constant() { data = f32[3] (1,2,3) } %z = linear(%q, %w, %b)"
                         : "%z = linear(%q, %w)",
                    attributes, "%y = tanh(%z)"));
  };
  EXPECT_EQ(product("%q = exp(%x)", "bounds = [0,1]"),
            (Ops{"exp[2,4]", "linear[2,3]", "add[2,3]", "tanh[2,3]"}));
  EXPECT_EQ(product("%q = exp(%x)", "bounds = [0,1]", false),
            (Ops{"exp[2,4]", "linear[2,3]", "tanh[2,3]"}));
  EXPECT_EQ(product("%q = exp(%x)", "dynamic = true"),
            (Ops{"exp[2,4]", "linear[2,3]", "tanh[2,3]"}));
}

TEST(XnnLegalise, WhatXnnpackHasNotOnIntegersIsComputedOnReals) {
  const std::string by = "quantisation = i8 in [-128,127] scale f32[] (0.5) zero i32[] (3)";
  const auto of = [&](std::string_view made) {
    return ops(fmt::format("input \"x\" %x : f32[4] %q = quantize(%x) {{ {} }} {}", by, made));
  };
  EXPECT_EQ(of("%y = div(%q, %q) { " + by + " }"),
            (Ops{"quantize[4]", "dequantize[4]", "dequantize[4]", "div[4]", "quantize[4]"}));
  // A real operand and a real result stay.
  EXPECT_EQ(of("%y = div(%q, %x)"), (Ops{"quantize[4]", "dequantize[4]", "div[4]"}));
  EXPECT_EQ(of("%y = add(%q, %q) { " + by + " }"), (Ops{"quantize[4]", "add[4]"}));
}

/// Views make two axes of one, on integers as on reals; only what is refused then is computed on
/// reals.
TEST(XnnLegalise, WindowsAlongOneAxisStayOnIntegers) {
  const std::string by = "quantisation = i8 in [-128,127] scale f32[] (0.5)";
  const auto window = [&](std::string_view made) {
    return ops(
        fmt::format("input \"x\" %x : f32[1,6,2] %q = quantize(%x) {{ {0} }} %w = constant() "
                    "{{ data = i8[2,2,2] splat 1, {0} }} %y = {1}, {0} }}",
                    by, made));
  };
  EXPECT_EQ(window("conv(%q, %w) { stride = [1], dilation = [1], low = [0], high = [0]"),
            (Ops{"quantize[1,6,2]", "relayout[1,1,6,2]", "conv[1,1,5,2]", "relayout[1,5,2]"}));
  EXPECT_EQ(
      window("conv_transpose(%q, %w) { stride = [1], dilation = [1], low = [0], high = [0], "
             "extra = [0]"),
      (Ops{"quantize[1,6,2]", "relayout[1,1,6,2]", "conv_transpose[1,1,7,2]", "relayout[1,7,2]"}));
  EXPECT_EQ(
      window("max_pool(%q) { kernel = [2], stride = [1], dilation = [1], low = [0], high = [0]"),
      (Ops{"quantize[1,6,2]", "relayout[1,1,6,2]", "max_pool[1,1,5,2]", "relayout[1,5,2]"}));
  // An average along one axis has no kernel on integers.
  const Ops average =
      window("avg_pool(%q) { kernel = [2], stride = [1], dilation = [1], low = [0], high = [0]");
  EXPECT_EQ(std::ranges::count(average, "dequantize[1,6,2]"), 1);
  // Every other element is one of each pair, without a number being computed.
  const Ops sliced =
      ops(fmt::format("input \"x\" %x : f32[6] %q = quantize(%x) {{ {} }} %y = slice(%q) "
                      "{{ start = [0], size = [3], step = [2] }}",
                      by));
  EXPECT_EQ(sliced, (Ops{"quantize[6]", "relayout[1,3,2,1]", "slice[1,3,1,1]", "relayout[3]"}));
}

TEST(XnnLegalise, TablesOfScalesAreWrittenOut) {
  const auto of = [](std::string_view table, std::string_view behind = "%y = tanh(%d)") {
    return ops(
        fmt::format("input \"x\" %x : f32[4,2] %q = quantize(%x) {{ quantisation = i8 in "
                    "[-128,127] {} }} %d = dequantize(%q) {}",
                    table, behind));
  };
  const Ops written = {"mul[4,2]",     "round[4,2]",       "add[4,2]",         "clamp[4,2]",
                       "convert[4,2]", "reinterpret[4,2]", "reinterpret[4,2]", "convert[4,2]",
                       "sub[4,2]",     "mul[4,2]",         "tanh[4,2]"};
  EXPECT_EQ(of("scale f32[4,1] (1,2,3,4)"), written);
  EXPECT_EQ(of("scale f32[4,2] (1,2,3,4,5,6,7,8)"), written);
  EXPECT_EQ(of("scale f32[] (1)"), (Ops{"quantize[4,2]", "dequantize[4,2]", "tanh[4,2]"}));
  // A table over groups broadcasts to nothing.
  EXPECT_EQ(of("scale f32[2,1] (1,2)"), (Ops{"quantize[4,2]", "dequantize[4,2]", "tanh[4,2]"}));
}

}  // namespace
}  // namespace layline::xnnpack

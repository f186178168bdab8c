// Up to where passes go, exactly, and what they say where they stop: sizes of constants, costs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/computed_block.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "make_tensor.h"
#include "transforms/pipeline.h"

namespace layline {
namespace {

/// Runs one pass, once, without evaluating anything: the constants here are large.
struct Ran {
  bool changed = false;
  std::vector<Explanation> explanations;
  std::optional<Certificate> certificate;

  std::string text() const {
    std::string all;
    for (const Explanation& one : explanations) all += one.value + " " + one.text + "\n";
    return all;
  }
};
Ran run(std::string_view name, Graph& graph, const TargetRules& rules = {}) {
  Ran ran;
  const auto passes = all_passes();
  const auto pass = std::ranges::find(passes, name, &Pass::name);
  PassContext context(name, rules, &ran.explanations);
  ran.changed = pass->run(graph, context);
  ran.certificate = context.certificate();
  verify(graph);
  return ran;
}

int count(const Graph& graph, Op op) {
  int found = 0;
  for (const Node* node : graph) found += node->is(op);
  return found;
}

/// Zeros that take no memory before somebody reads them.
Value* zeros(const Builder& build, Shape shape, DType dtype = DType::f32) {
  const size_t bytes = byte_count({dtype, shape});
  auto block = std::make_shared<ComputedBlock>(
      bytes, std::vector<ComputedBlock::Part>{{0, bytes, {}, {}}},
      [](std::span<std::byte> all) { std::ranges::fill(all, std::byte{0}); });
  return build.constant(Constant::computed(dtype, std::move(shape), std::move(block), 0));
}

constexpr int64_t kMegabyte = int64_t{1} << 20;
constexpr int64_t kMost = 64 * kMegabyte;  // of what is rewritten

// ---- Sizes ----

TEST(PassLimits, WeightsThatTakeInWhatIsBefore) {
  for (const bool too_large : {false, true}) {
    Graph graph("g");
    const Builder build(graph, nullptr);
    Value* x = graph.add_input("x", {DType::f32, {1, 4}});
    Value* factors = build.constant(f32({4}, {1, 2, 3, 4}));
    Value* scaled = build.add(Op::mul, {x, factors});
    Value* weight = zeros(build, {kMost / 16 + too_large, 4});
    graph.add_output("y", build.add(Op::linear, {scaled, weight}, LinearAttrs{}));
    EXPECT_EQ(run("fold_affine", graph).changed, !too_large);
    EXPECT_EQ(count(graph, Op::mul), too_large);
  }
}

TEST(PassLimits, WeightsThatTakeInABranch) {
  for (const int64_t channels : {4096, 4097}) {  // 64 megabytes, and a little more
    Graph graph("g");
    const Builder build(graph, nullptr);
    Value* x = graph.add_input("x", {DType::f32, {1, 1, 1, channels}});
    Value* conv = build.add(Op::conv, {x, zeros(build, {channels, 1, 1, channels})},
                            ConvAttrs{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}});
    graph.add_output("y", build.add(Op::add, {conv, x}));
    EXPECT_EQ(run("fold_branches", graph).changed, channels == 4096);
  }
}

TargetRules slow_calls(int64_t call_ps) {
  TargetRules rules;
  rules.orders.moves.call_ps = call_ps;
  return rules;
}

/// As many products on x, each of 2 x 2 numbers that are transposed.
void add_products(Graph& graph, Value* x, int products) {
  const Builder build(graph, nullptr);
  constexpr int kSwap[] = {1, 0};
  for (int i = 0; i < products; ++i) {
    Value* y = build.add(Op::linear, {x, zeros(build, {2, x->shape().back()})}, LinearAttrs{});
    graph.add_output(fmt::format("y{}", i), build.permute(y, kSwap));
  }
}

TEST(PassLimits, WeightsThatAreStacked) {
  for (const bool too_large : {false, true}) {
    Graph graph("g");
    const int64_t inputs = kMost / 16 + too_large;  // for two products, with two rows each
    add_products(graph, graph.add_input("x", {DType::f32, {2, inputs}}), 2);
    EXPECT_EQ(run("merge_linears", graph, slow_calls(1'000'000)).changed, !too_large);
    EXPECT_EQ(count(graph, Op::linear), too_large ? 2 : 1);
  }
}

TEST(PassLimits, WhatIsComputedOfConstants) {
  struct Case {
    Shape from;
    SliceAttrs slice;
    bool folds;
  };
  const Case cases[] = {
      {{kMost}, {{0}, {1}, {1}}, true},
      {{kMost + 1}, {{0}, {1}, {1}}, false},
      {{kMegabyte}, {{0}, {kMegabyte - 1}, {1}}, true},
  };
  for (const auto& [from, slice, folds] : cases) {
    Graph graph("g");
    const Builder build(graph, nullptr);
    graph.add_output("y", build.add(Op::slice, {zeros(build, from, DType::i8)}, slice));
    const Ran ran = run("fold_constants", graph);
    EXPECT_EQ(ran.changed, folds);
    EXPECT_EQ(count(graph, Op::slice), !folds);
    EXPECT_EQ(ran.text(), folds ? "slice computed at compile time\n"
                                : "slice not computed at compile time: it is too large to be "
                                  "computed ahead of time\n");
  }
}

TEST(PassLimits, WhatIsAsLargeAsAConstantMayBe) {
  Graph graph("g");
  const Builder build(graph, nullptr);
  Value* half = zeros(build, {1, kMost / 16}, DType::i64);
  graph.add_output("y", build.expand(half, {2, kMost / 16}));
  EXPECT_TRUE(run("fold_constants", graph).changed);
}

TEST(PassLimits, WhatGrowsWhenItIsComputed) {
  struct Case {
    int64_t from, times;
    bool folds;
  };
  const Case cases[] = {
      {1, kMegabyte, true},           // small
      {1, kMegabyte + 1, false},      // much larger than what it is made of
      {kMegabyte * 3 / 4, 2, true},   // twice as large
      {kMegabyte * 3 / 4, 3, false},  // more than that
      {kMost / 2 + 1, 2, false},      // too large for that
  };
  for (const auto& [from, times, folds] : cases) {
    SCOPED_TRACE(fmt::format("{} times {}", from, times));
    Graph graph("g");
    const Builder build(graph, nullptr);
    graph.add_output("y", build.expand(zeros(build, {1, from}, DType::i8), {times, from}));
    const Ran ran = run("fold_constants", graph);
    EXPECT_EQ(ran.changed, folds);
    const bool too_large = from * times > kMost;
    EXPECT_EQ(ran.text(),
              fmt::format("expand {}\n",
                          folds       ? "computed at compile time"
                          : too_large ? "not computed at compile time: it is too large to be "
                                        "computed ahead of time"
                                      : "not computed at compile time: its result is much larger "
                                        "than what it is computed from"));
  }
}

TEST(PassLimits, SlicesThatStartFurtherThanCanBeCounted) {
  Graph graph = parse_graph(R"(graph "g" {
    symbol s1 "n" in [1,9]
    input "x" %x : f32[s1]
    %a = slice(%x) { start = [0], size = [s1], step = [4] }
    %y = slice(%a) { start = [4611686018427387904], size = [s1], step = [2] }
    output "y" %y
  })",
                            "test");
  EXPECT_FALSE(run("simplify", graph).changed);
}

// ---- Costs ----

TEST(PassLimits, ProductsAreMergedWhereThatPays) {
  // A slice copies 16 bytes, in as many picoseconds: n of them against n - 1 calls.
  struct Case {
    int products;
    int64_t call_ps;
    bool pays;
  };
  const Case cases[] = {{2, 32, false}, {2, 33, true}, {3, 24, false}, {3, 25, true}};
  for (const auto& [products, call_ps, pays] : cases) {
    Graph graph("g");
    add_products(graph, graph.add_input("x", {DType::f32, {2, 3}}), products);
    const Ran ran = run("merge_linears", graph, slow_calls(call_ps));
    EXPECT_EQ(ran.changed, pays);
    EXPECT_EQ(count(graph, Op::linear), pays ? 1 : products);
    EXPECT_EQ(ran.explanations.size(), static_cast<size_t>(products));
    const int others = products - 1;
    EXPECT_EQ(
        ran.explanations[0].text,
        pays ? fmt::format("is one product with {} others on x", others)
             : fmt::format("is not merged with {} others: the slices would cost more", others));
  }
}

TEST(PassLimits, TheFirstProductInTheGraphIsWhereTheOthersGo) {
  Graph graph("g");
  Value* x = graph.add_input("x", {DType::f32, {2, 3}});
  Value* z = graph.add_input("z", {DType::f32, {2, 3}});
  add_products(graph, z, 1);
  Node* first = graph.last()->previous();
  add_products(graph, x, 1);
  graph.set_operand(first, 0, x);  // now the last among the uses of x
  EXPECT_TRUE(run("merge_linears", graph, slow_calls(33)).changed);
  EXPECT_EQ(count(graph, Op::linear), 1);
}

// ---- What is said ----

TEST(PassTexts, SayWhatWasDoneAndWhatWasNot) {
  struct Case {
    std::string_view pass, statements, text;
  };
  const Case cases[] = {
      {"fold_affine", R"(input "x" %x : f32[1,3,3,1]
        %w = constant() { data = f32[1,1,1,1] (2) }
        %t = constant() { data = f32[] (3) }
        %s = add(%x, %t)
        %y = conv(%s, %w) { stride = [1,1], dilation = [1,1], low = [0,1], high = [0,0] }
        output "y" %y)",
       "y s does not fold into it: it pads with zeros\n"},
      {"fold_affine", R"(input "x" %x : f32[2,1]
        %w = constant() { data = f32[1,1] (2) }
        %t = constant() { data = f32[] (3) }
        %s = add(%x, %t)
        %y = linear(%s, %w)
        output "y" %y)",
       "y takes s into its weights\n"},
      {"fold_affine", R"(input "x" %x : f32[2,1]
        %w = constant() { data = f32[1,1] (2) }
        %t = constant() { data = f32[] (3) }
        %s = linear(%x, %w)
        %y = add(%s, %t)
        output "y" %y)",
       "y is taken in as the bias of s\n"},
      {"fold_affine", R"(input "x" %x : f32[2,1]
        %w = constant() { data = f32[1,1] (2) }
        %t = constant() { data = f32[] (3) }
        %s = linear(%x, %w)
        %y = mul(%s, %t)
        output "y" %y)",
       "y folds into the weights of s\n"},
      {"fold_scale", R"(input "x" %x : f32[2,1]
        %w = constant() { data = f32[1,1] (2) }
        %t = constant() { data = f32[] (4) }
        %s = linear(%x, %w)
        %m = neg(%s)
        %y = div(%m, %t)
        output "y" %y)",
       "y the factor 0.25 goes into the weights of s\n"},
      {"simplify", R"(input "x" %x : f32[2]
        %t = constant() { data = f32[] (1) }
        %y = mul(%x, %t)
        output "y" %y)",
       "y is x\n"},
      {"simplify", R"(input "x" %x : f32[1]
        input "z" %z : f32[2]
        %e = expand(%x) { shape = [2] }
        %y = mul(%z, %e)
        output "y" %y)",
       "y reads x without expanding it\n"},
      {"fold_relayouts", R"(input "x" %x : f32[2,3]
        %y = relayout(%x) { relayout = [2,3] -> [2,3] }
        output "y" %y)",
       "y moves nothing\n"},
      {"fold_relayouts", R"(input "x" %x : f32[2,3]
        %a = relayout(%x) { relayout = [2,3] (2,3)->(1,0) [2,3] }
        %y = relayout(%a) { relayout = [2,3] (2,3)->(1,0) [2,3] }
        output "y" %y)",
       "y no single relayout does both [2,3] (2,3)->(1,0) [2,3] and [2,3] (2,3)->(1,0) [2,3]\n"},
      {"fold_relayouts", R"(input "x" %x : f32[2,3]
        %a = relayout(%x) { relayout = [2,3] (2,3)->(1,0) [3,2] }
        %y = relayout(%a) { relayout = [3,2] (3,2)->(1,0) [2,3] }
        output "y" %y)",
       "y with a before it is nothing\n"},
      {"fold_relayouts", R"(input "x" %x : f32[2,2,2,2,2,2,2]
        %a = relayout(%x) { relayout = [2,2,2,2,2,2,2] (2,2,2,2,2,4)->(0,4,3,2,1,5) [128] }
        %y = relayout(%a) { relayout = [128] (64,2)->(1,0) [128] }
        output "y" %y)",
       "y with a before it has 7 factors, more than the 6 that a kernel moves\n"},
      {"fold_constants", R"(input "x" %x : f32[2,1,2]
        %m = constant() { data = f32[2,1] (1,2) }
        %e = expand(%m) { shape = [2,2,1] }
        %y = matmul(%x, %e)
        output "y" %y)",
       "e not computed at compile time: products multiply all batches by one copy\n"},
      {"place_layouts", R"(input "x" %x : f32[1,2,2,3]
        %w = constant() { data = f32[1,12] splat 1 }
        %a = relayout(%x) { relayout = [1,2,2,3] (4,3)->(1,0) [1,12] }
        %y = linear(%a, %w)
        output "y" %y)",
       "y its result is held as [1,1] -> [1,1], its weights are reordered, one of 2 orders that "
       "were possible\n"},
      {"merge_linears", R"(input "x" %x : f32[2,3]
        %w = constant() { data = f32[2,3] splat 1 }
        %a = linear(%x, %w)
        %y = relayout(%a) { relayout = [2,2] (2,2)->(1,0) [2,2] }
        output "y" %y)",
       ""},
      {"place_layouts", R"(input "x" %x : f32[1,2,2,3]
        %a = relayout(%x) { relayout = [1,2,2,3] (4,3)->(1,0) [1,3,2,2] }
        %y = exp(%a)
        output "y" %y)",
       "y keeps its order, one of 2 that were possible\n"},
  };
  for (const auto& [pass, statements, text] : cases) {
    Graph graph = parse_graph(fmt::format("graph \"g\" {{\n{}\n}}\n", statements), "test");
    EXPECT_EQ(run(pass, graph).text(), text) << statements;
  }
}

TEST(PassTexts, ProductsThatReorderTheirWeightsAreCounted) {
  struct Case {
    size_t absorbed;
    std::string_view statements;
  };
  const Case cases[] = {
      {2, R"(input "x" %x : f32[1,2,2,3]
        %w = constant() { data = f32[1,12] splat 1 }
        %a = relayout(%x) { relayout = [1,2,2,3] (4,3)->(1,0) [1,12] }
        %b = relayout(%x) { relayout = [1,2,2,3] (4,3)->(1,0) [1,12] }
        %c = exp(%b)
        %p = linear(%a, %w)
        %q = linear(%c, %w)
        %y = add(%p, %q)
        output "y" %y)"},
      // Other rows come first; the weights are the same.
      {0, R"(input "x" %x : f32[2,3,4]
        %w = constant() { data = f32[1,4] splat 1 }
        %a = relayout(%x) { relayout = [2,3,4] (2,3,4)->(1,0,2) [3,2,4] }
        %y = linear(%a, %w)
        %z = relayout(%y) { relayout = [3,2,1] (3,2)->(1,0) [2,3,1] }
        output "z" %z)"},
      // What is moved is no constant.
      {0, R"(input "x" %x : f32[2,2,3]
        input "w" %w : f32[2,2,3]
        %a = relayout(%x) { relayout = [2,2,3] (4,3)->(1,0) [1,12] }
        %b = relayout(%w) { relayout = [2,2,3] (4,3)->(1,0) [1,12] }
        %y = linear(%a, %b)
        output "y" %y)"},
      // A constant is moved, which is no weight.
      {0, R"(input "x" %x : f32[2,3]
        %c = constant() { data = f32[3,2] (1,2,3,4,5,6) }
        %a = relayout(%x) { relayout = [2,3] (2,3)->(1,0) [3,2] }
        %y = mul(%a, %c)
        %z = relayout(%y) { relayout = [3,2] (3,2)->(1,0) [2,3] }
        output "z" %z)"},
  };
  for (const auto& [absorbed, statements] : cases) {
    SCOPED_TRACE(statements);
    Graph graph = parse_graph(fmt::format("graph \"g\" {{\n{}\n}}\n", statements), "test");
    const Ran ran = run("place_layouts", graph);
    EXPECT_TRUE(ran.changed);
    EXPECT_EQ(ran.certificate.value().absorbed, absorbed);
    EXPECT_EQ(ran.text().find("its weights are reordered") == std::string::npos, absorbed == 0);
  }
}

}  // namespace
}  // namespace layline

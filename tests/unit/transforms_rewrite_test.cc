// What passes share: rewrite.h, affine.h, weighted_op.h and scale_sources.h, with exact values.
#include "transforms/rewrite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/text.h"
#include "ir/verify.h"
#include "transforms/affine.h"
#include "transforms/scale_sources.h"
#include "transforms/weighted_op.h"

namespace layline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Numbers = std::vector<double>;

Graph parsed(std::string_view statements) {
  return parse_graph(fmt::format("graph \"g\" {{\n{}\n}}\n", statements), "test");
}

Node* node(const Graph& graph, std::string_view name) {
  for (Node* one : graph)
    if (one->result()->name() == name) return one;
  ADD_FAILURE() << "no node " << name;
  return nullptr;
}

// ---- affine.h ----

TEST(AffineMap, OfEachOp) {
  struct Case {
    std::string_view op;
    Numbers scale, shift;
  };
  const Case cases[] = {
      {"mul(%x, %c)", {2, 4, -8}, {0, 0, 0}},          {"mul(%c, %x)", {2, 4, -8}, {0, 0, 0}},
      {"div(%x, %c)", {0.5, 0.25, -0.125}, {0, 0, 0}}, {"add(%x, %c)", {1, 1, 1}, {2, 4, -8}},
      {"add(%c, %x)", {1, 1, 1}, {2, 4, -8}},          {"sub(%x, %c)", {1, 1, 1}, {-2, -4, 8}},
      {"sub(%c, %x)", {-1, -1, -1}, {2, 4, -8}},       {"mul(%x, %one)", {5, 5, 5}, {0, 0, 0}},
      {"sub(%one, %x)", {-1, -1, -1}, {5, 5, 5}},
  };
  for (const auto& [op, scale, shift] : cases) {
    SCOPED_TRACE(op);
    const Graph graph = parsed(fmt::format(R"(input "x" %x : f32[2,3]
      %c = constant() {{ data = f32[1,3] (2, 4, -8) }}
      %one = constant() {{ data = f32[1,1] (5) }}
      %y = {})",
                                           op));
    const auto map = affine(*node(graph, "y"), Relayout::identity({2, 3}));
    ASSERT_TRUE(map);
    EXPECT_EQ(map->x->name(), "x");
    EXPECT_EQ(map->scale, scale);
    EXPECT_EQ(map->shift, shift);
  }
}

TEST(AffineMap, OfNothingElse) {
  struct Case {
    std::string_view why, x, constant, op;
  };
  const Case cases[] = {
      {"divides the constant", "f32[2,3]", "f32[3] (1,2,3)", "div(%c, %x)"},
      {"another op", "f32[2,3]", "f32[3] (1,2,3)", "minimum(%x, %c)"},
      {"no constant", "f32[2,3]", "f32[3] (1,2,3)", "mul(%x, %x)"},
      {"a number for each row", "f32[2,3]", "f32[2,1] (1,2)", "mul(%x, %c)"},
      {"a number for each element", "f32[2,3]", "f32[2,3] (1,2,3,4,5,6)", "mul(%x, %c)"},
      {"as many rows as channels", "f32[3,3]", "f32[3,1] (1,2,3)", "mul(%x, %c)"},
      {"further axes", "f32[2,3]", "f32[1,1,3] (1,2,3)", "mul(%x, %c)"},
      {"further elements", "f32[2,1]", "f32[3] (1,2,3)", "mul(%x, %c)"},
      {"halves", "f16[2,3]", "f16[3] (1,2,3)", "mul(%x, %c)"},
      {"integers", "i32[2,3]", "i32[3] (1,2,3)", "mul(%x, %c)"},
      {"no axes", "f32[]", "f32[] (2)", "mul(%x, %c)"},
      {"channels that are counted at run time", "f32[2,s1]", "f32[] (2)", "mul(%x, %c)"},
      {"infinite", "f32[2,3]", "f32[3] (1,2,inf)", "add(%x, %c)"},
      {"not a number", "f32[2,3]", "f32[3] (nan,2,3)", "mul(%x, %c)"},
      {"divided by zero", "f32[2,3]", "f32[3] (1,0,3)", "div(%x, %c)"},
      {"a quotient beyond f32", "f32[2,3]", "f32[3] (1,1e-39,3)", "div(%x, %c)"},
  };
  for (const auto& [why, x, constant, op] : cases) {
    SCOPED_TRACE(why);
    const Graph graph = parsed(
        fmt::format("symbol s1 \"n\" in [1,9]\ninput \"x\" %x : {}\n%c = constant() {{ data = {} "
                    "}}\n%y = {}",
                    x, constant, op));
    const Node* y = node(graph, "y");
    EXPECT_FALSE(affine(*y, Relayout::identity(y->result()->shape())));
  }
}

TEST(AffineMap, WhereARelayoutPutsTheChannels) {
  const Graph graph = parsed(R"(input "x" %x : f32[2,3]
    %c = constant() { data = f32[2,1] (5, 7) }
    %y = mul(%x, %c))");
  const int swap[] = {1, 0};
  const auto map = affine(*node(graph, "y"), Relayout::permute({2, 3}, swap));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->scale, (Numbers{5, 7}));
  EXPECT_FALSE(affine(*node(graph, "y"), Relayout::view({2, 3}, {6})));
  EXPECT_FALSE(affine(*node(graph, "y"), Relayout::view({2, 3}, {1, 2, 3})));
}

TEST(AffineMap, IsUniform) {
  EXPECT_TRUE(is_uniform({}, 1));
  EXPECT_TRUE(is_uniform({1, 1}, 1));
  EXPECT_FALSE(is_uniform({1, 2}, 1));
  EXPECT_FALSE(is_uniform({2, 1}, 1));
}

// ---- weighted_op.h ----

TEST(WeightedOp, WhatItIs) {
  const Graph graph = parsed(R"(input "x" %x : f32[2,3]
    input "i" %i : f32[4]
    %w = constant() { data = f32[4,3] splat 2 }
    %b = constant() { data = f32[4] (1, 2, 3, 4) }
    %plain = linear(%x, %w)
    %biased = linear(%x, %w, %b)
    %given = linear(%x, %w, %i)
    %rounded = linear(%x, %w) { quantisation = i8 in [-128,127] scale f32[] (0.5) }
    %other = mul(%i, %b))");
  EXPECT_TRUE(is_weighted_op(node(graph, "plain")));
  EXPECT_TRUE(is_weighted_op(node(graph, "biased")));
  EXPECT_FALSE(is_weighted_op(node(graph, "given")));
  EXPECT_FALSE(is_weighted_op(node(graph, "rounded")));
  EXPECT_FALSE(is_weighted_op(node(graph, "other")));
  EXPECT_FALSE(is_weighted_op(nullptr));
  EXPECT_EQ(bias_of(*node(graph, "plain")), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(bias_of(*node(graph, "biased")), (Numbers{1, 2, 3, 4}));
}

// ---- rewrite.h ----

TEST(Rewrite, ErasesWhatNothingUsesAnyMore) {
  Graph graph = parsed(R"(input "x" %x : f32[2]
    input "z" %z : f32[2]
    %kept = exp(%x)
    %once = neg(%kept)
    %twice = add(%once, %once)
    %second = abs(%z)
    %gone = mul(%twice, %second)
    %used = abs(%kept)
    output "y" %used)");
  erase_unused(graph, node(graph, "kept"));  // somebody uses it
  erase_unused(graph, node(graph, "used"));  // an output
  EXPECT_EQ(graph.node_count(), 6u);
  erase_unused(graph, node(graph, "gone"));
  EXPECT_EQ(graph.node_count(), 2u);
  verify(graph);
}

TEST(Rewrite, TwoClampsAsOne) {
  const std::pair<std::pair<Bounds, Bounds>, Bounds> cases[] = {
      {{{0, 6}, {-1, 3}}, {0, 3}},
      {{{-1, 3}, {0, 6}}, {0, 3}},
      {{{0, 1}, {2, 3}}, {2, 2}},
      {{{2, 3}, {0, 1}}, {1, 1}},
      {{{0, kInfinity}, {-kInfinity, 6}}, {0, 6}},
      {{{}, {-2, 5}}, {-2, 5}},
      {{{-2, 5}, {}}, {-2, 5}},
  };
  for (const auto& [clamps, both] : cases)
    EXPECT_EQ(clamped_twice(clamps.first, clamps.second), both);
}

TEST(Rewrite, TheOneNumberOfAConstant) {
  const std::pair<std::string_view, std::optional<double>> cases[] = {
      {"data = f32[] (3)", 3},
      {"data = f32[2,2] splat 0.5", 0.5},
      {"data = i32[2] (7, 7)", 7},
      {"data = f32[3] (1, 1, 2)", {}},
      {"data = f32[3] (2, 1, 1)", {}},
      {"data = f32[0] ()", {}},
      {"data = f32[4096] splat 2", 2},  // 16384 bytes
      {"data = f32[4097] splat 2", 2},  // compared byte by byte
      {"data = i64[4097] splat -7", -7},
      {"data = i8[2] (7, 7), quantisation = i8 in [-128,127] scale f32[] (0.5)", {}},
  };
  for (const auto& [text, number] : cases) {
    const Graph graph = parsed(fmt::format("%c = constant() {{ {} }}", text));
    EXPECT_EQ(uniform_value(graph.first()->result()), number) << text;
  }
  const Graph graph = parsed("input \"x\" %x : f32[]\n%y = neg(%x)");
  EXPECT_EQ(uniform_value(graph.inputs()[0].value), std::nullopt);
  EXPECT_EQ(uniform_value(graph.first()->result()), std::nullopt);
}

TEST(Rewrite, Scalings) {
  struct Case {
    std::string_view op;
    int operand;
    double factor;  // 0: none
  };
  const Case cases[] = {
      {"mul(%x, %four)", 0, 4},    {"mul(%four, %x)", 1, 4},
      {"div(%x, %four)", 0, 0.25}, {"div(%four, %x)", 0, 0},
      {"mul(%x, %zero)", 0, 0},    {"div(%x, %zero)", 0, 0},
      {"mul(%x, %many)", 0, 0},    {"mul(%x, %wide)", 0, 0},
      {"mul(%i, %int)", 0, 0},     {"add(%x, %four)", 0, 0},
      {"mul(%wide, %four)", 0, 4}, {"mul(%x, %inf)", 0, 0},
      {"div(%x, %inf)", 0, 0},     {"mul(%x, %four) { bounds = [0,6] }", 0, 0},
      {"mul(%four, %four)", 0, 4},
  };
  for (const auto& [op, operand, factor] : cases) {
    SCOPED_TRACE(op);
    const Graph graph = parsed(fmt::format(R"(input "x" %x : f32[3]
      input "i" %i : i32[3]
      %four = constant() {{ data = f32[] (4) }}
      %zero = constant() {{ data = f32[] (0) }}
      %inf = constant() {{ data = f32[] (inf) }}
      %many = constant() {{ data = f32[3] (1, 2, 3) }}
      %wide = constant() {{ data = f32[2,1] (4, 4) }}
      %int = constant() {{ data = i32[] (4) }}
      %y = {})",
                                           op));
    const auto scaling = as_scaling(node(graph, "y"));
    ASSERT_EQ(scaling.has_value(), factor != 0);
    if (!scaling) continue;
    EXPECT_EQ(scaling->node, node(graph, "y"));
    EXPECT_EQ(scaling->operand, operand);
    EXPECT_EQ(scaling->factor, factor);
  }
}

// ---- scale_sources.h ----

TEST(ScaleSources, TheChannelsThatGoIntoAValue) {
  const Graph graph = parsed(R"(input "x" %x : f32[3,2]
    %v = constant() { data = f32[1,2] splat 1 }
    %w = constant() { data = f32[6,2] splat 2 }
    %a = linear(%x, %v)
    %b = linear(%x, %w)
    %h = relayout(%b) { relayout = [3,6] (3,2,3)->(1,0,2) [2,3,3] }
    %p = slice(%h) { start = [1,0,0], size = [1,3,2], step = [1,1,2] }
    %q = mul(%p, %a)
    %y = neg(%q)
    output "y" %y)");
  // The second head's first and third channel; of a product one factor is enough.
  const auto sources = scale_sources(node(graph, "y"), 0);
  ASSERT_TRUE(sources);
  ASSERT_EQ(sources->size(), 1u);
  EXPECT_EQ((*sources)[0].op, node(graph, "b"));
  EXPECT_EQ((*sources)[0].channels, (std::vector<bool>{false, false, false, true, false, true}));
}

TEST(ScaleSources, OfSeveralOpsEachHasItsChannels) {
  const Graph graph = parsed(R"(input "x" %x : f32[3,2]
    %v = constant() { data = f32[2,2] splat 1 }
    %w = constant() { data = f32[3,2] splat 2 }
    %a = linear(%x, %v)
    %b = linear(%x, %w)
    %p = slice(%a) { start = [0,1], size = [3,1], step = [1,1] }
    %q = slice(%b) { start = [0,0], size = [3,2], step = [1,1] }
    %c = concat(%q, %p) { axis = 1 }
    %y = neg(%c)
    output "y" %y)");
  const auto sources = scale_sources(node(graph, "y"), 0);
  ASSERT_TRUE(sources);
  ASSERT_EQ(sources->size(), 2u);
  EXPECT_EQ((*sources)[0].op, node(graph, "b"));
  EXPECT_EQ((*sources)[0].channels, (std::vector<bool>{true, true, false}));
  EXPECT_EQ((*sources)[1].op, node(graph, "a"));
  EXPECT_EQ((*sources)[1].channels, (std::vector<bool>{false, true}));
}

/// A sum of `terms` products; the first goes through a negation, or does not.
Graph sum_of_products(int terms, bool negated) {
  std::string text = "input \"x\" %x : f32[1,1]\n";
  for (int i = 0; i < terms; ++i)
    text += fmt::format(
        "%w{0} = constant() {{ data = f32[1,1] ({0}) }}\n%l{0} = linear(%x, %w{0})\n", i);
  text += negated ? "%s0 = neg(%l0)\n" : "";
  for (int i = 1; i < terms; ++i)
    text += fmt::format("%s{} = add(%{}, %l{})\n", i,
                        i == 1 && !negated ? std::string("l0") : fmt::format("s{}", i - 1), i);
  return parsed(text + fmt::format("%y = neg(%s{})\noutput \"y\" %y", terms - 1));
}

TEST(ScaleSources, AreFoundAmongSixtyFourNodes) {
  // When the last of n products is reached, n - 1 products, n - 2 sums and the negation are done.
  EXPECT_TRUE(scale_sources(node(sum_of_products(33, false), "y"), 0));  // 63
  EXPECT_FALSE(scale_sources(node(sum_of_products(33, true), "y"), 0));  // 64
  EXPECT_FALSE(scale_sources(node(sum_of_products(34, false), "y"), 0));
}

}  // namespace
}  // namespace layline

// Which nodes share a delegate, and what crosses its border.
#include "targets/xnnpack/partition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/text.h"
#include "targets/xnnpack/payload.h"

namespace layline::xnnpack {
namespace {

std::string names(const auto& values) {
  std::vector<std::string> result;
  for (const Value* value : values) result.push_back(value->name());
  return fmt::format("{}", fmt::join(result, " "));
}

/// One line for each part: inputs, nodes in a delegate or alone, outputs.
std::vector<std::string> parts(std::string_view body, bool delegate = true) {
  const Graph graph = parse_graph(fmt::format("graph \"test\" {{ {} }}", body), "test");
  std::vector<std::string> result;
  for (const Part& part : partition(graph, delegate).parts) {
    std::vector<const Value*> nodes;
    for (const Node* node : part.nodes) nodes.push_back(node->result());
    result.push_back(fmt::format("{} > {}{} > {}", names(part.inputs),
                                 part.delegated ? "delegate " : "", names(nodes),
                                 names(part.outputs)));
    EXPECT_EQ(part.delegated, part.why.empty());
  }
  return result;
}

using Parts = std::vector<std::string>;

TEST(XnnPartition, WhatXnnpackHasNotStandsBetweenDelegates) {
  constexpr std::string_view kGraph =
      "input \"x\" %x : f32[4] %a = tanh(%x) %b = sign(%a) %c = add(%a, %b) %d = exp(%c) "
      "output \"d\" %d";
  EXPECT_EQ(parts(kGraph), (Parts{"x > delegate a > a", "a > b > b", "a b > delegate c d > d"}));
  EXPECT_EQ(parts(kGraph, false), (Parts{"x > a > a", "a > b > b", "a b > c > c", "c > d > d"}));
}

TEST(XnnPartition, TheBorderIsReadOutsideAndWrittenOnce) {
  // %a is an output and read inside, %b only read inside; a constant crosses no border.
  EXPECT_EQ(
      parts("input \"x\" %x : f32[4] input \"z\" %z : f32[4] %k = constant() { data = f32[] (2) "
            "} %a = mul(%z, %k) %b = add(%a, %x) %c = sub(%b, %z) output \"a\" %a "
            "output \"c\" %c"),
      Parts{"z x > delegate a b c > a c"});
}

TEST(XnnPartition, AViewGoesWithWhatComputesItsOperand) {
  const auto viewed = [](std::string_view before, std::string_view behind) {
    return parts(
        fmt::format("input \"x\" %x : f32[4] {} %v = relayout(%a) {{ relayout = [4] -> "
                    "[2,2] }} {} output \"y\" %y",
                    before, behind));
  };
  // Computed in a delegate, it is a view there, whoever reads it.
  EXPECT_EQ(viewed("%a = tanh(%x)", "%y = sign(%v)"), (Parts{"x > delegate a v > v", "v > y > y"}));
  EXPECT_EQ(viewed("%a = tanh(%x)", "%y = exp(%v)"), Parts{"x > delegate a v y > y"});
  // Computed outside, it goes with those that read it if they all are in delegates.
  EXPECT_EQ(viewed("%a = sign(%x)", "%y = exp(%v)"), (Parts{"x > a > a", "a > delegate v y > y"}));
  EXPECT_EQ(viewed("%a = sign(%x)", "%y = sign(%v)"),
            (Parts{"x > a > a", "a > v > v", "v > y > y"}));
  EXPECT_EQ(viewed("%a = sign(%x)", "%e = exp(%v) %s = sign(%v) %y = add(%e, %s)"),
            (Parts{"x > a > a", "a > v > v", "v > s > s", "v s > delegate e y > y"}));
  EXPECT_EQ(viewed("%a = sign(%x)", "%y = exp(%v) output \"v\" %v"),
            (Parts{"x > a > a", "a > v > v", "v > delegate y > y"}));
  // Not even if there is a delegate that could have it.
  EXPECT_EQ(viewed("%a = sign(%x)", "%y = sign(%v) %e = exp(%a) output \"e\" %e"),
            (Parts{"x > a > a", "a > v > v", "v > y > y", "a > delegate e > e"}));
  EXPECT_EQ(
      parts("input \"x\" %x : f32[4] %v = relayout(%x) { relayout = [4] -> [2,2] } %e = exp(%v) "
            "%s = sign(%v) output \"e\" %e output \"s\" %s"),
      (Parts{"x > v > v", "v > s > s", "v > delegate e > e"}));
  // Nothing computes an input.
  EXPECT_EQ(parts("input \"x\" %x : f32[4] %v = relayout(%x) { relayout = [4] -> [2,2] } "
                  "output \"v\" %v"),
            Parts{"x > v > v"});
  // A view of a view goes with it.
  EXPECT_EQ(
      viewed("%a = sign(%x)", "%u = relayout(%v) { relayout = [2,2] -> [4,1] } %y = sign(%u)"),
      (Parts{"x > a > a", "a > v > v", "v > u > u", "u > y > y"}));
}

TEST(XnnPartition, ATransposeIsNoView) {
  EXPECT_EQ(parts("input \"x\" %x : f32[2,3] %t = relayout(%x) { relayout = [2,3] (2,3)->(1,0) "
                  "[3,2] } output \"t\" %t"),
            Parts{"x > delegate t > t"});
}

TEST(XnnPartition, ViewsAloneAreNoDelegate) {
  // Nothing reads the view, so that nothing keeps it outside.
  EXPECT_EQ(parts("input \"x\" %x : f32[4] %v = relayout(%x) { relayout = [4] -> [2,2] } "
                  "output \"x\" %x"),
            Parts{"x > v > "});
}

TEST(XnnPartition, ReasonsAreGiven) {
  const auto why = [](std::string_view body, bool delegate = true) {
    const Graph graph = parse_graph(fmt::format("graph \"test\" {{ {} }}", body), "test");
    return partition(graph, delegate).parts.back().why;
  };
  EXPECT_EQ(why("input \"x\" %x : f32[4] %y = sign(%x) output \"y\" %y"), "XNNPACK has no sign");
  EXPECT_EQ(why("input \"x\" %x : f32[4] %y = tanh(%x) output \"y\" %y", false),
            "delegation is disabled");
  EXPECT_EQ(why("input \"x\" %x : f32[4] %y = relayout(%x) { relayout = [4] -> [2,2] } "
                "output \"y\" %y"),
            "not worth a delegate of its own");
  EXPECT_EQ(why("input \"x\" %x : i64[4] %y = relayout(%x) { relayout = [4] -> [2,2] } "
                "output \"y\" %y"),
            "XNNPACK has no i64 tensors");
}

/// One input, and as many results as are asked for.
std::vector<size_t> sizes_of_delegates(size_t outputs) {
  Graph graph("wide");
  const Builder build(graph, nullptr);
  Value* x = graph.add_input("x", {DType::f32, {2}});
  for (size_t i = 0; i < outputs; ++i)
    graph.add_output(fmt::format("y{}", i), build.add(Op::tanh, {x}));
  std::vector<size_t> sizes;
  for (const Part& part : partition(graph).parts) {
    EXPECT_TRUE(part.delegated);
    EXPECT_EQ(part.outputs.size(), part.nodes.size());
    sizes.push_back(part.nodes.size());
  }
  return sizes;
}

TEST(XnnPartition, WhatIsTooWideIsHalved) {
  EXPECT_EQ(sizes_of_delegates(kMaxExternals - 1), std::vector<size_t>{4095});
  EXPECT_EQ(sizes_of_delegates(kMaxExternals), (std::vector<size_t>{2048, 2048}));
  EXPECT_EQ(sizes_of_delegates(kMaxExternals + 1), (std::vector<size_t>{2048, 2049}));
}

TEST(XnnPartition, OneNodeThatIsTooWideIsAKernel) {
  const auto joined = [](size_t count) {
    Graph graph("wide");
    const Builder build(graph, nullptr);
    std::vector<Value*> inputs;
    for (size_t i = 0; i < count; ++i)
      inputs.push_back(graph.add_input(fmt::format("x{}", i), {DType::f32, {1}}));
    graph.add_output("y", build.concat(std::move(inputs), 0));
    const Partition result = partition(graph);
    EXPECT_EQ(result.parts.size(), 1u);
    EXPECT_EQ(result.parts[0].delegated, result.parts[0].why.empty());
    return result.parts[0].why;
  };
  EXPECT_EQ(joined(kMaxExternals - 1), "");
  EXPECT_EQ(joined(kMaxExternals), "it reads more than one delegate takes");
}

/// %much is computed where it is read, in the second delegate, at its greatest size.
TEST(XnnPartition, BytesAreCountedAtTheGreatestSizes) {
  const auto crossing = [](int64_t greatest) {
    return parts(
        fmt::format("symbol s1 \"n\" in [1,{}] input \"x\" %x : f32[3] input \"z\" %z : "
                    "f32[s1,1] %few = tanh(%x) %s = sign(%few) %much = add(%few, %z) "
                    "%y = mul(%much, %s) output \"y\" %y",
                    greatest));
  };
  const Parts later = {"x > delegate few > few", "few > s > s", "few z s > delegate much y > y"};
  EXPECT_EQ(crossing(9), later);
}

/// An output leaves its delegate in any case: it stays where it can be computed first.
TEST(XnnPartition, OutputsAreComputedEarly) {
  EXPECT_EQ(
      parts("input \"x\" %x : f32[3] input \"z\" %z : f32[9,1] %few = tanh(%x) %s = sign(%few) "
            "%much = add(%few, %z) %y = mul(%much, %s) output \"y\" %y output \"m\" %much"),
      (Parts{"x z > delegate few much > few much", "few > s > s", "much s > delegate y > y"}));
}

}  // namespace
}  // namespace layline::xnnpack

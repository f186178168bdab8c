// What is written in place of ops that the runtime has no kernels for, without any delegate.
#include "targets/kernel_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "make_tensor.h"
#include "targets/kernel_calls.h"
#include "transforms/validate.h"

namespace layline {
namespace {

/// The ops after the rules, constants left out, each as `op[shape]`; they mean what they meant.
std::vector<std::string> ops(std::string_view body) {
  Graph graph =
      parse_graph(fmt::format("graph \"test\" {{\n{}\noutput \"y\" %y\n}}", body), "test");
  Validator validator(graph, probes(graph));
  legalise_for_kernels(graph);
  verify(graph);
  validator.check(graph, "kernel rules");
  std::vector<std::string> result;
  for (const Node* node : graph) {
    if (node->is(Op::constant)) continue;
    result.push_back(fmt::format("{}{}", name(node->op()), to_string(node->result()->shape())));
  }
  return result;
}

using Ops = std::vector<std::string>;

/// Constant weights are turned around when they are written.
TEST(KernelRules, ProductsWithWeightsAreOfMatrices) {
  const auto linear = [](std::string_view operands, std::string_view attributes) {
    return ops(
        fmt::format("input \"x\" %x : f32[2,5,3] %w = constant() {{ data = f32[2,3] "
                    "(1,2,3,4,5,6) }} %b = constant() {{ data = f32[2] (1,-2) }} "
                    "%y = linear({}) {{ {} }}",
                    operands, attributes));
  };
  EXPECT_EQ(linear("%x, %w", ""), (Ops{"relayout[10,3]", "matmul[10,2]", "relayout[2,5,2]"}));
  EXPECT_EQ(
      linear("%x, %w, %b", "bounds = [-1,2]"),
      (Ops{"relayout[10,3]", "matmul[10,2]", "add[10,2]", "relayout[2,5,2]", "clamp[2,5,2]"}));
}

TEST(KernelRules, ProductsAreOfTwoMatricesOrTwoLists) {
  const auto product = [](std::string_view a, std::string_view b, std::string_view dtype = "f32") {
    return ops(fmt::format("input \"a\" %a : {2}{0} input \"b\" %b : {2}{1} %y = matmul(%a, %b)", a,
                           b, dtype));
  };
  EXPECT_EQ(product("[2,3]", "[3,4]"), Ops{"matmul[2,4]"});
  EXPECT_EQ(product("[5,2,3]", "[5,3,4]"), Ops{"matmul[5,2,4]"});
  EXPECT_EQ(product("[5,2,3]", "[1,3,4]"), (Ops{"expand[5,3,4]", "matmul[5,2,4]"}));
  // No kernel takes u16, and no rule makes it one that does.
  EXPECT_EQ(product("[2,3]", "[3,4]", "u16"), Ops{"matmul[2,4]"});
  EXPECT_EQ(product("[5,2,3]", "[5,3,4]", "u16"), Ops{"matmul[5,2,4]"});
}

/// Attributes of a pool of 3 x 3 over 5 x 5.
Ops pooled(std::string_view op, std::string_view low, std::string_view high,
           std::string_view more = "dilation = [1,1]") {
  return ops(
      fmt::format("input \"x\" %x : f32[1,5,5,2] %y = {}(%x) {{ kernel = [3,3], stride = "
                  "[2,2], low = {}, high = {}, {} }}",
                  op, low, high, more));
}

TEST(KernelRules, PoolsArePaddedByAnOpOfItsOwn) {
  EXPECT_EQ(pooled("max_pool", "[1,1]", "[1,1]"), Ops{"max_pool[1,3,3,2]"});
  EXPECT_EQ(pooled("max_pool", "[2,0]", "[0,0]"), (Ops{"pad[1,7,5,2]", "max_pool[1,3,2,2]"}));
  EXPECT_EQ(pooled("max_pool", "[0,0]", "[0,2]"), (Ops{"pad[1,5,7,2]", "max_pool[1,2,3,2]"}));
  EXPECT_EQ(pooled("avg_pool", "[0,1]", "[0,0]"),
            (Ops{"pad[1,5,6,2]", "avg_pool[1,2,2,2]", "mul[1,2,2,2]"}));
  EXPECT_EQ(pooled("avg_pool", "[0,0]", "[1,0]"),
            (Ops{"pad[1,6,5,2]", "avg_pool[1,2,2,2]", "mul[1,2,2,2]"}));
  EXPECT_EQ(pooled("avg_pool", "[0,0]", "[1,0]", "dilation = [1,1], count_padding = true"),
            (Ops{"pad[1,6,5,2]", "avg_pool[1,2,2,2]"}));
}

TEST(KernelRules, PoolsAreClampedByAnOpOfItsOwn) {
  constexpr std::string_view kClamped = "dilation = [1,1], bounds = [-0.1,0.1]";
  EXPECT_EQ(pooled("max_pool", "[0,0]", "[0,0]", kClamped),
            (Ops{"max_pool[1,2,2,2]", "clamp[1,2,2,2]"}));
  EXPECT_EQ(pooled("avg_pool", "[0,0]", "[0,0]", kClamped),
            (Ops{"avg_pool[1,2,2,2]", "clamp[1,2,2,2]"}));
  // An average is clamped when the padding is out of it.
  EXPECT_EQ(pooled("avg_pool", "[0,1]", "[0,0]", kClamped),
            (Ops{"pad[1,5,6,2]", "avg_pool[1,2,2,2]", "mul[1,2,2,2]", "clamp[1,2,2,2]"}));
}

TEST(KernelRules, WhatNoRuleHelpsIsLeft) {
  EXPECT_EQ(pooled("avg_pool", "[0,0]", "[0,0]", "dilation = [2,2]"), Ops{"avg_pool[1,1,1,2]"});
  EXPECT_EQ(ops("input \"x\" %x : u16[2,3] %y = reduce_prod(%x) { axes = [1] }"),
            Ops{"reduce_prod[2,1]"});
}

/// x * clamp(x + 3, 0, 6) / 6, beyond and between the places where it bends.
TEST(KernelRules, AHardswishBendsAtThree) {
  Graph graph = parse_graph(
      "graph \"t\" { input \"x\" %x : f32[6] %y = hardswish(%x) output \"y\" %y }", "test");
  EXPECT_TRUE(legalise_for_kernels(graph));
  const std::vector<Tensor> inputs = {f32({6}, {-6, -3, -1, 1, 3, 12})};
  expect_near(evaluate(graph, inputs)[0], f32({6}, {0, 0, -1. / 3, 2. / 3, 3, 12}), 1e-6);
}

/// The zero point that fits the upper end is rounded once, and not before it is shifted.
TEST(KernelRules, ABalancedZeroPointIsRoundedOnce) {
  const auto zero_point = [](std::string_view more) {
    Graph graph = parse_graph(
        fmt::format("graph \"t\" {{ input \"x\" %x : f32[2] %y = choose_zero_point(%x) {{ axes = "
                    "[0], min = -127{} }} output \"y\" %y }}",
                    more),
        "test");
    EXPECT_TRUE(legalise_for_kernels(graph));
    const std::vector<Tensor> inputs = {f32({2}, {-100.5, 153.5})};
    return evaluate(graph, inputs)[0].get(0);
  };
  // The scale is 1: -127 - round(-100.5), and round(-127 + 100.5), ties to even.
  EXPECT_EQ(zero_point(""), -27);
  EXPECT_EQ(zero_point(", balanced = true"), -26);
}

}  // namespace
}  // namespace layline

#include "ir/finite.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace layline {
namespace {

/// The condition that `lines` compute as %c, from the input %x, the scores %s, which are finite,
/// and minus infinity, %low.
std::optional<bool> truth_of(const std::string& lines) {
  const std::string text = R"(graph "test" {
  input "x" %x : f32[2,3]
  %w = constant() { data = f32[3,3] (1, 2, 3, 4, 5, 6, 7, 8, 9) }
  %s = linear(%x, %w)
  %low = constant() { data = f32[] (-inf) }
)" + lines + R"(
  output "c" %c
})";
  const Graph graph = parse_graph(text, "test.lay");
  return known_truth(graph.outputs()[0].value);
}

TEST(Finite, ScoresAreNeverMinusInfinity) {
  EXPECT_EQ(truth_of("%c = equal(%s, %low)"), false);
  EXPECT_EQ(truth_of("%c = equal(%low, %s)"), false);
  EXPECT_EQ(truth_of("%e = equal(%s, %low)\n%c = logical_not(%e)"), true);
  EXPECT_EQ(truth_of("%d = add(%s, %s)\n%e = equal(%d, %low)\n%c = reduce_all(%e) { axes = [1] }"),
            false);
}

TEST(Finite, InputsMayBe) {
  EXPECT_EQ(truth_of("%c = equal(%x, %low)"), std::nullopt);
  EXPECT_EQ(truth_of("%d = add(%x, %s)\n%c = equal(%d, %low)"), std::nullopt);
  EXPECT_EQ(truth_of("%l = log(%s)\n%c = equal(%l, %low)"), std::nullopt);
}

/// torch's test for a row without any key, with a constant mask added to the scores.
std::optional<bool> hidden_row(const std::string& mask, int axis = 1) {
  return truth_of("%mask = constant() { data = " + mask + R"( }
  %d = add(%s, %mask)
  %e = equal(%d, %low)
  %n = logical_not(%e)
  %a = reduce_any(%n) { axes = [)" +
                  std::to_string(axis) + R"(] }
  %c = logical_not(%a))");
}

TEST(Finite, MaskThatLeavesSomethingInEachRow) {
  EXPECT_EQ(hidden_row("f32[2,3] (0, -inf, -inf, 0, 0, -inf)"), false);
  EXPECT_EQ(hidden_row("f32[3] (0, -inf, -inf)"), false);
  EXPECT_EQ(hidden_row("f32[2,1] (0, 1)"), false);
}

TEST(Finite, MaskThatHidesARow) {
  EXPECT_EQ(hidden_row("f32[2,3] (0, -inf, -inf, -inf, -inf, -inf)"), std::nullopt);
  EXPECT_EQ(hidden_row("f32[2,1] (0, -inf)"), std::nullopt);
  EXPECT_EQ(hidden_row("f32[2,3] (0, -inf, -inf, 0, 0, -inf)", 0), std::nullopt);
}

TEST(Finite, NanComesOfHiddenRowsAndDivisions) {
  const Graph graph = parse_graph(R"(graph "test" {
  input "x" %x : f32[2,2]
  %mask = constant() { data = f32[2,2] (0, 0, -inf, -inf) }
  %hidden = add(%x, %mask)
  %weights = softmax(%hidden) { axis = 1 }
  %mixed = matmul(%weights, %x)
  %quotient = div(%x, %x)
  %plain = softmax(%x) { axis = 1 }
  output "mixed" %mixed
  output "quotient" %quotient
  output "plain" %plain
})",
                                  "test.lay");
  EXPECT_TRUE(may_be_nan(graph.outputs()[0].value));
  EXPECT_TRUE(may_be_nan(graph.outputs()[1].value));
  EXPECT_FALSE(may_be_nan(graph.outputs()[2].value));
}

}  // namespace
}  // namespace layline

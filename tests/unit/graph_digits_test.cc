// Where ops cut the values of a graph, and what they do not look into.
#include "layout/graph_digits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "layout/candidates.h"

namespace layline {
namespace {

/// The digits of a value, "4 2 3", or "3 2 | 2 3" where its cuts do not go together; with a
/// question mark if nothing is proved with them.
std::string digits_of(std::string_view name, const std::string& body) {
  const Graph graph = parse_graph("graph \"test\" {\n" + body + "\n}\n", "test");
  const TargetOrders target;
  const PlacementLimits limits;
  const Candidates candidates(graph, target, limits);
  const auto found = find_cuts(candidates.problem());
  for (ValueIndex v : found.indices()) {
    const Value& value = *candidates.problem().values[v].root;
    if (value.name() != name) continue;
    std::string text;
    for (const Dims& digits : digits_between(found[v].cuts, element_count(value.shape()))) {
      if (!text.empty()) text += " | ";
      for (size_t i = 0; i < digits.size(); ++i) text += (i == 0 ? "" : " ") + to_string(digits[i]);
    }
    return text + (found[v].complete ? "" : "?");
  }
  return "no value";
}

/// %x is [8,3], of which somebody takes every other row; %y is what an op makes of it. Whether the
/// pairs of rows can be told apart in %y, too, depends on the op.
std::string result_digits(std::string_view node) {
  return digits_of("y", fmt::format("input \"x\" %x : f32[8,3]\n"
                                    "input \"z\" %z : f32[6,3]\n"
                                    "%y = {}\n"
                                    "%pairs = relayout(%x) {{ relayout = [8,3] (4,2,3)->(1,0,2) "
                                    "[2,4,3] }}\n"
                                    "%n = neg(%pairs)\n"
                                    "output \"y\" %y\noutput \"n\" %n",
                                    node));
}

TEST(GraphDigits, OpsFollowACutWhereTheyTakeWholePieces) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"neg(%x)", "4 2 3"},
      {"slice(%x) { start = [2,0], size = [4,3], step = [1,1] }", "2 2 3"},
      {"slice(%x) { start = [1,0], size = [4,3], step = [1,1] }", "4 3"},
      {"slice(%x) { start = [2,0], size = [5,3], step = [1,1] }", "5 3"},
      {"slice(%x) { start = [0,0], size = [4,3], step = [2,1] }", "4 3"},
      {"pad(%x) { low = [2,0], high = [4,0], mode = constant, value = 0 }", "7 2 3"},
      {"pad(%x) { low = [1,0], high = [4,0], mode = constant, value = 0 }", "13 3"},
      {"pad(%x) { low = [2,0], high = [3,0], mode = constant, value = 0 }", "13 3"},
      {"pad(%x) { low = [2,0], high = [4,0], mode = reflect }", "14 3"},
      {"roll(%x) { axes = [0], shifts = [2] }", "4 2 3"},
      {"roll(%x) { axes = [0], shifts = [3] }", "8 3"},
      {"roll(%x) { axes = [1], shifts = [1] }", "4 2 3"},
      {"roll(%x) { axes = [1,0], shifts = [1,2] }", "4 2 3"},
      {"roll(%x) { axes = [1,0], shifts = [2,1] }", "8 3"},
      {"concat(%x, %z) { axis = 0 }", "7 2 3"},
      {"concat(%x, %x) { axis = 0 }", "2 4 2 3"},
      {"flip(%x) { axes = [0] }", "4 2 3"},
      {"cumsum(%x) { axis = 0 }", "8 3"},
      {"cumsum(%x) { axis = 1 }", "4 2 3"},
      {"softmax(%x) { axis = 0 }", "4 2 3"},
      {"reduce_sum(%x) { axes = [0] }", "3"},
      {"reduce_sum(%x) { axes = [1] }", "4 2"},
  };
  for (const auto& [node, expected] : cases) EXPECT_EQ(result_digits(node), expected) << node;
}

TEST(GraphDigits, PartsOfAnAxisAreOneDigit) {
  const auto with = [](std::string_view node) {
    return digits_of("x",
                     fmt::format("input \"x\" %x : f32[12,3]\n%y = {}\noutput \"y\" %y", node));
  };
  EXPECT_EQ(with("neg(%x)"), "36");
  // The rest of an axis that is cut into equal parts: which part it is, and what is in it.
  EXPECT_EQ(with("slice(%x) { start = [4,0], size = [4,3], step = [1,1] }"), "3 4 3");
  EXPECT_EQ(with("slice(%x) { start = [6,0], size = [4,3], step = [1,1] }"), "6 2 3");
  EXPECT_EQ(with("slice(%x) { start = [4,0], size = [6,3], step = [1,1] }"), "6 2 3");
  EXPECT_EQ(with("slice(%x) { start = [1,0], size = [4,3], step = [1,1] }"), "12 3");
  EXPECT_EQ(with("slice(%x) { start = [4,0], size = [4,3], step = [2,1] }"), "12 3");
  EXPECT_EQ(with("slice(%x) { start = [0,1], size = [12,1], step = [1,1] }"), "12 3");
  EXPECT_EQ(with("concat(%x, %x) { axis = 0 }"), "12 3");
}

TEST(GraphDigits, NeighboursAreToldApartWhereTheyDiffer) {
  const auto with = [](std::string_view others, std::string_view node) {
    return digits_of("x", fmt::format("input \"x\" %x : f32[2,3,4,5]\n{}\n%y = {}\n"
                                      "output \"y\" %y",
                                      others, node));
  };
  EXPECT_EQ(with("", "softmax(%x) { axis = 2 }"), "6 4 5");
  EXPECT_EQ(with("", "normalize(%x) { axes = [1,2], eps = 1 }"), "2 12 5");
  EXPECT_EQ(with("", "reduce_sum(%x) { axes = [2,3] }"), "6 20");
  EXPECT_EQ(with("", "argmax(%x) { axis = 0 }"), "2 60");
  EXPECT_EQ(with("", "flip(%x) { axes = [1,2] }"), "2 3 4 5");
  EXPECT_EQ(with("input \"z\" %z : f32[3,1,1]", "add(%x, %z)"), "2 3 20");
  EXPECT_EQ(with("input \"z\" %z : f32[4,5]", "add(%x, %z)"), "6 20");
  EXPECT_EQ(with("input \"z\" %z : f32[2,3,5,7]", "matmul(%x, %z)"), "6 4 5");
  EXPECT_EQ(with("input \"z\" %z : f32[7,5]", "linear(%x, %z)"), "24 5");
}

TEST(GraphDigits, CutsThatDoNotAgreeAreBothFollowed) {
  const std::string cuts =
      "input \"x\" %x : f32[6]\n"
      "%a = relayout(%x) { relayout = [6] (2,3)->(1,0) [6] }\n%b = neg(%a)\n"
      "output \"b\" %b\n";
  EXPECT_EQ(digits_of("x", cuts), "2 3");
  EXPECT_EQ(digits_of("b", cuts), "3 2");
  const std::string both = cuts +
                           "%c = relayout(%x) { relayout = [6] (3,2)->(1,0) [6] }\n%d = neg(%c)\n"
                           "output \"d\" %d";
  EXPECT_EQ(digits_of("x", both), "2 3 | 3 2");
  // Two inputs of one op that are cut in different ways: each follows the other.
  const std::string op =
      "input \"x\" %x : f32[6]\ninput \"z\" %z : f32[6]\n"
      "%a = relayout(%x) { relayout = [6] (2,3)->(1,0) [6] }\n%b = neg(%a)\n"
      "%c = relayout(%z) { relayout = [6] (3,2)->(1,0) [6] }\n%d = neg(%c)\n"
      "%y = add(%x, %z)\noutput \"b\" %b\noutput \"d\" %d\noutput \"y\" %y";
  EXPECT_EQ(digits_of("x", op), "2 3 | 3 2");
  EXPECT_EQ(digits_of("y", op), "2 3 | 3 2");
  EXPECT_EQ(digits_of("z", op), "3 2 | 2 3");
}

TEST(GraphDigits, OfStatesAndOfNothing) {
  const std::string state =
      "input \"x\" %x : f32[2,3]\nstate \"s\" %s = f32[2,3] splat 0\n"
      "%y = add(%x, %s)\n%z = neg(%x)\noutput \"z\" %z\nwrite %y to %s";
  EXPECT_EQ(digits_of("s", state), "6");
  EXPECT_EQ(digits_of("y", state), "6");
  EXPECT_EQ(digits_of("z", state), "6");
  EXPECT_EQ(digits_of("x",
                      "input \"x\" %x : f32[0,3]\ninput \"z\" %z : f32[2,3]\n"
                      "%y = concat(%x, %z) { axis = 0 }\noutput \"y\" %y"),
            "0");
  EXPECT_EQ(digits_of("y",
                      "input \"x\" %x : f32[0,3]\ninput \"z\" %z : f32[2,3]\n"
                      "%y = concat(%x, %z) { axis = 0 }\noutput \"y\" %y"),
            "2 3");
  EXPECT_EQ(digits_of("x", "input \"x\" %x : f32[1,1]\n%y = neg(%x)\noutput \"y\" %y"), "");
}

TEST(GraphDigits, OfAStateAreThoseOfWhatIsWrittenToIt) {
  const std::string state =
      "input \"x\" %x : f32[2,3]\nstate \"s\" %s = f32[2,3] splat 0\n"
      "%y = add(%x, %s)\n%t = relayout(%y) { relayout = [2,3] (2,3)->(1,0) [3,2] }\n"
      "%z = neg(%t)\noutput \"z\" %z\nwrite %y to %s";
  for (const char* value : {"s", "x", "y"}) EXPECT_EQ(digits_of(value, state), "2 3") << value;
}

TEST(GraphDigits, MoreCutsThanCanBeToldApartProveNothing) {
  // Every divisor of 5040 but itself and 1: 58 cuts.
  std::string body = "input \"x\" %x : f32[5040]\n";
  for (int64_t d = 2; d < 5040; ++d)
    if (5040 % d == 0)
      body += fmt::format(
          "%a{0} = relayout(%x) {{ relayout = [5040] ({0},{1})->(1,0) [5040] }}\n"
          "output \"a{0}\" %a{0}\n",
          d, 5040 / d);
  EXPECT_TRUE(digits_of("x", body).ends_with("?"));
}

TEST(GraphDigits, MoveWithARelayout) {
  const auto moved = [](const Cuts& cuts, const char* relayout) {
    return moved_cuts(cuts, parse_relayout(relayout));
  };
  EXPECT_EQ(moved({4, 12}, "[6,4] (6,4)->(1,0) [4,6]"), (Cuts{6, 3}));
  EXPECT_EQ(moved({2}, "[6,4] (6,4)->(1,0) [4,6]"), (Cuts{6, 12}));
  EXPECT_EQ(moved({4, 12}, "[6,4] -> [24]"), (Cuts{4, 12}));
  EXPECT_EQ(moved({}, "[6,4] (6,4)->(1,0) [4,6]"), (Cuts{6}));
  EXPECT_EQ(moved({3}, "[6] (3,2)->(1,0) [6]"), (Cuts{3})) << "the relayout's own";
  EXPECT_EQ(moved({2}, "[6] (2,3)->(1,0) [6]"), (Cuts{2})) << "the relayout's own";
  EXPECT_EQ(moved_cuts({}, Relayout::identity({0, 3})), Cuts{});
}

TEST(GraphDigits, LieBetweenCuts) {
  using All = std::vector<Dims>;
  EXPECT_EQ(digits_between({2, 4}, 24), (All{{6, 2, 2}}));
  EXPECT_EQ(digits_between({4, 2}, 24), (All{{6, 2, 2}}));
  EXPECT_EQ(digits_between({2, 3}, 6), (All{{3, 2}, {2, 3}}));
  EXPECT_EQ(digits_between({2, 3, 6}, 12), (All{{2, 3, 2}, {2, 2, 3}}));
  EXPECT_EQ(digits_between({2, 3, 4}, 12), (All{{3, 2, 2}, {4, 3}}));
  EXPECT_EQ(digits_between({}, 12), (All{{12}}));
  EXPECT_EQ(digits_between({}, 1), (All{{}}));
}

}  // namespace
}  // namespace layline

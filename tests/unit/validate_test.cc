// Translation validation itself: what graphs are tried with, what may differ, and what may not.
#include "transforms/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ir/text.h"
#include "make_tensor.h"
#include "transforms/rounding.h"

namespace layline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Graph graph_of(const std::string& body) {
  return parse_graph("graph \"g\" {\n" + body + "\n}", "test");
}

double least(const Tensor& tensor) {
  double result = kInfinity;
  for (int64_t i = 0; i < tensor.count(); ++i) result = std::min(result, tensor.get(i));
  return result;
}
double greatest(const Tensor& tensor) {
  double result = -kInfinity;
  for (int64_t i = 0; i < tensor.count(); ++i) result = std::max(result, tensor.get(i));
  return result;
}
bool is_whole(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.get(i) != std::round(tensor.get(i))) return false;
  return true;
}

// ---- probes ----

TEST(Probes, AreIntegersForOpsThatAreExactInThem) {
  const char* conv_attributes = "{ stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0] }";
  const std::string exact[] = {
      "add(%x, %x)",
      "sub(%x, %x)",
      "mul(%x, %x)",
      "clamp(%x) { bounds = [-1,2] }",
      "minimum(%x, %x)",
      "maximum(%x, %x)",
      "neg(%x)",
      "abs(%x)",
      "matmul(%x, %x) { transpose_b = true }",
      "linear(%x, %w)",
      fmt::format("conv(%x, %k) {}", conv_attributes),
      "conv_transpose(%x, %k) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0], "
      "extra = [0,0] }",
      "max_pool(%x) { kernel = [2,2], stride = [1,1], dilation = [1,1], low = [0,0], "
      "high = [0,0] }",
      "reduce_sum(%x) { axes = [1] }",
      "reduce_max(%x) { axes = [1] }",
      "reduce_min(%x) { axes = [1] }",
      "cumsum(%x) { axis = 1 }",
      "flip(%x) { axes = [1] }",
      "concat(%x, %x) { axis = 1 }",
      "relayout(%x) { relayout = [1,5,4,3] -> [20,3] }",
  };
  const std::string rounded[] = {
      "exp(%x)",
      "div(%x, %x)",
      "tanh(%x)",
      "reduce_mean(%x) { axes = [1] }",
      "softmax(%x) { axis = 1 }",
      "avg_pool(%x) { kernel = [2,2], stride = [1,1], dilation = [1,1], low = [0,0], "
      "high = [0,0] }",
  };
  const auto probe = [](const std::string& op) {
    const Graph graph = graph_of(
        "input \"x\" %x : f32[1,5,4,3]\n"
        "%w = constant() { data = f32[2,3] splat 1 }\n"
        "%k = constant() { data = f32[2,1,1,3] splat 1 }\n%y = " +
        op + "\noutput \"y\" %y");
    return probes(graph).at(0);
  };
  for (const std::string& op : exact) EXPECT_TRUE(is_whole(probe(op))) << op;
  for (const std::string& op : rounded) EXPECT_FALSE(is_whole(probe(op))) << op;
}

TEST(Probes, AreSmall) {
  const Tensor whole = probes(graph_of("input \"x\" %x : f32[500]\noutput \"y\" %x")).at(0);
  EXPECT_EQ(least(whole), -4);
  EXPECT_EQ(greatest(whole), 4);
  const Tensor real =
      probes(graph_of("input \"x\" %x : f32[500]\n%y = tanh(%x)\noutput \"y\" %y")).at(0);
  EXPECT_GE(least(real), -2);
  EXPECT_LT(least(real), -1.9);
  EXPECT_LE(greatest(real), 2);
  EXPECT_GT(greatest(real), 1.9);
}

TEST(Probes, AreRealWhereAnyOpRounds) {
  const Graph graph =
      graph_of("input \"x\" %x : f32[9]\n%t = exp(%x)\n%y = neg(%t)\noutput \"y\" %y");
  const Tensor probe = probes(graph).at(0);
  EXPECT_FALSE(is_whole(probe));
  for (int64_t i = 0; i < probe.count(); ++i) EXPECT_NE(probe.get(i), 0) << i;
}

TEST(Probes, AreNotMadeForArgumentsThatAreFixed) {
  const Graph graph = graph_of(
      "input \"k\" fixed int 3\ninput \"x\" %x : f32[9]\ninput \"m\" fixed none\noutput \"y\" %x");
  EXPECT_EQ(probes(graph).size(), 1u);
}

/// The first and last of many integer probes.
std::pair<double, double> integers_for(const std::string& body) {
  const std::vector<Tensor> inputs =
      probes(graph_of("input \"i\" %i : i64[200]\ninput \"x\" %x : f32[3,4,9]\n" + body));
  return {least(inputs.at(0)), greatest(inputs.at(0))};
}

TEST(Probes, IntegersMayBeIndices) {
  using Range = std::pair<double, double>;
  const std::string pick = "output \"i\" %i\n";
  EXPECT_EQ(integers_for(pick), Range(0, 4));
  const auto gather = [](int axis) {
    return fmt::format("%y = gather(%x, %i) {{ axis = {} }}\noutput \"y\" %y", axis);
  };
  EXPECT_EQ(integers_for(gather(0)), Range(0, 2));
  EXPECT_EQ(integers_for(gather(1)), Range(0, 3));
  EXPECT_EQ(integers_for(gather(2)), Range(0, 4));
  // Of a single place there is one index.
  EXPECT_EQ(integers_for("%one = slice(%x) { start = [0,0,0], size = [1,4,9], step = [1,1,1] }\n"
                         "%y = gather(%one, %i) { axis = 0 }\noutput \"y\" %y"),
            Range(0, 0));
  // Whatever else is gathered from, the shortest counts.
  EXPECT_EQ(integers_for(gather(0) + "\n%z = gather(%x, %i) { axis = 2 }\noutput \"z\" %z"),
            Range(0, 2));
  // Single elements are gathered along one axis, too.
  EXPECT_EQ(integers_for("%v = slice(%x) { start = [0,0,0], size = [2,4,9], step = [1,1,1] }\n"
                         "%w = relayout(%v) { relayout = [2,4,9] -> [2,36] }\n"
                         "%p = slice(%w) { start = [0,0], size = [2,1], step = [1,1] }\n"
                         "%l = relayout(%p) { relayout = [2,1] -> [2] }\n"
                         "%y = gather_elements(%l, %i) { axis = 0 }\noutput \"y\" %y"),
            Range(0, 1));
  // What is scattered to may be a view: indices fit in all axes of what it is a view of.
  for (const char* op : {"scatter_elements", "scatter_add"})
    EXPECT_EQ(integers_for(fmt::format("%v = relayout(%x) {{ relayout = [3,4,9] -> [108] }}\n"
                                       "%u = constant() {{ data = f32[200] splat 1 }}\n"
                                       "%y = {}(%v, %i, %u) {{ axis = 0 }}\noutput \"y\" %y",
                                       op)),
              Range(0, 2))
        << op;
  // A part of it is no view.
  EXPECT_EQ(integers_for("%v = relayout(%x) { relayout = [3,4,9] -> [108] }\n"
                         "%p = slice(%v) { start = [0], size = [50], step = [1] }\n"
                         "%u = constant() { data = f32[200] splat 1 }\n"
                         "%y = scatter_add(%p, %i, %u) { axis = 0 }\noutput \"y\" %y"),
            Range(0, 4));
}

TEST(Probes, SizesDifferAndStayInRange) {
  const Graph graph = graph_of(R"(
    symbol s1 "a" in [1,16]
    symbol s2 "b" in [1,16]
    symbol s3 "least" in [7,16]
    symbol s4 "most" in [1,3]
    symbol s5 = "s1+1"
    input "a" %a : f32[s1]
    input "b" %b : f32[s2,s5]
    input "c" %c : f32[s3]
    input "d" %d : f32[s4]
    output "y" %a)");
  const auto shapes = [&](int round) {
    std::vector<Shape> result;
    for (const Tensor& tensor : probes(graph, round)) result.push_back(tensor.type().shape);
    return result;
  };
  EXPECT_EQ(shapes(0), (std::vector<Shape>{{2}, {3, 3}, {7}, {3}}));
  EXPECT_EQ(shapes(1), (std::vector<Shape>{{5}, {6, 6}, {7}, {3}}));
  EXPECT_EQ(shapes(2), (std::vector<Shape>{{8}, {9, 9}, {10}, {3}}));
}

TEST(Probes, AreTheSameEveryTime) {
  const Graph graph = graph_of("input \"x\" %x : f32[9]\n%y = tanh(%x)\noutput \"y\" %y");
  expect_near(probes(graph).at(0), probes(graph).at(0), 0);
}

// ---- first_difference, rounds ----

TEST(FirstDifference, IsMeasuredByTheLargestFiniteElement) {
  const auto at = [](const std::vector<double>& expected, const std::vector<double>& actual,
                     double rounding = 0) {
    const auto count = static_cast<int64_t>(expected.size());
    return first_difference(f32({count}, expected), f32({count}, actual), 0.125, rounding);
  };
  EXPECT_EQ(at({1, 2, -8}, {1, 2, -8}), -1);
  EXPECT_EQ(at({1, 2, -8}, {2, 1, -7}), -1);  // an eighth of 8
  EXPECT_EQ(at({1, 2, -8}, {1, 3.5, -6}), 1);
  EXPECT_EQ(at({1, 2, -8}, {1, 2, -6}), 2);
  EXPECT_EQ(at({0.5}, {0.6}), 0);
  EXPECT_EQ(at({1, 2, -8}, {1, 3.5, -8}, 1.5), -1);
  EXPECT_EQ(at({1, 2, -8}, {1, 3.5, -8}, 1.25), 1);
  EXPECT_EQ(at({0, kInfinity}, {0, kInfinity}), -1);
  EXPECT_EQ(at({0, kInfinity}, {1, kInfinity}), 0);  // infinity is no measure
  EXPECT_EQ(at({8, kInfinity}, {8, -kInfinity}), 1);
  EXPECT_EQ(at({8, kNaN}, {8, kNaN}), -1);
  EXPECT_EQ(at({8, kNaN}, {8, 1}), 1);
  EXPECT_EQ(at({8, 1}, {8, kNaN}), 1);
  EXPECT_EQ(first_difference(i64({2}, {100, 5}), i64({2}, {100, 6}), 0.125, 10), 1);
  EXPECT_EQ(first_difference(i64({2}, {100, 5}), i64({2}, {100, 5}), 0.125), -1);
}

TEST(Rounds, WhereNumbersAreRoundedOnTheWay) {
  const std::string input = "input \"x\" %x : f32[2,3]\n";
  const std::string weight =
      "%w = constant() { data = i8[2,3] splat 1, quantisation = i8 in [-8,7] scale f32[] (0.1) }\n";
  const auto of = [&](const std::string& body) {
    return rounds(graph_of(input + weight + body + "\noutput \"y\" %y"));
  };
  EXPECT_FALSE(of("%y = tanh(%x)"));
  EXPECT_FALSE(of("%y = linear(%x, %w)"));  // integers that are there, not made
  EXPECT_TRUE(of("%y = linear(%x, %w) { dynamic = true }"));
  EXPECT_TRUE(of("%y = round(%x)"));
  EXPECT_TRUE(of("%y = quantize(%x) { quantisation = i8 in [-8,7] scale f32[] (0.1) }"));
  EXPECT_TRUE(
      of("%s = constant() { data = f32[] (1) }\n%z = constant() { data = i32[] (0) }\n"
         "%q = quantize_by(%x, %s, %z)\n%y = dequantize_by(%q, %s, %z)"));
}

// ---- Validator ----

/// A graph whose output is what it is told, of a dtype: with `op` of the input, which is 0, added.
Graph constant_graph(const std::string& numbers, const std::string& op,
                     const std::string& dtype = "f32") {
  return graph_of(
      fmt::format("input \"x\" %x : {0}[1]\n%c = constant() {{ data = {0}{1} }}\n"
                  "%z = {2}\n%y = add(%c, %z)\noutput \"y\" %y",
                  dtype, numbers, op));
}

/// The message where the second graph follows on the first, or nothing. Inputs are `number`.
std::string refusal(const Graph& before, const Graph& after, double number = 0) {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : before.inputs()) {
    Tensor& tensor = inputs.emplace_back(input.value->type());
    for (int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, number);
  }
  Validator validator(before, std::move(inputs));
  try {
    validator.check(after, "some_pass");
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

/// 1 and then `others`, of 100 numbers; the rest are 0.
std::string numbers(std::vector<double> first) {
  first.resize(100);
  return fmt::format("[100] ({})", fmt::join(first, ", "));
}

TEST(Validator, AGraphThatRoundsMayBeAFewStepsOff) {
  const auto refused = [](std::vector<double> before, std::vector<double> after,
                          const std::string& op = "round(%x)") {
    return !refusal(constant_graph(numbers(std::move(before)), op),
                    constant_graph(numbers(std::move(after)), op))
                .empty();
  };
  EXPECT_FALSE(refused({1}, {1, 0.0499}));
  EXPECT_TRUE(refused({1}, {1, 0.0501}));      // one is off by more than a twentieth
  EXPECT_FALSE(refused({-1}, {-1, -0.0499}));  // of -1
  EXPECT_FALSE(refused({1}, {1, 0.049, 0.049}));
  EXPECT_TRUE(refused({1}, {1, 0.049, 0.049, 0.049}));  // more than a thousandth on average
  EXPECT_TRUE(refused({1}, {1, 0.049}, "neg(%x)"));     // nothing rounds
  EXPECT_FALSE(refused({1}, {1, 0.00005}, "neg(%x)"));
  EXPECT_TRUE(refused({0.1}, {0.1, 0.04}));
  EXPECT_TRUE(refused({kInfinity, 1}, {kInfinity, 1, 0.01}));
  EXPECT_TRUE(refused({kInfinity, 1}, {0, 1}));
  EXPECT_TRUE(refused({1, 1}, {kNaN, 1}));
  EXPECT_FALSE(refused({kInfinity, 1}, {kInfinity, 1}));
}

TEST(Validator, IntegersMayBeAStepOffWhereTheyAreRounded) {
  const auto refused = [](std::vector<double> after, bool rounds) {
    const auto graph = [&](std::vector<double> values) {
      return graph_of(
          fmt::format("input \"x\" %x : f32[1]\n%r = {}(%x)\n"
                      "%c = constant() {{ data = i32{} }}\n"
                      "%z = convert(%r) {{ to = i32 }}\n"
                      "%y = add(%c, %z)\noutput \"y\" %y",
                      rounds ? "round" : "neg", numbers(std::move(values))));
    };
    return !refusal(graph({3}), graph(std::move(after))).empty();
  };
  EXPECT_FALSE(refused({3, 1}, true));
  EXPECT_FALSE(refused({3, 1, -1}, true));
  EXPECT_TRUE(refused({3, 1, 1, 1}, true));
  EXPECT_TRUE(refused({3, 2}, true));
  EXPECT_TRUE(refused({3, 1}, false));
}

TEST(Validator, SaysWhatIsDifferent) {
  const auto text = [](const std::string& body) {
    return graph_of("input \"x\" %x : f32[2]\n" + body);
  };
  EXPECT_EQ(refusal(text("%y = exp(%x)\noutput \"y\" %y"),
                    text("%y = exp(%x)\n%z = concat(%y, %y) { axis = 0 }\noutput \"y\" %z")),
            "pass some_pass changes output y from f32[2] to f32[4]");
  EXPECT_EQ(refusal(text("%y = exp(%x)\noutput \"a\" %y\noutput \"b\" %y"),
                    text("%y = exp(%x)\noutput \"a\" %y\noutput \"b\" %x")),
            "pass some_pass changes output b: element 0 is 0 instead of 1");
  EXPECT_EQ(refusal(text("%y = exp(%x)\noutput \"y\" %y"), text("%y = cos(%x)\noutput \"y\" %y")),
            "");
}

TEST(Validator, RoundingExplainsWhatCancelsOut) {
  // 1000 + x - 1000: of x = 0 a hundredth may be left, and not a tenth.
  const auto graph = [](const char* second) {
    return graph_of(
        fmt::format("input \"x\" %x : f32[1]\n"
                    "%a = constant() {{ data = f32[] (1000) }}\n"
                    "%b = constant() {{ data = f32[] ({}) }}\n"
                    "%s = add(%x, %a)\n%y = sub(%s, %b)\noutput \"y\" %y",
                    second));
  };
  EXPECT_EQ(refusal(graph("1000"), graph("1000.005")), "");
  EXPECT_NE(refusal(graph("1000"), graph("1000.1")), "");
}

TEST(Validator, StepsAreCountedWhateverRoundingMayDo) {
  // Half a step more or less of x = 0.5 is a whole one, but not of all.
  const auto graph = [](const char* number) {
    return graph_of(
        fmt::format("input \"x\" %x : f32[4]\n%r = round(%x)\n"
                    "%c = constant() {{ data = f32[] ({}) }}\n%y = add(%r, %c)\n"
                    "output \"y\" %y",
                    number));
  };
  EXPECT_EQ(refusal(graph("3"), graph("3"), 0.5), "");
  EXPECT_NE(refusal(graph("3"), graph("3.5"), 0.5), "");
}

TEST(Validator, OutputsThatAreFixedAreNotCompared) {
  const auto build = [](Op op) {
    Graph graph("g");
    Value* x = graph.add_input("x", {DType::f32, {2}});
    graph.add_fixed_output("k", int64_t{3});
    graph.add_output("y", graph.add(op, {x}, NoAttrs{}, nullptr));
    return graph;
  };
  EXPECT_EQ(refusal(build(Op::exp), build(Op::cos)), "");
  EXPECT_NE(refusal(build(Op::exp), build(Op::sin)), "");
}

TEST(Validator, TheFirstNodeThatDiffersIsOneOfTheModels) {
  const auto graph = [](const char* first, const char* second) {
    return graph_of(
        fmt::format("input \"x\" %x : f32[2]\n%a = {}(%x) @1\n%b = {}(%a) @2\n"
                    "output \"y\" %b\norigin @1 \"one\" \"m.py:1\" \"\"\n"
                    "origin @2 \"two\" \"m.py:2\" \"\"",
                    first, second));
  };
  // Origins of graphs that were read apart are not the same: nothing can be told.
  EXPECT_EQ(refusal(graph("exp", "neg"), graph("exp", "abs")),
            "pass some_pass changes output y: element 0 is 1 instead of -1");
}

TEST(Validator, NodesOfAnotherTypeOrOfOneRightResultDoNotDiffer) {
  const auto origin = [](const char* name) {
    return std::make_shared<const Origin>(Origin{name, "model.py:1", ""});
  };
  const OriginRef one = origin("one"), two = origin("two");
  const auto build = [&](bool broken) {
    Graph graph("g");
    Value* x = graph.add_input("x", {DType::f32, {2, 2}});
    // One op of the model as two nodes, with results of one type.
    Value* a = graph.add(Op::exp, {x}, NoAttrs{}, one);
    a = graph.add(Op::neg, {a}, NoAttrs{}, one);
    // In the broken graph it has a third, of another type, which tells nothing.
    if (broken) graph.add(Op::reduce_sum, {a}, AxesAttrs{{0}}, one);
    // In the broken graph, the second has a result of another type first.
    if (broken) a = graph.add(Op::reduce_sum, {a}, AxesAttrs{{1}}, two);
    if (broken) a = graph.add(Op::expand, {a}, ShapeAttrs{{2, 2}}, nullptr);
    graph.add_output("y", graph.add(Op::abs, {a}, NoAttrs{}, two));
    return graph;
  };
  EXPECT_EQ(refusal(build(false), build(true)),
            "pass some_pass changes output y: element 0 is 2 instead of 1; the first node that "
            "differs is two (model.py:1)");
}

TEST(Validator, WhatWasRightBeforeIsRemembered) {
  const OriginRef one = std::make_shared<const Origin>(Origin{"one", "model.py:1", ""});
  const auto build = [&](Op op, bool negated) {
    Graph graph("g");
    Value* x = graph.add_input("x", {DType::f32, {2}});
    Value* y = graph.add(op, {x}, NoAttrs{}, one);
    graph.add_output("y", negated ? graph.add(Op::neg, {y}, NoAttrs{}, nullptr) : y);
    return graph;
  };
  // Of x = 0: exp and cos are 1.
  const Graph first = build(Op::exp, false);
  Validator validator(first, {Tensor({DType::f32, {2}})});
  validator.check(build(Op::cos, false), "right");
  try {
    validator.check(build(Op::sin, true), "wrong");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(),
                 "pass wrong changes output y: element 0 is -0 instead of 1; the first node that "
                 "differs is one (model.py:1)");
  }
}

TEST(Validator, StatesAreComparedAsTheyAreInTheModel) {
  const char* text =
      "input \"x\" %x : f32[2,3]\nstate \"sum\" %sum = f32[2,3] (1,2,3,4,5,6)\n"
      "%next = add(%sum, %x)\noutput \"y\" %next\nwrite %next to %sum";
  const Graph graph = graph_of(text);
  Validator validator(graph, {iota({2, 3}), f32({2, 3}, {5, 1, 4, 2, 3, 6})});
  // The state lies the other way round in memory.
  Graph moved = graph_of(text);
  const int order[] = {1, 0};
  const Relayout there = Relayout::permute({2, 3}, order);
  Value* old = moved.inputs()[1].value;
  Value* state = moved.reorder_state(1, there);
  Node* add = moved.first();
  moved.set_insertion_point(add);
  moved.replace_all_uses(old,
                         moved.add(Op::relayout, {state}, RelayoutAttrs{there.inverse()}, nullptr));
  moved.set_insertion_point(nullptr);
  Value* written = moved.add(Op::relayout, {add->result()}, RelayoutAttrs{there}, nullptr);
  moved.set_output(1, written, {});
  validator.check(moved, "moves_state");
}

// ---- rounding_of_outputs ----

double rounding_of(const std::string& body, const Tensor& x) {
  const Graph graph =
      graph_of(fmt::format("input \"x\" %x : {}\n{}\noutput \"y\" %y", to_string(x.type()), body));
  const std::vector<Tensor> inputs = {x};
  return rounding_of_outputs(graph, inputs).at(0);
}

Tensor equal_numbers(int64_t count, double number, DType dtype = DType::f32) {
  Tensor tensor({dtype, {count}});
  for (int64_t i = 0; i < count; ++i) tensor.set(i, number);
  return tensor;
}

TEST(RoundingOfOutputs, EveryResultIsOffByAShare) {
  const Tensor ten = equal_numbers(3, 10);
  // What is only moved is off as the input is: by 1e-5 of it.
  EXPECT_NEAR(rounding_of("%y = flip(%x) { axes = [0] }", ten), 1e-4, 1e-6);
  EXPECT_NEAR(rounding_of("%y = neg(%x)", ten), 2e-4, 2e-6);
  EXPECT_NEAR(rounding_of("%a = neg(%x)\n%y = neg(%a)", ten), 3e-4, 3e-6);
  // Constants are what they are.
  EXPECT_NEAR(rounding_of("%c = constant() { data = f32[] (1) }\n%y = mul(%x, %c)", ten), 2e-4,
              2e-6);
  EXPECT_EQ(rounding_of("%y = constant() { data = f32[3] (1, 2, 3) }", ten), 0);
}

TEST(RoundingOfOutputs, HalfPrecisionIsOffByMore) {
  // A two-thousandth of 1600 is 0.8, where numbers are in steps of 1.
  EXPECT_EQ(rounding_of("%y = flip(%x) { axes = [0] }", equal_numbers(3, 1600, DType::f16)), 1);
}

TEST(RoundingOfOutputs, ErrorsAreTriedAlikeAndApart) {
  // A sum of a thousand is off by all of them only if they are alike.
  EXPECT_GE(rounding_of("%y = reduce_sum(%x) { axes = [0] }", equal_numbers(1000, 1)), 0.0099);
  // A difference of two is off only if they are not.
  EXPECT_NEAR(rounding_of("%f = flip(%x) { axes = [0] }\n%y = sub(%x, %f)", equal_numbers(100, 1)),
              2e-5, 1e-6);
}

TEST(RoundingOfOutputs, IntegersAndInfinitiesAreNotOff) {
  const Tensor integers = i64({3}, {1000000, 2, 3});
  EXPECT_EQ(rounding_of("%y = neg(%x)", integers), 0);
  // Of 1000000, once: when it is made real.
  EXPECT_NEAR(rounding_of("%y = convert(%x) { to = f32 }", integers), 10, 0.1);
  EXPECT_EQ(rounding_of("%y = convert(%x) { to = i32 }", equal_numbers(3, 1e6)), 0);
  EXPECT_EQ(rounding_of("%y = neg(%x)", equal_numbers(3, kInfinity)), 0);
  EXPECT_NEAR(rounding_of("%y = neg(%x)", f32({2}, {kInfinity, 10})), 2e-4, 2e-6);
}

}  // namespace
}  // namespace layline

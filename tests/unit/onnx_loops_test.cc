// Loop and Scan: a few rounds are unrolled, many are loops in the program.
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "../message_of.h"
#include "../onnx_writer.h"
#include "frontend/onnx/import.h"
#include "ir/evaluate.h"
#include "ir/verify.h"

namespace layline::onnx {
namespace {

using List = std::vector<double>;

/// The model with this length, if it leaves one open.
layline::Graph import(const WrittenGraph& graph, std::optional<SizeRange> length = {}) {
  static std::deque<std::string> files;  // graphs use the weights where they lie
  const std::string& bytes = files.emplace_back(model_of(written(graph)));
  ImportOptions options;
  if (length) options.sizes["L"] = *length;
  Imported model = import_model(file_of(bytes), options);
  verify(model.graph);
  return std::move(model.graph);
}

std::string refusal(const WrittenGraph& graph, SizeRange length) {
  return message_of([&] { import(graph, length); });
}

int64_t count(const layline::Graph& graph, Op op) {
  int64_t found = 0;
  for (const layline::Node* node : graph) found += node->is(op);
  return found;
}

/// The body of the graph's first loop.
const layline::Graph* body_in(const layline::Graph& graph) {
  for (const layline::Node* node : graph)
    if (node->is(Op::scan)) return node->attrs<ScanAttrs>().body.graph.get();
  return nullptr;
}

Tensor tensor(Shape shape, const List& numbers) {
  Tensor result({DType::f32, std::move(shape)});
  for (size_t i = 0; i < numbers.size(); ++i) result.set(static_cast<int64_t>(i), numbers[i]);
  return result;
}

List numbers(const Tensor& tensor) {
  List result;
  for (int64_t i = 0; i < tensor.count(); ++i) result.push_back(tensor.get(i));
  return result;
}

List counting(int64_t length) {
  List result;
  for (int64_t i = 0; i < length; ++i) result.push_back(static_cast<double>(i % 7));
  return result;
}

std::string number(const std::string& name, int64_t value) {
  return raw_tensor(name, kInts, {}, bytes_of<int64_t>({value}));
}

/// s = s / 2 + i + x in each of so many rounds; gives the last s, and all of them.
WrittenGraph counted(int64_t rounds) {
  const WrittenGraph body = {
      {{"Mul", {"s", "half"}, {"h"}},
       {"Cast", {"i"}, {"f"}, {integer("to", kFloats)}},
       {"Add", {"h", "f"}, {"g"}},
       {"Add", {"g", "x"}, {"after"}},
       {"Identity", {"after"}, {"each"}},
       {"Identity", {"c"}, {"on"}}},
      {value_info("i", kInts, {}), value_info("c", kBools, {}), value_info("s", kFloats, {1})},
      {value_info("on", kBools, {}), value_info("after", kFloats, {1}),
       value_info("each", kFloats, {1})},
      {floats("half", {1}, {0.5F})}};
  return {{{"Loop", {"rounds", "", "x"}, {"last", "all"}, {onnx::body("body", written(body))}}},
          {value_info("x", kFloats, {1})},
          {value_info("last", kFloats, {1}), value_info("all", kFloats, {rounds, 1})},
          {number("rounds", rounds)}};
}

TEST(OnnxLoops, ManyRoundsAreALoop) {
  for (const int64_t rounds : {3, 15, 16, 5000}) {
    const layline::Graph graph = import(counted(rounds));
    EXPECT_EQ(count(graph, Op::scan), rounds < 16 ? 0 : 2) << rounds;
    List all;
    double s = 3;
    for (int64_t i = 0; i < rounds; ++i)
      all.push_back(s = static_cast<float>(s / 2 + static_cast<double>(i) + 3));
    const Tensor inputs[] = {tensor({1}, {3})};
    const std::vector<Tensor> results = evaluate(graph, inputs);
    EXPECT_EQ(numbers(results[0]), List{s}) << rounds;
    EXPECT_EQ(numbers(results[1]), all) << rounds;
  }
}

/// As tf2onnx writes a layer: a counter is compared with a length, and is the place that is read.
WrittenGraph compared() {
  const WrittenGraph body = {
      {{"Gather", {"x", "n"}, {"e"}},
       {"Relu", {"e"}, {"r"}},
       {"Mul", {"s", "w"}, {"p"}},
       {"Add", {"p", "r"}, {"after"}},
       {"Identity", {"after"}, {"each"}},
       {"Add", {"n", "one"}, {"next"}},
       {"Cast", {"next"}, {"f"}, {integer("to", kFloats)}},
       {"Cast", {"length"}, {"end"}, {integer("to", kFloats)}},
       {"Less", {"f", "end"}, {"on"}}},
      {value_info("i", kInts, {}), value_info("c", kBools, {}), value_info("n", kInts, {}),
       value_info("s", kFloats, {2}), value_info("w", kFloats, {2})},
      {value_info("on", kBools, {}), value_info("next", kInts, {}),
       value_info("after", kFloats, {2}), value_info("w", kFloats, {2}),
       value_info("each", kFloats, {2})},
      {number("one", 1)}};
  return {
      {{"Shape", {"x"}, {"shape"}},
       {"Gather", {"shape", "zero"}, {"length"}},
       {"Less", {"zero", "length"}, {"begins"}},
       {"Loop",
        {"", "begins", "zero", "initial", "weight"},
        {"n", "last", "same", "all"},
        {onnx::body("body", written(body))}}},
      {value_info("x", kFloats, {"L", 2})},
      {value_info("n", kInts, {}), value_info("last", kFloats, {2}),
       value_info("all", kFloats, {"L", 2})},
      {number("zero", 0), floats("initial", {2}, {1, 1}), floats("weight", {2}, {0.5F, 0.25F})}};
}

TEST(OnnxLoops, ACounterThatIsComparedWithALength) {
  for (const SizeRange range : {SizeRange{7, 7}, SizeRange{20, 20}, SizeRange{1, 40}}) {
    const layline::Graph graph = import(compared(), range);
    const layline::Graph* body = body_in(graph);
    ASSERT_EQ(body != nullptr, range.greatest > 7);
    if (body != nullptr) {
      EXPECT_EQ(count(*body, Op::gather), 0);
      EXPECT_EQ(body->inputs().size(), 2U);  // an element and the state; the counter is not carried
      EXPECT_EQ(count(*body, Op::clamp), 0);  // all are computed before
    }
    for (const int64_t length : {range.least, range.greatest}) {
      const List x = counting(2 * length);
      const Tensor inputs[] = {tensor({length, 2}, x)};
      const std::vector<Tensor> results = evaluate(graph, inputs);
      List all, state = {1, 1};
      for (size_t i = 0; i < x.size(); ++i)
        all.push_back(state[i % 2] =
                          static_cast<float>(state[i % 2] * (i % 2 == 0 ? 0.5 : 0.25) + x[i]));
      EXPECT_EQ(results[0].get_int(0), length);
      EXPECT_EQ(numbers(results[1]), state);
      EXPECT_EQ(numbers(results[2]), all);
    }
  }
}

/// s = s / 2 + a - b along the axes and directions of two sequences; gives s, and all s.
WrittenGraph scanned(const std::vector<int64_t>& directions, int64_t output_direction) {
  const WrittenGraph body = {
      {{"Mul", {"s", "half"}, {"h"}},
       {"Add", {"h", "a"}, {"g"}},
       {"Sub", {"g", "b"}, {"after"}},
       {"Identity", {"after"}, {"each"}}},
      {value_info("s", kFloats, {2}), value_info("a", kFloats, {2}), value_info("b", kFloats, {2})},
      {value_info("after", kFloats, {2}), value_info("each", kFloats, {2})},
      {floats("half", {1}, {0.5F})}};
  return {{{"Scan",
            {"initial", "x", "y"},
            {"last", "all"},
            {onnx::body("body", written(body)), integer("num_scan_inputs", 2),
             integers("scan_input_axes", {0, 1}), integers("scan_input_directions", directions),
             integers("scan_output_axes", {-1}),
             integers("scan_output_directions", {output_direction})}}},
          {value_info("x", kFloats, {"L", 2}), value_info("y", kFloats, {2, "L"})},
          {value_info("last", kFloats, {2}), value_info("all", kFloats, {2, "L"})},
          {floats("initial", {2}, {1, 2})}};
}

TEST(OnnxLoops, ScansGoAlongAnyAxisInEitherDirection) {
  for (const std::vector<int64_t>& directions :
       std::vector<std::vector<int64_t>>{{0, 0}, {1, 1}, {0, 1}, {1, 0}})
    for (const int64_t output_direction : {0, 1}) {
      const WrittenGraph model = scanned(directions, output_direction);
      for (const int64_t length : {5, 17}) {
        const layline::Graph fixed = import(model, SizeRange{length, length});
        const layline::Graph dynamic = import(model, SizeRange{1, 40});
        EXPECT_EQ(body_in(fixed) != nullptr, length == 17);
        EXPECT_NE(body_in(dynamic), nullptr);
        const List x = counting(2 * length);
        const auto n = static_cast<size_t>(length);
        List state = {1, 2}, all(2 * n);
        for (size_t i = 0; i < n; ++i)
          for (size_t k = 0; k < 2; ++k) {
            const size_t a = directions[0] != 0 ? n - 1 - i : i;
            const size_t b = directions[1] != 0 ? n - 1 - i : i;
            state[k] = static_cast<float>(state[k] / 2 + x[2 * a + k] - x[k * n + b]);
            all[k * n + (output_direction != 0 ? n - 1 - i : i)] = state[k];
          }
        const Tensor inputs[] = {tensor({length, 2}, x), tensor({2, length}, x)};
        for (const layline::Graph* graph : {&fixed, &dynamic}) {
          const std::vector<Tensor> results = evaluate(*graph, inputs);
          EXPECT_EQ(numbers(results[0]), state);
          EXPECT_EQ(numbers(results[1]), all);
        }
      }
    }
}

/// A Scan over L rows of x that carries `initial` and gives `last`.
WrittenGraph scan_of(const WrittenGraph& body, int64_t columns, const std::string& last,
                     const std::string& initial) {
  return {{{"Scan",
            {"initial", "x"},
            {"last"},
            {onnx::body("body", written(body)), integer("num_scan_inputs", 1)},
            "",
            "scan"}},
          {value_info("x", kFloats, {"L", columns})},
          {last},
          {initial}};
}

/// s = [s, e] in each round of a Scan: what it carries grows.
TEST(OnnxLoops, WhatGrowsIsUnrolled) {
  const WrittenGraph body = {{{"Concat", {"s", "e"}, {"after"}, {integer("axis", 0)}}},
                             {value_info("s", kFloats, {""}), value_info("e", kFloats, {1})},
                             {value_info("after", kFloats, {""})}};
  const WrittenGraph model =
      scan_of(body, 1, value_info("last", kFloats, {""}), floats("initial", {1}, {9}));
  const layline::Graph graph = import(model, SizeRange{20, 20});
  EXPECT_EQ(body_in(graph), nullptr);
  List expected = counting(20);
  const Tensor inputs[] = {tensor({20, 1}, expected)};
  expected.insert(expected.begin(), 9);
  EXPECT_EQ(numbers(evaluate(graph, inputs)[0]), expected);
  EXPECT_EQ(refusal(model, SizeRange{1, 20}),
            "scan: Scan: its number of rounds is dynamic, but its body is given f32[1] and leaves "
            "f32[2]; fix the size that is its number: --dim NAME=SIZE");
}

/// s is rounded to integers by a scale that each round chooses.
TEST(OnnxLoops, ScalesThatARoundChoosesAreUnrolled) {
  const WrittenGraph body = {{{"DynamicQuantizeLinear", {"s"}, {"q", "scale", "zero"}},
                              {"DequantizeLinear", {"q", "scale", "zero"}, {"d"}},
                              {"Add", {"d", "e"}, {"after"}}},
                             {value_info("s", kFloats, {2}), value_info("e", kFloats, {2})},
                             {value_info("after", kFloats, {2})}};
  const WrittenGraph model =
      scan_of(body, 2, value_info("last", kFloats, {2}), floats("initial", {2}, {9, 1}));
  EXPECT_EQ(body_in(import(model, SizeRange{20, 20})), nullptr);
  EXPECT_EQ(refusal(model, SizeRange{1, 20}),
            "scan: Scan: its number of rounds is dynamic, but its body chooses scales when it "
            "runs; fix the size that is its number: --dim NAME=SIZE");
}

/// A loop in each round of another, which adds what the outer one carries and reads.
TEST(OnnxLoops, LoopsNest) {
  const WrittenGraph inner = {
      {{"Mul", {"z", "half"}, {"h"}}, {"Add", {"h", "e"}, {"z2"}}, {"Identity", {"c"}, {"on"}}},
      {value_info("i", kInts, {}), value_info("c", kBools, {}), value_info("z", kFloats, {1})},
      {value_info("on", kBools, {}), value_info("z2", kFloats, {1})},
      {floats("half", {1}, {0.5F})}};
  const WrittenGraph outer = {
      {{"Loop", {"rounds", "", "s"}, {"z"}, {onnx::body("body", written(inner))}},
       {"Add", {"z", "x0"}, {"after"}},
       {"Identity", {"after"}, {"each"}}},
      {value_info("s", kFloats, {1}), value_info("e", kFloats, {1})},
      {value_info("after", kFloats, {1}), value_info("each", kFloats, {1})}};
  for (const int64_t rounds : {2, 16}) {
    const WrittenGraph model = {
        {{"Scan",
          {"x0", "x"},
          {"last", "all"},
          {onnx::body("body", written(outer)), integer("num_scan_inputs", 1)}}},
        {value_info("x0", kFloats, {1}), value_info("x", kFloats, {"L", 1})},
        {value_info("last", kFloats, {1}), value_info("all", kFloats, {"L", 1})},
        {number("rounds", rounds)}};
    const layline::Graph graph = import(model, SizeRange{1, 20});
    const layline::Graph* body = body_in(graph);
    ASSERT_NE(body, nullptr);
    EXPECT_EQ(body_in(*body) != nullptr, rounds == 16);
    const List x = counting(20);
    List all;
    double s = 2;
    for (const double e : x) {
      for (int64_t i = 0; i < rounds; ++i) s = static_cast<float>(s / 2 + e);
      all.push_back(s = static_cast<float>(s + 2));
    }
    const Tensor inputs[] = {tensor({1}, {2}), tensor({20, 1}, x)};
    EXPECT_EQ(numbers(evaluate(graph, inputs)[1]), all);
  }
}

}  // namespace
}  // namespace layline::onnx

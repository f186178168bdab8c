// The TOSA target: its rules give the same function, what they give is expressible, and what is
// written is a well-formed block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "random_op.h"
#include "targets/tosa/kernels.h"
#include "targets/tosa/lower.h"
#include "targets/tosa/resize_scale.h"
#include "targets/tosa/tosa_rewrites.h"
#include "targets/tosa/tosa_rules.h"
#include "transforms_testing.h"

namespace layline::tosa {
namespace {

void expect_close(const layline::Tensor& actual, const layline::Tensor& expected) {
  ASSERT_EQ(actual.type(), expected.type());
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double e = expected.get(i), a = actual.get(i);
    if (std::isfinite(e))
      ASSERT_NEAR(a, e, 1e-5 * std::max(1.0, std::abs(e))) << "element " << i;
    else
      ASSERT_TRUE(std::isnan(e) ? std::isnan(a) : a == e) << "element " << i << " is " << a;
  }
}

/// Every operand is made before it is read, every name is given once, and every output is made.
void expect_well_formed(const Program& program) {
  std::set<std::string> made(program.inputs.begin(), program.inputs.end());
  for (const Operator& op : program.operators) {
    for (const std::string& input : op.inputs) ASSERT_TRUE(made.contains(input)) << input;
    for (const std::string& output : op.outputs) ASSERT_TRUE(made.insert(output).second) << output;
  }
  for (const std::string& output : program.outputs) ASSERT_TRUE(made.contains(output)) << output;
  ASSERT_EQ(program.tensors.size() + program.shapes.size(), made.size());
}

std::vector<fb::Op> operators(const Program& program) {
  std::vector<fb::Op> result;
  for (const Operator& op : program.operators)
    if (op.op() != fb::Op::CONST && op.op() != fb::Op::CONST_SHAPE) result.push_back(op.op());
  return result;
}

Program lowered(Graph graph) {
  Report report;
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  return lower(graphs, report);
}

// POW of a base that is negative or zero with such exponents is not defined in TOSA, and division
// by zero is where random instances of the others end.
bool is_partial(Op op) {
  return op == Op::pow || op == Op::remainder || op == Op::fmod || op == Op::floor_div;
}

// Quantised numbers at a boundary keep their type, which the float profile does not have.
bool is_quantisation(Op op) {
  return op == Op::quantize || op == Op::dequantize || op == Op::reinterpret ||
         op == Op::quantize_by || op == Op::dequantize_by || op == Op::choose_scale ||
         op == Op::choose_zero_point;
}

TEST(TosaLegalise, GivesTheSameFunctionInOpsThatTosaHas) {
  for (const OpInfo& row : all_ops()) {
    if (row.op == Op::constant || row.op == Op::relayout || is_quantisation(row.op)) continue;
    RandomOps ops(static_cast<uint32_t>(row.op) + 500);
    for (int i = 0; i < 40; ++i) {
      OpInstance instance = *ops.instance(row.op);
      SCOPED_TRACE(print(*instance.graph));
      Graph& graph = *instance.graph;
      bool empty = element_count(instance.node->result()->shape()).is_zero();
      for (const layline::Tensor& operand : instance.operands)
        empty = empty || operand.count() == 0;
      if (empty) continue;
      if (is_partial(row.op))
        for (layline::Tensor& operand : instance.operands)
          for (int64_t k = 0; k < operand.count(); ++k)
            operand.set(k, operand.get(k) == 0 ? 3 : operand.get(k));
      graph.add_output("y", instance.node->result());
      const auto before = evaluate(graph, instance.operands);
      legalise(graph);
      verify(graph);
      const auto after = evaluate(graph, instance.operands);
      expect_close(after[0], before[0]);
      for (const Node* node : graph) {
        if (node->is(Op::constant)) continue;
        ASSERT_EQ(refusal(*node), "") << row.name << " leaves " << print(graph);
      }
      expect_well_formed(lowered(std::move(graph)));
      if (HasFailure()) return;
    }
  }
}

TEST(TosaLegalise, LeavesNothingToDoTwice) {
  for (const OpInfo& row : all_ops()) {
    if (row.op == Op::constant || row.op == Op::relayout || is_quantisation(row.op)) continue;
    RandomOps ops(static_cast<uint32_t>(row.op) + 900);
    for (int i = 0; i < 10; ++i) {
      OpInstance instance = *ops.instance(row.op);
      instance.graph->add_output("y", instance.node->result());
      legalise(*instance.graph);
      EXPECT_FALSE(legalise(*instance.graph)) << row.name;
    }
  }
}

TEST(TosaLegalise, GroupedConvolutionIsSlicesInChannelsLastAndNoPermute) {
  TestModel model;
  Value* x = model.input({1, 8, 6, 6});
  Value* y = model.conv(model.to_channels_last(x), 12, 3, 1, 2, true);
  model.output(model.from_channels_last(y)).on(rules()).run_all();
  EXPECT_EQ(model.count(Op::conv), 2);
  EXPECT_EQ(model.moves(), 2);
  EXPECT_EQ(model.count(Op::slice), 2);
  EXPECT_EQ(model.count(Op::concat), 1);
}

TEST(TosaLegalise, WindowsThatDoNotDivideAreTrimmed) {
  TestModel model;
  Value* x = model.input({1, 8, 8, 3});
  // (8 + 1 + 1 - 3) / 2 leaves a row and a column of padding over; without padding, of the operand.
  Value* padded = model.add(Op::conv, {x, model.weights({4, 3, 3, 3})},
                            ConvAttrs{{2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, {}});
  Value* bare = model.add(Op::conv, {x, model.weights({4, 3, 3, 3})},
                          ConvAttrs{{2, 2}, {1, 1}, {0, 0}, {0, 0}, 1, {}});
  model.output(padded).output(bare).on(rules()).run_all();
  EXPECT_EQ(model.count(Op::slice), 1);  // of `bare`, on both axes
  for (const Node* node : model.built()) {
    if (node->is(Op::constant)) continue;
    EXPECT_EQ(refusal(*node), "");
  }
}

TEST(TosaLegalise, MatmulTransposesNothingThatCanBeReadAsItIs) {
  TestModel model;
  Value* a = model.input({2, 3, 4});
  Value* weights = model.weights({5, 4});
  model.output(model.add(Op::matmul, {a, weights}, MatmulAttrs{true})).on(rules()).run_all();
  EXPECT_EQ(model.moves(), 0);
}

TEST(TosaResize, ScalesOfHalfPixelsAndCorners) {
  const ResizeAttrs twice{{8, 8}, {0.5, 0.5}, ResizeMode::bilinear, false};
  const auto half_pixel = resize_scale(twice, 0, 4);
  ASSERT_TRUE(half_pixel);
  EXPECT_EQ(half_pixel->numerator, 4);
  EXPECT_EQ(half_pixel->denominator, 2);
  EXPECT_EQ(half_pixel->offset, -1);
  EXPECT_EQ(half_pixel->border, 1);
  const ResizeAttrs corners{{7, 7}, {0.5, 0.5}, ResizeMode::bilinear, true};
  const auto aligned = resize_scale(corners, 0, 4);
  ASSERT_TRUE(aligned);
  EXPECT_EQ(aligned->numerator, 2);
  EXPECT_EQ(aligned->denominator, 1);
  EXPECT_EQ(aligned->offset, 0);
  EXPECT_EQ(aligned->border, 0);
}

TEST(TosaResize, TheNearestElementIsTheOneBefore) {
  // Shown twice each, as Vela takes it: from the elements' centres.
  const auto twice = resize_scale({{8, 8}, {0.5, 0.5}, ResizeMode::nearest, false}, 0, 4);
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->offset, -1);
  EXPECT_EQ(twice->border, 1);
  // 4 to 6: from the centres the second would be shown for the third.
  const auto uneven = resize_scale({{6, 6}, {4.0 / 6, 4.0 / 6}, ResizeMode::nearest, false}, 0, 4);
  ASSERT_TRUE(uneven);
  EXPECT_EQ(uneven->offset, -3);
  for (const auto& [scale, step] : {std::pair(*twice, 0.5), std::pair(*uneven, 4.0 / 6)})
    for (int64_t i = 0; i < 6; ++i) {
      const auto at = static_cast<double>(i * scale.denominator + scale.offset) /
                      static_cast<double>(scale.numerator);
      EXPECT_EQ(std::floor(at + 0.5), std::floor(static_cast<double>(i) * step + 1e-9)) << i;
    }
}

TEST(TosaResize, RefusesScalesThatTosaHasNot) {
  // 1 / pi is no fraction of small numbers, and 20 elements for one is under a sixteenth.
  EXPECT_FALSE(resize_scale({{40, 40}, {0.3183098861, 1}, ResizeMode::bilinear, false}, 0, 13));
  EXPECT_FALSE(resize_scale({{2, 2}, {20, 20}, ResizeMode::bilinear, false}, 0, 40));
}

TEST(TosaLower, WritesVersionNamesAndAttributes) {
  Graph graph = parse_graph(R"(graph "g" {
    input "x" %x : f32[1,4,4,3]
    %w = constant() { data = f32[2,1,1,3] (1, 2, 3, 4, 5, 6) }
    %y = conv(%x, %w) { stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0] }
    output "y" %y
  })",
                            "test");
  const Program program = lowered(std::move(graph));
  EXPECT_EQ(program.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(program.outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(operators(program), std::vector<fb::Op>{fb::Op::CONV2D});
  MemorySink sink;
  write_program(program, sink);
  ASSERT_TRUE(fb::TosaGraphBufferHasIdentifier(sink.bytes().data()));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(sink.bytes().data()),
                                 sink.bytes().size());
  ASSERT_TRUE(fb::VerifyTosaGraphBuffer(verifier));
  const fb::TosaGraph* read = fb::GetTosaGraph(sink.bytes().data());
  EXPECT_EQ(read->version()->_major(), 1);
  EXPECT_EQ(read->version()->_minor(), 0);
  EXPECT_EQ(read->version()->_patch(), 0);
  EXPECT_FALSE(read->version()->_draft());
  const auto* block = read->regions()->Get(0)->blocks()->Get(0);
  EXPECT_EQ(block->name()->str(), "main");
  for (const fb::TosaOperator* op : *block->operators()) {
    EXPECT_EQ(static_cast<int>(op->op()), static_cast<int>(op->attribute_type()));
    EXPECT_NE(op->attribute(), nullptr);
  }
  // The weight is written in the order in which it is given: [O, H, W, I].
  for (const fb::TosaTensor* tensor : *block->tensors()) {
    if (tensor->data() == nullptr) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()->data()) % 8,
              reinterpret_cast<uintptr_t>(sink.bytes().data()) % 8);
  }
}

TEST(TosaLower, OutputsThatAreInputsConstantsOrViewsHaveTensorsOfTheirOwn) {
  Graph graph = parse_graph(R"(graph "g" {
    input "x" %x : f32[2,3]
    %c = constant() { data = f32[2] (1, 2) }
    %v = relayout(%x) { relayout = [2,3] -> [6] }
    %n = neg(%x)
    output "x" %x
    output "c" %c
    output "v" %v
    output "n" %n
    output "n_again" %n
  })",
                            "test");
  const Program program = lowered(std::move(graph));
  expect_well_formed(program);
  EXPECT_EQ(program.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(program.outputs, (std::vector<std::string>{"x_1", "c", "v", "n", "n_again"}));
  EXPECT_EQ(operators(program),
            (std::vector<fb::Op>{fb::Op::NEGATE, fb::Op::IDENTITY, fb::Op::IDENTITY,
                                 fb::Op::RESHAPE, fb::Op::IDENTITY}));
}

TEST(TosaLower, ViewsOfViewsAreOneReshape) {
  Graph graph = parse_graph(R"(graph "g" {
    input "x" %x : f32[2,3,4]
    %a = relayout(%x) { relayout = [2,3,4] -> [6,4] }
    %b = relayout(%a) { relayout = [6,4] -> [24] }
    %c = abs(%b)
    output "c" %c
  })",
                            "test");
  EXPECT_EQ(operators(lowered(std::move(graph))),
            (std::vector<fb::Op>{fb::Op::RESHAPE, fb::Op::ABS}));
}

TEST(TosaLower, WideIntegersAreNarrowedAndCheckedWhereTheyAreConstant) {
  auto with_constant = [](std::string_view number) {
    return parse_graph(fmt::format(R"(graph "g" {{
      input "x" %x : i64[1]
      %c = constant() {{ data = i64[1] ({}) }}
      %y = add(%x, %c)
      output "y" %y
    }})",
                                   number),
                       "test");
  };
  const Program program = lowered(with_constant("2147483647"));
  for (const NamedTensor& tensor : program.tensors) EXPECT_EQ(tensor.type, fb::DType::INT32);
  EXPECT_THROW(lowered(with_constant("2147483648")), UserError);
}

TEST(TosaLower, RefusesAllAtOnceAndNamesTheNodes) {
  Graph graph = parse_graph(R"(graph "g" {
    input "x" %x : f64[4]
    input "n" %n : u8[4]
    %y = neg(%x)
    output "y" %y
    output "n" %n
  })",
                            "test");
  try {
    lowered(std::move(graph));
    FAIL();
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("the input x: TOSA has no f64 tensors"), std::string::npos) << message;
    EXPECT_NE(message.find("the input n: TOSA has no u8 tensors"), std::string::npos) << message;
    EXPECT_NE(message.find("neg at y"), std::string::npos) << message;
  }
}

TEST(TosaRules, TransposesCostByTheByte) {
  const MoveCosts moves = rules().orders.moves;
  const Relayout transpose = Relayout::permute({16, 64}, std::vector<int>{1, 0});
  const Cost wide = move_cost(moves, transpose, DType::f32);
  const Cost narrow = move_cost(moves, transpose, DType::i8);
  EXPECT_EQ(wide.permutes, 1);
  EXPECT_EQ(wide.time_ps - moves.call_ps, 4 * (narrow.time_ps - moves.call_ps));
  EXPECT_EQ(move_cost(moves, Relayout::view({16, 64}, {1024}), DType::f32).time_ps, 0);
}

}  // namespace
}  // namespace layline::tosa

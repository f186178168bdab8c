// Whole graphs to TOSA: what is refused, what is said about an NPU, and the file.
#include "targets/tosa/lower.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tosa_testing.h"

namespace layline::tosa {
namespace {

std::string refused(const std::vector<std::string>& texts) {
  std::vector<Graph> graphs;
  for (const std::string& text : texts) graphs.push_back(parse_graph(text, "test"));
  Report report;
  try {
    lower(graphs, report);
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(TosaLowering, EverythingThatIsRefusedIsNamed) {
  EXPECT_EQ(
      refused({R"(graph "g" {
    input "d" %d : f64[4]
    input "none" fixed none
    input "x" %x : f32[4]
    %e = atan(%x) @1
    %u = convert(%x) { to = u8 }
    output "u" %u
    output "e" %e
    origin @1 "atan" "model.py:7" "layer"
  })"}),
      "cannot be expressed in TOSA 1.0: the input d: TOSA has no f64 tensors; atan at atan "
      "(model.py:7, layer): TOSA has no atan; convert at u: TOSA has no u8 tensors; the output u: "
      "TOSA has no u8 tensors; leave it out of the exported model");
  EXPECT_EQ(refused({R"(graph "g" {
    input "x" %x : f32[4]
    %e = neg(%x)
    write %e to %x
    output "e" %e
  })"}),
            "cannot be expressed in TOSA 1.0: `x`: the model changes it, and nothing is kept from "
            "run to run: make it an input and an output; leave it out of the exported model");
  const std::string graph = on_tensors({"f32[4]"}, "%y = neg(%a)");
  EXPECT_EQ(refused({graph}), "nothing");
  EXPECT_EQ(
      refused({graph, graph}),
      "the model has 2 methods and a TOSA file holds one graph; export each method as a model "
      "of its own");
}

TEST(TosaLowering, WhatAnNpuCannotRunIsToldByNodeOrOutput) {
  const Lowered lowered = lowered_with_report(R"(graph "g" {
    input "x" %x : f32[4]
    %n = convert(%x) { to = i32 } @1
    output "n" %n
    output "same" %x
    output "again" %x
    origin @1 "to" "model.py:7" "layer"
  })",
                                              &find_accelerator("ethos-u85-256"));
  EXPECT_EQ(lowered.report.accelerator, "ethos-u85-256");
  ASSERT_EQ(lowered.report.cannot_run.size(), 3u);  // of four operators that make up %n
  const CannotRun& node = lowered.report.cannot_run[0];
  EXPECT_EQ(node.value, "n");
  EXPECT_EQ(node.node, "convert at to (model.py:7, layer)");
  EXPECT_EQ(node.why, "floats, and it has integers only: quantise the model there");
  EXPECT_EQ(lowered.report.cannot_run[1].value, "same");
  EXPECT_EQ(lowered.report.cannot_run[1].node, "the output same");
  EXPECT_EQ(lowered.report.cannot_run[2].node, "the output again");
}

TEST(TosaLowering, OpsAreCountedAndMovesAreToldInTheBytesThatTheyAreHeldIn) {
  const Report report = lowered_with_report(R"(graph "g" {
    input "x" %x : i64[3,5]
    %n = neg(%x)
    %unread = abs(%x)
    %y = relayout(%n) { relayout = [3,5] (3,5)->(1,0) [5,3] }
    output "y" %y
  })")
                            .report;
  EXPECT_EQ(report.ops, 2);
  EXPECT_EQ(report.permutes.final, 1);
  EXPECT_EQ(report.permutes.bytes, 3 * 5 * 4);
  EXPECT_EQ(report.methods, std::vector<std::string>{"g"});
}

/// Offsets in the file have 31 bits.
TEST(TosaLowering, WeightsOfMoreThan2000MbAreRefused) {
  const auto megabyte = std::make_shared<std::vector<std::byte>>(size_t{1} << 20);
  Program program;
  for (int i = 0; i < 2001; ++i)
    program.tensors.push_back({fmt::format("w{}", i),
                               fb::DType::INT8,
                               {1 << 20},
                               Constant::view(DType::i8, {1 << 20}, *megabyte, megabyte)});
  MemorySink sink;
  try {
    write_program(program, sink);
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "the weights take 2001 MB; a TOSA file holds at most 2000 MB");
  }
}

TEST(TosaLowering, TheFileHoldsTheProgram) {
  const Lowered lowered = lowered_with_report(on_tensors(
      {"f32[2,3]"},
      "%c = constant() { data = f32[2,3] (1, 2, 3, 4, 5, 6) } %s = add(%a, %c) %v = relayout(%s) { "
      "relayout = [2,3] -> [6] } %y = neg(%v)"));
  MemorySink sink;
  write_program(lowered.program, sink);
  const fb::TosaGraph* graph = fb::GetTosaGraph(sink.bytes().data());
  ASSERT_EQ(graph->regions()->size(), 1u);
  ASSERT_EQ(graph->regions()->Get(0)->blocks()->size(), 1u);
  const fb::TosaBasicBlock* block = graph->regions()->Get(0)->blocks()->Get(0);
  ASSERT_EQ(block->inputs()->size(), 1u);
  EXPECT_EQ(block->inputs()->Get(0)->str(), "a");
  ASSERT_EQ(block->outputs()->size(), 1u);
  EXPECT_EQ(block->outputs()->Get(0)->str(), "y");
  const std::array<float, 6> numbers = {1, 2, 3, 4, 5, 6};
  int with_data = 0;
  for (const fb::TosaTensor* tensor : *block->tensors()) {
    if (tensor->data() == nullptr || tensor->shape()->size() != 2) continue;
    ++with_data;
    EXPECT_EQ(tensor->type(), fb::DType::FP32);
    ASSERT_EQ(tensor->data()->size(), sizeof numbers);
    EXPECT_EQ(std::memcmp(tensor->data()->data(), numbers.data(), sizeof numbers), 0);
  }
  EXPECT_EQ(with_data, 1);
  ASSERT_EQ(block->shapes()->size(), 1u);
  const fb::TosaShape* shape = block->shapes()->Get(0);
  EXPECT_EQ(shape->rank(), 1u);
  const int64_t six = 6;
  ASSERT_EQ(shape->data()->size(), sizeof six);
  EXPECT_EQ(std::memcmp(shape->data()->data(), &six, sizeof six), 0);
  ASSERT_EQ(block->operators()->size(), lowered.program.operators.size());
  const fb::TosaOperator* last = block->operators()->Get(block->operators()->size() - 1);
  EXPECT_EQ(last->op(), fb::Op::NEGATE);
  EXPECT_EQ(last->inputs()->size(), 3u);
  ASSERT_EQ(last->outputs()->size(), 1u);
  EXPECT_EQ(last->outputs()->Get(0)->str(), "y");
}

/// Inputs and outputs keep their names; what has one already is numbered.
TEST(TosaLowering, NamesAreUnique) {
  const Program program = lowered_with_report(R"(graph "g" {
    input "x" %x : f32[4]
    input "x" %z : f32[4]
    %n = sub(%x, %z)
    output "x" %n
    output "y" %n
    output "none" fixed none
  })")
                              .program;
  EXPECT_EQ(program.inputs, (std::vector<std::string>{"x", "x_1"}));
  EXPECT_EQ(program.outputs, (std::vector<std::string>{"x_2", "y"}));
}

}  // namespace
}  // namespace layline::tosa

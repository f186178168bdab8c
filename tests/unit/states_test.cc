// States in the program: where they live, what they begin with, and when a new value needs no copy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sink.h"
#include "ir/text.h"
#include "pte/writer.h"
#include "targets/state_plan.h"
#include "targets/xnnpack/lower.h"

namespace layline {
namespace {

struct Lowered {
  pte::Program program;
  Report report;
};

Lowered lowered(std::string_view text) {
  Lowered result;
  result.program = xnnpack::lower(parse_graphs(text, "test"), result.report);
  return result;
}

/// The tensors of a method that are in the memory of states and have a first value, or may have.
std::vector<pte::PlannedData> places(const pte::Method& method) {
  std::vector<pte::PlannedData> found;
  for (const pte::Value& value : method.values)
    if (const auto* tensor = std::get_if<pte::TensorDesc>(&value))
      if (const auto* place = std::get_if<pte::PlannedData>(&tensor->storage))
        if (place->memory_id == kStateMemory) found.push_back(*place);
  return found;
}

// XNNPACK has no integers, so these are kernels.
TEST(States, ANewValueIsComputedInPlace) {
  const Lowered state = lowered(R"(
graph "forward" {
  input "x" %x : i64[4]
  state "sum" %sum = i64[4] (1, 2, 3, 4)
  %next = add(%sum, %x)
  %y = mul(%next, %x)
  output "y" %y
  write %next to %sum
})");
  EXPECT_EQ(state.report.copies.count, 0);
  const auto found = places(state.program.methods[0]);
  ASSERT_EQ(found.size(), 2u);  // the state, and its new value
  EXPECT_EQ(found[0].offset, found[1].offset);
  EXPECT_TRUE(found[0].initial_state);
  EXPECT_FALSE(found[1].initial_state);
  EXPECT_EQ(state.program.methods[0].arena_bytes.size(), 2u);
}

TEST(States, ButNotWhileTheOldOneIsNeeded) {
  // Read after the new value is there.
  EXPECT_EQ(lowered(R"(
graph "forward" {
  input "x" %x : i64[4]
  state "sum" %sum = i64[4] splat 1
  %next = add(%sum, %x)
  %y = mul(%next, %sum)
  output "y" %y
  write %next to %sum
})")
                .report.copies.count,
            1);
  // An output: saved, too, before it is overwritten.
  EXPECT_EQ(lowered(R"(
graph "forward" {
  input "x" %x : i64[4]
  state "sum" %sum = i64[4] splat 1
  %next = add(%sum, %x)
  output "y" %sum
  write %next to %sum
})")
                .report.copies.count,
            2);
  // A swap.
  EXPECT_EQ(lowered(R"(
graph "forward" {
  state "a" %a = i64[4] splat 1
  state "b" %b = i64[4] splat 2
  write %a to %b
  write %b to %a
})")
                .report.copies.count,
            4);
  // Read through a view of it.
  EXPECT_EQ(lowered(R"(
graph "forward" {
  input "x" %x : i64[2,2]
  state "sum" %sum = i64[2,2] splat 1
  %flat = relayout(%sum) { relayout = [2,2] -> [4] }
  %next = add(%sum, %x)
  %y = neg(%flat)
  %z = add(%y, %y)
  output "y" %z
  write %next to %sum
})")
                .report.copies.count,
            1);
}

/// How many values are copied in a run, of a graph with the input %x, of the state %s.
int64_t copies(std::string_view type, std::string_view body) {
  return lowered(fmt::format("graph \"forward\" {{ input \"x\" %x : {0} state \"s\" %s = {0} "
                             "splat 1\n{1} }}",
                             type, body))
      .report.copies.count;
}

TEST(States, AreWrittenInPlaceByWhatReadsThemLast) {
  // An element is written where it was read; not so by ops that read others, too.
  EXPECT_EQ(copies("i64[4]", "%n = add(%s, %x) write %n to %s"), 0);
  EXPECT_EQ(copies("i64[4]", "%n = flip(%s) { axes = [0] } write %n to %s"), 1);
  EXPECT_EQ(copies("i64[4]", "%n = cumsum(%s) { axis = 0 } write %n to %s"), 1);
  // Read before, by whatever.
  EXPECT_EQ(copies("i64[4]", "%f = flip(%s) { axes = [0] } %n = add(%f, %x) write %n to %s"), 0);
  // An op that reads it under another shape is taken for one that reads other elements.
  EXPECT_EQ(copies("i64[1,4]",
                   "%v = relayout(%s) { relayout = [1,4] -> [4] } "
                   "%n = add(%v, %x) write %n to %s"),
            1);
}

TEST(States, AreNotWrittenByADelegateThatReadsThem) {
  // XNNPACK may write a result before all of an operand is read.
  EXPECT_EQ(copies("f32[4]", "%n = add(%s, %x) write %n to %s"), 1);
  EXPECT_EQ(copies("f32[4]", "%n = add(%s, %x) %y = mul(%n, %s) output \"y\" %y write %n to %s"),
            1);
  // A later one may write them.
  EXPECT_EQ(copies("f32[4]", "%f = flip(%s) { axes = [0] } %n = tanh(%f) write %n to %s"), 0);
  EXPECT_EQ(copies("f32[4]",
                   "%f = flip(%s) { axes = [0] } %n = tanh(%f) %y = add(%f, %s) "
                   "output \"y\" %y write %n to %s"),
            1);
}

TEST(States, AreNotWrittenWhileAViewOfThemIsRead) {
  constexpr std::string_view kView = "%v = relayout(%s) { relayout = [2,2] -> [4] } ";
  const auto after = [&](std::string_view rest) {
    return copies("i64[2,2]", std::string(kView) + std::string(rest));
  };
  EXPECT_EQ(after("%a = neg(%v) %n = add(%s, %x) output \"a\" %a write %n to %s"), 0);
  EXPECT_EQ(after("%n = add(%s, %x) %a = neg(%v) output \"a\" %a write %n to %s"), 1);
  // Nor a view of the view.
  EXPECT_EQ(after("%u = relayout(%v) { relayout = [4] -> [1,4] } %n = add(%s, %x) %a = neg(%u) "
                  "output \"a\" %a write %n to %s"),
            1);
  // A transpose is a copy.
  EXPECT_EQ(copies("i64[2,2]",
                   "%t = relayout(%s) { relayout = [2,2] (2,2)->(1,0) [2,2] } "
                   "%n = add(%s, %x) %a = neg(%t) output \"a\" %a write %n to %s"),
            0);
  // A view that is an output is a copy, made when it stands before the write.
  EXPECT_EQ(after("%n = add(%s, %x) output \"v\" %v write %n to %s"), 0);
}

TEST(States, AreCopiedWhereNoOpWritesThem) {
  EXPECT_EQ(copies("i64[2,2]", "write %x to %s"), 1);
  EXPECT_EQ(copies("i64[2,2]", "%n = constant() { data = i64[2,2] splat 7 } write %n to %s"), 1);
  EXPECT_EQ(copies("i64[2,2]", "output \"y\" %s write %s to %s"), 0);
  // The caller is given the new value in another order than the state has.
  EXPECT_EQ(copies("i64[2,2]", "%n = add(%s, %x) output \"y\" %n write %n to %s"), 0);
  EXPECT_EQ(copies("i64[2,2]", "%n = add(%s, %x) output \"y\" %n order (1,0) write %n to %s"), 1);
  EXPECT_EQ(copies("i64[2,2]",
                   "%n = add(%s, %x) %z = neg(%x) output \"z\" %z order (1,0) "
                   "write %n to %s"),
            0);
  // Inputs have no memory of the program.
  EXPECT_EQ(copies("i64[2,2]", "%n = add(%s, %x) output \"y\" %n write %n to %x"), 1);
}

TEST(States, AViewOfAStateIsNoCopy) {
  const Lowered state = lowered(R"(
graph "forward" {
  state "sum" %sum = i64[2,2] splat 1
  %flat = relayout(%sum) { relayout = [2,2] -> [4] }
  %y = neg(%flat)
  output "y" %y
})");
  EXPECT_EQ(state.program.methods[0].instructions.size(), 1u);
  EXPECT_EQ(places(state.program.methods[0]).size(), 2u);
}

constexpr std::string_view kTwoMethods = R"(
graph "a" {
  state "s" %s = i64[4] splat FIRST
  state "own" %own = i64[4] splat 7
  %n = add(%s, %own)
  write %n to %s
}
graph "b" {
  state "s" %s = i64[4] splat SECOND
  %n = neg(%s)
  write %n to %s
})";

Lowered two_methods(std::string_view first, std::string_view second) {
  std::string text(kTwoMethods);
  text.replace(text.find("FIRST"), 5, first);
  text.replace(text.find("SECOND"), 6, second);
  return lowered(text);
}

TEST(States, MethodsShareAStateOfOneNameAndFirstValue) {
  const Lowered state = two_methods("3", "3");
  EXPECT_EQ(state.program.initial_states.size(), 2u);
  EXPECT_EQ(places(state.program.methods[0])[0].offset, places(state.program.methods[1])[0].offset);
  EXPECT_EQ(state.program.methods[0].arena_bytes[1], state.program.methods[1].arena_bytes[1]);
  EXPECT_EQ(state.report.states.size(), 2u);
  EXPECT_EQ(state.report.states[0].methods, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(state.report.state_bytes, 2 * 32 + 64);
}

TEST(States, SharedZerosAreLeftToTheHost) {
  const Lowered state = two_methods("0", "0");
  EXPECT_EQ(state.program.initial_states.size(), 1u);  // of the other one
  EXPECT_FALSE(places(state.program.methods[1])[0].initial_state);
}

/// The pieces of zeros from which a state of so many bytes is loaded: where they begin.
std::vector<uint64_t> zero_pieces(uint64_t bytes, int first_value) {
  const Lowered state = lowered(fmt::format(R"(
graph "forward" {{
  input "x" %x : i64[2]
  state "before" %b = i64[2] splat 3
  state "cache" %c = i64[{}] splat {}
  %y = add(%b, %x)
  %z = add(%c, %c)
  output "y" %y
  write %z to %c
}})",
                                            bytes / sizeof(int64_t), first_value));
  MemorySink sink;
  pte::write_program(state.program, sink);  // checks it
  std::vector<uint64_t> offsets;
  for (const pte::PlannedData& place : places(state.program.methods[0])) {
    if (!place.initial_state || place.offset < 16) continue;
    const pte::DataSource& data = state.program.initial_states[*place.initial_state];
    if (data.size == kZeroBytes) offsets.push_back(place.offset - 16);
  }
  return offsets;
}

TEST(States, LongZerosAreLoadedInPieces) {
  EXPECT_EQ(zero_pieces(2 * kZeroBytes, 0), (std::vector<uint64_t>{0, kZeroBytes}));
  EXPECT_EQ(zero_pieces(3 * kZeroBytes, 0), (std::vector<uint64_t>{0, kZeroBytes, 2 * kZeroBytes}));
  // The last piece ends where the state does, rounded up as its place is.
  EXPECT_EQ(zero_pieces(2 * kZeroBytes + 8, 0),
            (std::vector<uint64_t>{0, kZeroBytes, kZeroBytes + 16}));
  EXPECT_EQ(zero_pieces(2 * kZeroBytes - 8, 0), std::vector<uint64_t>{});
  EXPECT_EQ(zero_pieces(2 * kZeroBytes, 1), std::vector<uint64_t>{});
}

TEST(States, LongZerosAreInTheProgramOnce) {
  const Lowered state = lowered(R"(
graph "forward" {
  input "x" %x : i64[100000]
  state "a" %a = i64[100000] splat 0
  state "b" %b = i64[200000] splat 0
  state "c" %c = i64[200000] splat 5
  %next = add(%a, %x)
  output "y" %next
  write %next to %a
})");
  ASSERT_EQ(state.program.initial_states.size(), 2u);
  EXPECT_EQ(state.program.initial_states[0].size, kZeroBytes);
  EXPECT_EQ(state.program.initial_states[1].size, 1600000u);
}

TEST(States, OfDifferentFirstValuesAreTwo) {
  const Lowered state = two_methods("3", "7");
  EXPECT_NE(places(state.program.methods[0])[0].offset, places(state.program.methods[1])[0].offset);
  EXPECT_EQ(state.report.states.size(), 3u);
  EXPECT_EQ(state.program.initial_states.size(), 2u);  // equal ones are there once
}

}  // namespace
}  // namespace layline

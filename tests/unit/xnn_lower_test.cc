// A whole program: what is in it, what is told about it, and what is refused before it is written.
#include "targets/xnnpack/lower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/sink.h"
#include "ir/text.h"
#include "pte/debug_map.h"
#include "pte/io_names.h"
#include "targets/state_plan.h"

namespace layline::xnnpack {
namespace {

struct Lowered {
  Report report = {};
  pte::Program program;

  explicit Lowered(std::string_view body, const LowerOptions& options = {})
      : program(lower(parse_graphs(body.starts_with("graph")
                                       ? std::string(body)
                                       : fmt::format("graph \"forward\" {{ {} }}", body),
                                   "test"),
                      report, options)) {}

  const pte::Method& method() const { return program.methods[0]; }
  const pte::TensorDesc& tensor(pte::ValueId id) const {
    return std::get<pte::TensorDesc>(method().values[static_cast<size_t>(id)]);
  }
  std::string named(std::string_view key) const {
    for (const pte::NamedData& data : program.named_data) {
      if (data.key != key) continue;
      MemorySink sink;
      program.blobs[data.blob].write(sink);
      return {reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size()};
    }
    return "";
  }
};

std::string error_of(std::string_view body) {
  try {
    const Lowered lowered(body);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(XnnLower, TheReportCountsWhatRunsWhere) {
  const Lowered lowered(
      "input \"x\" %x : f32[2,3] %a = tanh(%x) %b = sign(%a) %c = sign(%b) %d = exp(%c) "
      "%e = erf(%d) output \"e\" %e");
  EXPECT_EQ(lowered.report.ops, 5);
  EXPECT_EQ(lowered.report.delegates, 2);
  EXPECT_EQ(lowered.report.backends, std::vector<std::string>{"XnnpackBackend"});
  EXPECT_EQ(lowered.report.kernels, (std::vector<std::string>{"aten::erf.out", "aten::sign.out"}));
  ASSERT_EQ(lowered.report.portable_ops.size(), 2u);
  EXPECT_EQ(lowered.report.portable_ops[0].op, "sign");
  EXPECT_EQ(lowered.report.portable_ops[0].count, 2);
  EXPECT_EQ(lowered.report.portable_ops[0].why, "XNNPACK has no sign");
  EXPECT_EQ(lowered.report.portable_ops[1].op, "erf");
  EXPECT_EQ(lowered.report.portable_ops[1].count, 1);
  EXPECT_EQ(lowered.method().instructions.size(), 5u);
  const Lowered none("input \"x\" %x : f32[2] %y = sign(%x) output \"y\" %y");
  EXPECT_TRUE(none.report.backends.empty());
}

TEST(XnnLower, OneOpRefusedForTwoReasonsIsTwoRows) {
  const Lowered lowered(
      "input \"x\" %x : i32[2] input \"z\" %z : i64[2] %a = neg(%x) %b = neg(%z) output \"a\" %a "
      "output \"b\" %b");
  ASSERT_EQ(lowered.report.portable_ops.size(), 2u);
  EXPECT_EQ(lowered.report.portable_ops[1].why, "XNNPACK has no i64 tensors");
  const Lowered two("input \"x\" %x : i64[2] %a = neg(%x) %b = abs(%a) output \"b\" %b");
  EXPECT_EQ(two.report.portable_ops.size(), 2u);
}

TEST(XnnLower, OneDelegateIsEnoughForABackend) {
  const Lowered one("input \"x\" %x : f32[2] %y = tanh(%x) output \"y\" %y");
  EXPECT_EQ(one.report.delegates, 1);
  EXPECT_EQ(one.report.backends.size(), 1u);
}

TEST(XnnLower, OutputsThatAreNoTensorsAreGiven) {
  const Lowered fixed(
      "input \"x\" %x : f32[2] %y = tanh(%x) output \"y\" %y output \"k\" fixed int 3");
  ASSERT_EQ(fixed.method().outputs.size(), 2u);
  EXPECT_EQ(
      std::get<int64_t>(fixed.method().values[static_cast<size_t>(fixed.method().outputs[1])]), 3);
  EXPECT_EQ(fixed.report.outputs.size(), 1u);
}

TEST(XnnLower, TheReportCountsBytesThatMove) {
  const Lowered lowered(
      "input \"x\" %x : f32[2,3] %t = relayout(%x) { relayout = [2,3] (2,3)->(1,0) [3,2] } "
      "%s = slice(%t) { start = [0,0], size = [1,2], step = [1,1] } %c = concat(%t, %s) { axis = 0 "
      "} "
      "%v = relayout(%c) { relayout = [4,2] -> [8] } output \"v\" %v");
  EXPECT_EQ(lowered.report.permutes.final, 1);
  EXPECT_EQ(lowered.report.permutes.bytes, 24);
  ASSERT_EQ(lowered.report.permutes.survivors.size(), 1u);
  EXPECT_EQ(lowered.report.permutes.survivors[0].forced_by.size(), 3u);  // the input, %s and %c
  const Lowered last(
      "input \"x\" %x : f32[2,3] %a = tanh(%x) %t = relayout(%a) { relayout = [2,3] "
      "(2,3)->(1,0) [3,2] } output \"t\" %t");
  EXPECT_EQ(last.report.permutes.survivors[0].forced_by,
            (std::vector<std::string>{"a", "the output t"}));
  EXPECT_EQ(lowered.report.slices.count, 1);
  EXPECT_EQ(lowered.report.slices.bytes, 8);
  EXPECT_EQ(lowered.report.concats.count, 1);
  EXPECT_EQ(lowered.report.concats.bytes, 32);
  EXPECT_EQ(lowered.report.copies.count, 0);
  const Lowered copied(
      "symbol s1 \"n\" in [1,9] input \"x\" %x : i64[s1] %y = expand(%x) { shape = "
      "[2,s1] } output \"y\" %y");
  EXPECT_EQ(copied.report.copies.count, 1);
  EXPECT_EQ(copied.report.copies.bytes, 2 * 9 * 8);
}

TEST(XnnLower, BoundariesAreInTheirOwnOrder) {
  const Lowered lowered(
      "symbol s1 \"n\" in [1,9] input \"x\" %x : f32[s1,4,3] order (0,2,1) input \"k\" fixed int 3 "
      "%y = tanh(%x) output \"y\" %y order (1,0,2)");
  ASSERT_EQ(lowered.report.inputs.size(), 1u);
  EXPECT_EQ(lowered.report.inputs[0].shape, (std::vector<int64_t>{9, 3, 4}));
  EXPECT_EQ(lowered.report.inputs[0].symbolic_shape, (std::vector<std::string>{"s1", "3", "4"}));
  EXPECT_EQ(lowered.report.outputs[0].shape, (std::vector<int64_t>{4, 9, 3}));
  ASSERT_EQ(lowered.method().inputs.size(), 2u);
  const pte::TensorDesc& in = lowered.tensor(lowered.method().inputs[0]);
  EXPECT_EQ(in.sizes, (std::vector<int32_t>{9, 3, 4}));
  EXPECT_EQ(in.dim_order, (std::vector<uint8_t>{0, 2, 1}));
  EXPECT_EQ(in.dynamism, pte::ShapeDynamism::kBound);
  const Lowered fixed("input \"x\" %x : f32[2] %y = tanh(%x) output \"y\" %y");
  EXPECT_EQ(fixed.tensor(fixed.method().inputs[0]).dynamism, pte::ShapeDynamism::kStatic);
  EXPECT_EQ(std::get<int64_t>(lowered.method().values[1]), 3);
  const pte::TensorDesc& out = lowered.tensor(lowered.method().outputs[0]);
  EXPECT_EQ(out.sizes, (std::vector<int32_t>{4, 9, 3}));
  EXPECT_EQ(out.dim_order, (std::vector<uint8_t>{1, 0, 2}));
}

TEST(XnnLower, NamesAndSizesTravelWithTheProgram) {
  const Lowered lowered(
      "symbol s1 \"n\" in [1,9] symbol s2 = \"s1+1\" input \"x\" %x : f32[s1,4] order (1,0) input "
      "\"k\" fixed none input \"z\" %z : f32[s2] %y = tanh(%x) %w = exp(%z) output \"y\" %y "
      "output \"w\" %w");
  const auto names = pte::read_io_names(lowered.named(pte::kIoNamesKey));
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].inputs, (std::vector<std::string>{"x", "k", "z"}));
  EXPECT_EQ(names[0].outputs, (std::vector<std::string>{"y", "w"}));
  ASSERT_EQ(names[0].symbols.size(), 2u);
  EXPECT_EQ(names[0].symbols[1].max, 10);
  EXPECT_EQ(names[0].symbols[1].formula, "s1+1");
  using Shapes = std::vector<std::vector<std::string>>;
  EXPECT_EQ(names[0].input_shapes, (Shapes{{"4", "s1"}, {}, {"s2"}}));
  ASSERT_EQ(lowered.report.symbols.size(), 2u);
  EXPECT_EQ(lowered.report.symbols[0].symbol, "s1");
  EXPECT_EQ(lowered.report.symbols[1].symbol, "s2");
  const Lowered fixed("input \"x\" %x : f32[4] %y = tanh(%x) output \"y\" %y");
  EXPECT_TRUE(pte::read_io_names(fixed.named(pte::kIoNamesKey))[0].input_shapes.empty());
}

TEST(XnnLower, OriginsAreStrippedOnRequest) {
  constexpr std::string_view kText =
      "input \"x\" %x : f32[4] %a = sign(%x) @1 %b = tanh(%a) %y = sign(%b) @1 output \"y\" %y "
      "origin @1 \"sign\" \"net.py:3\" \"m\"";
  const auto maps = pte::read_debug_map(Lowered(kText).named(pte::kDebugMapKey));
  ASSERT_EQ(maps.size(), 1u);
  // Handles count nodes as they are met; the delegate has none of its own.
  EXPECT_EQ(maps[0].instructions, (std::vector<uint32_t>{1, 0, 3}));
  ASSERT_EQ(maps[0].origins.size(), 3u);
  EXPECT_EQ(maps[0].origins[0].source, "net.py:3");
  EXPECT_EQ(maps[0].origins[1].source, "");
  EXPECT_EQ(Lowered(kText, {.strip = true}).named(pte::kDebugMapKey), "");
  // What is copied at the end comes from no node.
  const Lowered written("input \"x\" %x : i32[4] %n = neg(%x) write %n to %x");
  EXPECT_EQ(pte::read_debug_map(written.named(pte::kDebugMapKey))[0].instructions,
            (std::vector<uint32_t>{1, 0}));
}

/// %a is needed until its view is read: nothing takes its place meanwhile.
TEST(XnnLower, AViewLiesWhereItsOperandDoes) {
  const Lowered viewed(
      "input \"x\" %x : i32[4] %a = neg(%x) %k = abs(%x) %m = add(%k, %k) %v = relayout(%a) { "
      "relayout "
      "= [4] -> [4,1] } %y = add(%v, %m) output \"y\" %y");
  const auto& calls = viewed.method().instructions;
  ASSERT_EQ(calls.size(), 4u);
  const auto offset = [&](size_t call, bool result) {
    const auto& args = std::get<pte::KernelCall>(calls[call]).args;
    return std::get<pte::PlannedData>(viewed.tensor(result ? args.back() : args.front()).storage)
        .offset;
  };
  EXPECT_EQ(offset(3, false), offset(0, true));
  EXPECT_NE(offset(1, true), offset(0, true));
  EXPECT_NE(offset(2, true), offset(0, true));
}

/// A view of what is in the arena takes no kernel, and no place of its own.
TEST(XnnLower, ViewsShareTheirBytes) {
  const auto calls = [](std::string_view body) {
    return Lowered(body).method().instructions.size();
  };
  EXPECT_EQ(
      calls("input \"x\" %x : i32[4] %a = neg(%x) %v = relayout(%a) { relayout = [4] -> [2,2] "
            "} %y = neg(%v) output \"y\" %y"),
      2u);
  // An output is a tensor of its own, and so is what the caller gives.
  EXPECT_EQ(
      calls("input \"x\" %x : i32[4] %a = neg(%x) %v = relayout(%a) { relayout = [4] -> [2,2] "
            "} output \"v\" %v"),
      2u);
  EXPECT_EQ(calls("input \"x\" %x : i32[4] %v = relayout(%x) { relayout = [4] -> [2,2] } "
                  "%y = neg(%v) output \"y\" %y"),
            2u);
  EXPECT_EQ(
      calls("%k = constant() { data = i32[4] (1,2,3,4) } %v = relayout(%k) { relayout = [4] -> "
            "[2,2] } %y = neg(%v) output \"y\" %y"),
      2u);
  // Integers that stand for other numbers are the same bytes; a transpose is not.
  EXPECT_EQ(calls("input \"x\" %x : i8[4] %a = neg(%x) %v = reinterpret(%a) { quantisation = i8 in "
                  "[-128,127] scale f32[] (1) } %w = reinterpret(%v) %y = neg(%w) output \"y\" %y"),
            2u);
  EXPECT_EQ(calls("input \"x\" %x : i32[2,2] %a = neg(%x) %v = relayout(%a) { relayout = [2,2] "
                  "(2,2)->(1,0) [2,2] } %y = neg(%v) output \"y\" %y"),
            3u);
}

TEST(XnnLower, InputsAreWrittenLast) {
  // What is returned is saved before it is overwritten.
  const Lowered returned("input \"x\" %x : i32[4] %n = neg(%x) output \"x\" %x write %n to %x");
  EXPECT_EQ(returned.report.copies.count, 2);
  EXPECT_NE(returned.method().outputs[0], returned.method().inputs[0]);
  const auto& saved = std::get<pte::KernelCall>(returned.method().instructions[1]);
  EXPECT_EQ(saved.args.front(), returned.method().inputs[0]);
  EXPECT_EQ(saved.args.back(), returned.method().outputs[0]);
  EXPECT_EQ(returned.report.copies.bytes, 2 * 16);
  const auto& last = std::get<pte::KernelCall>(returned.method().instructions.back());
  EXPECT_EQ(last.name, "aten::clone");
  EXPECT_EQ(last.args.back(), returned.method().inputs[0]);
  // What is written back as it was is not.
  const Lowered same("input \"x\" %x : i32[4] output \"x\" %x write %x to %x");
  EXPECT_EQ(same.report.copies.count, 0);
  EXPECT_EQ(same.method().outputs[0], same.method().inputs[0]);
  EXPECT_NE(error_of("input \"x\" %x : i32[4,2] order (1,0) %n = neg(%x) write %n to %x")
                .find("the model changes its input `x`, which lies channels-last"),
            std::string::npos);
  EXPECT_EQ(error_of("state \"s\" %s = i32[4,2] splat 1 %n = neg(%s) %f = flip(%n) { axes = [0] } "
                     "write %f to %s output \"n\" %n"),
            "");
}

TEST(XnnLower, WhatIsComputedInPlaceOfOneStateIsCopiedToAnother) {
  const Lowered two(
      "state \"a\" %a = i64[4] splat 1 state \"b\" %b = i64[4] splat 2 %n = add(%a, %b) "
      "write %n to %a write %n to %b");
  // In the place of %a, and then copied to %b.
  EXPECT_EQ(two.report.copies.count, 1);
}

TEST(XnnLower, StatesHaveAMemoryOfTheirOwn) {
  const Lowered state(
      "input \"x\" %x : i64[3] state \"s\" %s = i64[3] splat 1 %y = add(%s, %x) "
      "output \"y\" %y");
  ASSERT_EQ(state.method().arena_bytes.size(), 2u);
  EXPECT_EQ(state.method().arena_bytes[kStateMemory - 1], 32u + 64u);  // 24 bytes, aligned; slack
  EXPECT_EQ(state.report.state_bytes, 96);
  ASSERT_EQ(state.report.states.size(), 1u);
  EXPECT_EQ(state.report.states[0].bytes, 24);
  EXPECT_EQ(state.method().inputs.size(), 1u);
  EXPECT_EQ(Lowered("state \"s\" %s = i8[17] splat 1 output \"s\" %s").report.state_bytes, 32 + 64);
  const Lowered none("input \"x\" %x : i64[3] %y = neg(%x) output \"y\" %y");
  EXPECT_EQ(none.method().arena_bytes.size(), 1u);
  EXPECT_EQ(none.report.state_bytes, 0);
}

TEST(XnnLower, OnlyMethodsWithStatesHaveTheirMemory) {
  const Lowered two(
      "graph \"a\" { state \"s\" %s = i64[4] splat 1 %n = neg(%s) write %n to %s }\n"
      "graph \"b\" { input \"x\" %x : i64[4] %y = neg(%x) output \"y\" %y }");
  EXPECT_EQ(two.program.methods[0].arena_bytes.size(), 2u);
  EXPECT_EQ(two.program.methods[1].arena_bytes.size(), 1u);
  EXPECT_EQ(two.report.methods, (std::vector<std::string>{"a", "b"}));
}

TEST(XnnLower, FirstValuesOfEqualBytesAreThereOnce) {
  const auto first_values = [](std::string_view first, std::string_view second) {
    const Lowered two(fmt::format(
        "state \"a\" %a = {} state \"b\" %b = {} output \"a\" %a output \"b\" %b", first, second));
    return two.program.initial_states.size();
  };
  EXPECT_EQ(first_values("i64[4] splat 1", "i64[4] splat 1"), 1u);
  EXPECT_EQ(first_values("i64[4] splat 1", "i64[2,2] splat 1"), 1u);
  EXPECT_EQ(first_values("i64[4] splat 1", "i64[4] splat 2"), 2u);
  // Those of one method are written even if they are zeros.
  EXPECT_EQ(first_values("i64[4] splat 0", "i64[4] splat 2"), 2u);
}

/// Methods share what has one name and one first value, of one type.
TEST(XnnLower, StatesOfOtherTypesAreNotShared) {
  const auto states = [](std::string_view second) {
    const Lowered two(
        fmt::format("graph \"a\" {{ state \"s\" %s = i64[4] splat 0 output \"s\" %s }}\n"
                    "graph \"b\" {{ state {} output \"s\" %s }}",
                    second));
    return two.report.states.size();
  };
  EXPECT_EQ(states("\"s\" %s = i64[4] splat 0"), 1u);
  EXPECT_EQ(states("\"t\" %s = i64[4] splat 0"), 2u);
  EXPECT_EQ(states("\"s\" %s = i64[2,2] splat 0"), 2u);
  EXPECT_EQ(states("\"s\" %s = f64[4] splat 0"), 2u);
}

TEST(XnnLower, ConstantsAreThereOnce) {
  const Lowered kernels(
      "input \"x\" %x : i64[2] %a = constant() { data = i64[2] (1,2) } %b = constant() { data = "
      "i64[2] "
      "(1,2) } %c = constant() { data = i64[2] (1,3) } %p = add(%x, %a) %q = add(%p, %b) "
      "%y = add(%q, %c) output \"y\" %y");
  EXPECT_EQ(kernels.program.constants.size(), 2u);
  EXPECT_EQ(kernels.report.constant_bytes, 32);
  const Lowered delegated(
      "input \"x\" %x : f32[2] %a = constant() { data = f32[2] (1,2) } %b = constant() { data = "
      "f32[2] "
      "(1,2) } %c = constant() { data = f32[2] (1,3) } %p = add(%x, %a) %q = add(%p, %b) "
      "%y = add(%q, %c) output \"y\" %y");
  EXPECT_EQ(delegated.report.constant_bytes, 16);
}

TEST(XnnLower, ScalesOfWeightsAreNamedData) {
  const Lowered lowered(
      "input \"x\" %x : f32[2,2] %w = constant() { data = i8[2,2] splat 1, quantisation = i8 in "
      "[-128,127] scale f32[2,1] (0.5,2) } %y = linear(%x, %w) { dynamic = true } output \"y\" %y");
  const float scales[] = {0.5f, 2.0f};
  EXPECT_EQ(lowered.named("w_scales"),
            std::string(reinterpret_cast<const char*>(scales), sizeof scales));
}

TEST(XnnLower, RefusesAllAtOnce) {
  const std::string axes = "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]";
  EXPECT_EQ(error_of("input \"x\" %x : f32" + axes + " input \"k\" fixed none output \"x\" %x"),
            "cannot run in ExecuTorch: input x: 17 axes, the runtime takes at most 16");
  EXPECT_EQ(
      error_of("input \"x\" %x : f64[2] %y = hardswish(%x) output \"y\" %y")
          .find("cannot run in ExecuTorch: hardswish at y: the runtime has no kernel for it, and "
                "not delegated: XNNPACK has no f64 tensors"),
      0u);
  EXPECT_EQ(error_of("input \"x\" %x : f32[2] %y = hardswish(%x) output \"y\" %y"), "");
}

}  // namespace
}  // namespace layline::xnnpack

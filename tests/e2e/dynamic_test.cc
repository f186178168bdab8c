// One program at several sizes: which sizes it takes, what it says of others, and where it runs.
// What it computes is compared with torch in fixtures_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "compiler/compile.h"
#include "fixture.h"
#include "runtime/program.h"

namespace layline {
namespace {

using Sizes = std::vector<int64_t>;

Compiled compiled(const std::string& fixture) { return compile(model_of(fixture), {}); }

LoadedProgram load(const std::string& fixture) {
  MemorySink sink;
  compiled(fixture).program->write(sink);
  return LoadedProgram::from_compiled(sink.bytes(), fixture);
}

HostTensor zeros(const Sizes& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return {DType::f32, shape, std::vector<std::byte>(static_cast<size_t>(count) * 4)};
}

/// What the program says to inputs of these shapes; empty if it runs.
std::string complaint(LoadedProgram& program, const std::vector<Sizes>& shapes) {
  std::vector<HostTensor> inputs;
  for (const Sizes& shape : shapes) inputs.push_back(zeros(shape));
  try {
    program.run(inputs);
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(Dynamic, SizesOutOfRangeAreRefused) {
  LoadedProgram program = load("dynamic_batch");
  EXPECT_EQ(complaint(program, {{1, 3, 12, 12}}), "");
  EXPECT_EQ(complaint(program, {{8, 3, 12, 12}}), "");
  EXPECT_EQ(complaint(program, {{9, 3, 12, 12}}),
            "input `x`: axis 0 is 9, out of range: [s1,3,12,12], s1 from 1 to 8");
  EXPECT_NE(complaint(program, {{0, 3, 12, 12}}), "");
  EXPECT_EQ(complaint(program, {{2, 3, 12, 13}}),
            "input `x`: axis 3 is 13, but it is fixed: [s1,3,12,12], s1 from 1 to 8");
  EXPECT_EQ(complaint(program, {{2, 3, 12}}),
            "input `x` is f32[2, 3, 12], expected f32[s1,3,12,12], s1 from 1 to 8");
  EXPECT_EQ(complaint(program, {{3, 3, 12, 12}}), "") << "a refusal leaves nothing behind";
}

TEST(Dynamic, SizesThatMustAgreeAreCompared) {
  LoadedProgram program = load("dynamic_two_inputs");
  EXPECT_EQ(complaint(program, {{2, 7, 6}, {2, 8, 6}}), "");
  EXPECT_EQ(complaint(program, {{2, 7, 6}, {3, 8, 6}}),
            "input `y`: axis 0 is 3, but the other inputs make it 2; the shape is [s1,s3,6], "
            "s3 = s2+1, s1 from 1 to 8, s2 from 2 to 23");
  EXPECT_NE(complaint(program, {{2, 7, 6}, {2, 7, 6}}).find("but the other inputs make it 8"),
            std::string::npos);
  const auto shapes = program.complete_shapes({std::nullopt, Sizes{2, 9, 6}});
  EXPECT_EQ(shapes[0], (Sizes{2, 8, 6}));
  EXPECT_EQ(program.complete_shapes({std::nullopt, std::nullopt})[1], (Sizes{8, 24, 6}));
}

TEST(Dynamic, MultiplesAreAskedFor) {
  LoadedProgram program = load("dynamic_everything");
  EXPECT_EQ(complaint(program, {{1, 3, 10, 8}}), "");
  EXPECT_NE(complaint(program, {{1, 3, 11, 8}}).find("axis 2 is 11"), std::string::npos);
}

/// Dim without a min: torch writes that the range begins at 0.
TEST(Dynamic, NoLowerBoundIsOne) {
  LoadedProgram program = load("dynamic_numbers");
  EXPECT_EQ(complaint(program, {{2, 1, 3}}), "");
  EXPECT_EQ(complaint(program, {{2, 0, 3}}),
            "input `x`: axis 1 is 0, out of range: [s1,s2,3], s1 from 1 to 8, s2 from 1 to 24");
}

/// The table of dynamic_place has 8 rows.
TEST(Dynamic, PlacesBeyondTheEndAreRefused) {
  LoadedProgram program = load("dynamic_place");
  const auto runs_at = [&program](int64_t place) {
    HostTensor places{DType::i64, {3}, std::vector<std::byte>(3 * sizeof(int64_t))};
    std::memcpy(places.bytes.data(), &place, sizeof place);
    try {
      program.run({zeros({1, 3, 4}), places});
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  EXPECT_TRUE(runs_at(5));
  EXPECT_FALSE(runs_at(6));
  EXPECT_FALSE(runs_at(-1));
  EXPECT_TRUE(runs_at(0));
}

/// Masks, positions and lengths stand before the first delegate. Only writing to the cache, which
/// XNNPACK cannot do, separates delegates.
TEST(Dynamic, ADecoderIsCutOnlyAtItsCache) {
  for (const char* fixture :
       {"decoder", "decoder_strict", "quantised_decoder", "decoder_capped", "decoder_sloped"})
    EXPECT_EQ(compiled(fixture).report.delegates, 2) << fixture;
}

TEST(Dynamic, ReportTellsTheSymbols) {
  const Report report = compiled("dynamic_batch").report;
  EXPECT_EQ(report.inputs[0].shape, (Sizes{8, 3, 12, 12}));
  EXPECT_EQ(report.inputs[0].symbolic_shape, (std::vector<std::string>{"s1", "3", "12", "12"}));
  ASSERT_EQ(report.symbols.size(), 1u);
  EXPECT_EQ(report.symbols[0].min, 1);
  EXPECT_EQ(report.symbols[0].max, 8);
}

/// One dynamic size costs no border; where two meet in a view, that view stands outside.
TEST(Dynamic, StaysInOneDelegate) {
  for (const char* fixture :
       {"dynamic_batch", "dynamic_batch_residual", "dynamic_batch_mobile", "dynamic_image_pool"}) {
    const Report report = compiled(fixture).report;
    EXPECT_EQ(report.delegates, 1) << fixture;
    EXPECT_TRUE(report.portable_ops.empty()) << fixture;
  }
  const Report merge = compiled("dynamic_merge").report;
  const bool says_so = std::ranges::any_of(merge.portable_ops, [](const PortableOp& op) {
    return op.op == "relayout" && op.why.starts_with("several dynamic sizes meet in a view of ");
  });
  EXPECT_TRUE(says_so);
}

TEST(Dynamic, FixedProgramsRecordNoSizes) {
  EXPECT_TRUE(compiled("linear").report.symbols.empty());
}

}  // namespace
}  // namespace layline

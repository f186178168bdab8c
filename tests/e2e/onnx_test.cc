// The fixtures of tests/data/onnx: compiled with every pass checked by the reference evaluator, run
// in the real ExecuTorch runtime, compared with what ONNX Runtime computed.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/import_options.h"
#include "fixture.h"
#include "layline/layline.h"

namespace layline {
namespace {

using Texts = std::map<std::string, std::string>;

struct OnnxFixture {
  const char* name;
  Texts dims = {};
  Texts fixed = {};
  double tolerance = 1e-5;
};

const OnnxFixture kFixtures[] = {
    {"convs", {{"n", "1"}, {"height", "16..64:4"}, {"width", "16..64:4"}}},
    {"encoder", {{"length", "1..64"}}},
    {"recurrent"},
    {"branches", {{"n", "3"}}, {{"rate", "16000"}}},
    {"quantised", {}, {}, 0.02},
    {"loops", {{"length", "1..20"}}},
    {"one_hot", {{"length", "1..32"}}},
    {"dynamic", {}, {}, 0.02},
    {"directions", {{"length", "1..20"}}},
    {"quantised_steps", {{"length", "1..20"}}, {}, 0.02},
};

std::string path_of(const OnnxFixture& fixture) {
  return fmt::format("{}/onnx/{}.onnx", LAYLINE_TEST_DATA, fixture.name);
}

CompileOptions options_of(const OnnxFixture& fixture) {
  CompileOptions options;
  options.import_options = parse_import_options(fixture.dims, fixture.fixed);
  options.verify = true;
  return options;
}

class Onnx : public testing::TestWithParam<OnnxFixture> {};

TEST_P(Onnx, MatchesOnnxRuntime) {
  const Compiled compiled = compile(path_of(GetParam()), options_of(GetParam()));
  expect_outputs(compiled, fmt::format("onnx/{}", GetParam().name), {GetParam().tolerance, 0});
}

/// The public interface takes the same texts as the command.
TEST_P(Onnx, CompilesThroughThePublicInterface) {
  const OnnxFixture& fixture = GetParam();
  const CompiledModel model =
      compile_model(path_of(fixture), {.dims = fixture.dims, .fix = fixture.fixed});
  CompileOptions options = options_of(fixture);
  options.verify = false;
  MemorySink sink;
  compile(path_of(fixture), options).program->write(sink);
  EXPECT_TRUE(std::ranges::equal(model.bytes(), sink.bytes()));
}

INSTANTIATE_TEST_SUITE_P(All, Onnx, testing::ValuesIn(kFixtures),
                         [](const auto& test) { return std::string(test.param.name); });

Compiled fixture_for(size_t fixture, const char* target) {
  CompileOptions options = options_of(kFixtures[fixture]);
  options.target = target;
  if (fixture == 0)
    options.import_options =
        parse_import_options({{"n", "1"}, {"height", "32"}, {"width", "48"}}, {});
  return compile(path_of(kFixtures[fixture]), options);
}

TEST(OnnxPrograms, AreOneDelegateWithoutPermutesInside) {
  const Compiled compiled = fixture_for(0, "xnnpack");
  EXPECT_EQ(compiled.report.delegates, 1);
  EXPECT_TRUE(compiled.report.portable_ops.empty());
}

/// A picture of dynamic size is resized by copies in delegates, and by no kernel of the runtime.
TEST(OnnxPrograms, ResizeDynamicSizesInDelegates) {
  const Compiled compiled = compile(path_of(kFixtures[0]), options_of(kFixtures[0]));
  EXPECT_TRUE(compiled.report.portable_ops.empty());
  EXPECT_EQ(compiled.report.delegates, 2);
}

/// Nothing rounds between two products that quantise what they read.
TEST(OnnxPrograms, AreOneDelegateWithDynamicScales) {
  const Compiled compiled = fixture_for(7, "xnnpack");
  EXPECT_EQ(compiled.report.delegates, 1);
  EXPECT_TRUE(compiled.report.portable_ops.empty());
}

TEST(OnnxPrograms, AreQuantisedWhereTheModelIs) {
  const Compiled compiled = fixture_for(4, "xnnpack");
  EXPECT_EQ(compiled.report.delegates, 1);
  EXPECT_TRUE(compiled.report.portable_ops.empty());
}

/// The ops of all three bodies are there once.
TEST(OnnxPrograms, LoopsStayLoops) {
  const Compiled compiled = fixture_for(5, "xnnpack");
  EXPECT_LE(compiled.report.delegates, 5);
  EXPECT_LT(compiled.report.ops, 40);
}

TEST(OnnxPrograms, CompileForTosa) { EXPECT_GT(fixture_for(0, "tosa").report.ops, 0); }

}  // namespace
}  // namespace layline

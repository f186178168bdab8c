// What recognising attention buys, on models as torch exports them and with the defaults of
// `layline compile`. That the results are right, fixtures_test.cc checks for the same models.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "fixture.h"

namespace layline {
namespace {

Compiled compiled(const std::string& fixture, CompileOptions options = {}) {
  return compile(model_of(fixture), options);
}

int64_t portable_ops(const Report& report) {
  int64_t count = 0;
  for (const PortableOp& op : report.portable_ops) count += op.count;
  return count;
}

/// How often an op stands in the graph that is emitted.
int count(const std::string& fixture, const std::string& op,
          std::vector<std::string> disabled = {}) {
  CompileOptions options;
  options.emit = "fuse_clamp";
  options.disabled_passes = std::move(disabled);
  const std::string text = compiled(fixture, options).text;
  int found = 0;
  for (size_t at = text.find("= " + op + "("); at != std::string::npos;
       at = text.find("= " + op + "(", at + 1))
    ++found;
  return found;
}

class BothExports : public testing::TestWithParam<const char*> {
 protected:
  std::string named(const std::string& fixture) const { return fixture + GetParam(); }
};

TEST_P(BothExports, NoScaleIsLeftOutsideTheProjections) {
  const std::string fixture = named("attention_scales");
  // Two products belong to the rotary embedding.
  EXPECT_EQ(count(fixture, "mul"), 2);
  EXPECT_EQ(count(fixture, "div"), 0);
  EXPECT_GT(count(fixture, "mul", {"recognise_attention"}), 2);
  EXPECT_GT(count(fixture, "mul", {"fold_scale"}), 2);
  const Report report = compiled(fixture).report;
  EXPECT_EQ(report.delegates, 1);
  EXPECT_EQ(portable_ops(report), 0);
}

TEST_P(BothExports, NoScoresAreComparedWithInfinity) {
  EXPECT_EQ(count(named("attention_masks"), "equal"), 0);
  EXPECT_GT(count(named("attention_masks"), "equal", {"recognise_attention"}), 0);
}

TEST_P(BothExports, SharedKeysAreNotRepeated) {
  const std::string fixture = named("attention_groups");
  // Without the pass the repetition is a product with ones, after legalisation.
  EXPECT_EQ(count(fixture, "mul") + count(fixture, "expand"), 0);
  EXPECT_GT(count(fixture, "mul", {"fold_repeats"}), 0);
  EXPECT_EQ(compiled(fixture).report.delegates, 1);
}

TEST_P(BothExports, DeitIsOneDelegate) {
  const Report report = compiled(named("deit")).report;
  EXPECT_EQ(report.delegates, 1);
  EXPECT_EQ(portable_ops(report), 0);
  EXPECT_TRUE(report.kernels.empty());
}

TEST(Attention, AMaskOfRealsIsReadInTheDelegate) {
  const Report report = compiled("attention_mask_of_reals").report;
  EXPECT_EQ(report.delegates, 1);
  EXPECT_EQ(portable_ops(report), 0);
}

/// Two of the three layers have no mask of their own. Each reads the keys and the values of its two
/// heads, and both read one mask.
TEST(AttentionOnACache, ReadsWhatIsFilledOfIt) {
  EXPECT_EQ(count("custom_ops", "counted_slice"), 2 * 2 * 2 + 1);
  EXPECT_EQ(count("custom_ops", "counted_slice", {"attend_to_filled"}), 0);
  CompileOptions options;
  options.for_target.kernels = "llm";
  const std::vector<std::string> kernels = compiled("custom_ops", options).report.kernels;
  EXPECT_EQ(std::ranges::count(kernels, "llama::custom_sdpa.out"), 1);
}

INSTANTIATE_TEST_SUITE_P(All, BothExports, testing::Values("", ".decomposed"),
                         [](const auto& suffix) {
                           return std::string(suffix.param).empty() ? "exported" : "decomposed";
                         });

}  // namespace
}  // namespace layline

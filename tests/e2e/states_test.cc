// The order of a state in memory is free, and chosen: what is read and written in one order is held
// in it, and no run moves it.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "fixture.h"

namespace layline {
namespace {

Permutes permutes(const std::string& fixture, std::vector<std::string> disabled = {}) {
  CompileOptions options;
  options.disabled_passes = std::move(disabled);
  return compile(model_of(fixture), options).report.permutes;
}

TEST(StateOrder, ACacheIsHeldAsAttentionReadsIt) {
  EXPECT_EQ(permutes("state_cache_rows").final, 0);
  EXPECT_GT(permutes("state_cache_rows", {"place_layouts"}).final, 1);
}

TEST(StateOrder, AnImageBetweenConvolutionsIsHeldChannelsLast) {
  EXPECT_EQ(permutes("state_conv").final, 1);  // of the input
  EXPECT_GT(permutes("state_conv", {"place_layouts"}).final, 2);
}

}  // namespace
}  // namespace layline

// The runtime's weights cache, which keeps packed weights by their key for all programs of a
// process, and frees what was packed: every fixture with it on, in one process.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "fixture.h"

namespace layline {
namespace {

namespace et = executorch::runtime;

et::Error use_weights_cache(bool on) {
  et::BackendOptions<1> options;
  const et::Error error = options.set_option("weight_cache_enabled", on);
  return error == et::Error::Ok ? et::set_option("XnnpackBackend", options.view()) : error;
}

// The cache goes by the names of weights and bias, but what XNNPACK packs of a static int8 product
// has the scales of its input and result in it. Steps of an unrolled recurrence share weights and
// differ in scales, and get each other's (docs/limits.md).
bool shares_weights_between_scales(const std::string& fixture) {
  return fixture.starts_with("quantised_tosa_") &&
         (fixture.ends_with("_lstm") || fixture.find("_lstm_") != std::string::npos ||
          fixture.find("_gru_") != std::string::npos);
}

TEST(WeightsCache, EveryFixtureMatchesTorch) {
  ASSERT_EQ(use_weights_cache(true), et::Error::Ok);
  for (const std::string& fixture : all_fixtures()) {
    SCOPED_TRACE(fixture);
    if (shares_weights_between_scales(fixture)) continue;
    const Compiled compiled = compile(model_of(fixture), {});
    Tolerance tolerance{fixture.starts_with("half_") ? 5e-3 : 1e-5};
    if (fixture.starts_with("quantised_")) tolerance = quantised_tolerance(fixture);
    expect_outputs(compiled, fixture, tolerance);
  }
  EXPECT_EQ(use_weights_cache(false), et::Error::Ok);
}

}  // namespace
}  // namespace layline

// Every fixture without delegates: constants, scalars among them, reach the runtime's own kernels.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "fixture.h"

namespace layline {
namespace {

class Undelegated : public testing::TestWithParam<std::string> {};

TEST_P(Undelegated, MatchesTorch) {
  CompileOptions options;
  options.disabled_passes = {"delegate"};
  const Compiled compiled = compile(model_of(GetParam()), options);
  EXPECT_EQ(compiled.report.delegates, 0);
  for (const PortableOp& op : compiled.report.portable_ops)
    EXPECT_EQ(op.why, "delegation is disabled");
  Tolerance tolerance{GetParam().starts_with("half_") ? 1e-2 : 1e-5};
  if (GetParam().starts_with("quantised_")) tolerance = quantised_tolerance(GetParam());
  expect_outputs(compiled, GetParam(), tolerance);
}

INSTANTIATE_TEST_SUITE_P(All, Undelegated, testing::ValuesIn(all_fixtures()), test_name);

}  // namespace
}  // namespace layline

// Every fixture under tests/data: compiled with every pass checked by the reference evaluator, run
// in the real ExecuTorch runtime, compared with what torch computed.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "fixture.h"

namespace layline {
namespace {

Tolerance tolerance(const std::string& fixture) {
  // quantised_test.cc asks for more.
  if (fixture.starts_with("quantised_")) return quantised_tolerance(fixture);
  return {fixture.starts_with("half_") ? 5e-3 : 1e-5};  // f16 has 11 bits
}

class Fixture : public testing::TestWithParam<std::string> {};

TEST_P(Fixture, MatchesTorch) {
  const std::filesystem::path base = std::filesystem::path(LAYLINE_TEST_DATA) / GetParam();
  CompileOptions options;
  options.verify = true;
  const Compiled compiled = compile(base.string() + ".pt2", options);
  for (const std::string& method : compiled.report.methods) {
    const bool lone = compiled.report.methods.size() == 1;
    expect_outputs(*compiled.program, method, lone ? base : base / method, tolerance(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Fixture, testing::ValuesIn(all_fixtures()), test_name);

}  // namespace
}  // namespace layline

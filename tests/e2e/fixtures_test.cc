// Every fixture under tests/data: compiled with every pass checked by the reference evaluator, run
// in the real ExecuTorch runtime, compared with what torch computed.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/sink.h"
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

std::vector<std::byte> written(const Compiled& compiled) {
  MemorySink sink;
  compiled.program->write(sink);
  return sink.take();
}

/// For any device, and for those whose costs were measured where that makes another program.
TEST_P(Fixture, MatchesTorch) {
  std::vector<std::vector<std::byte>> programs;
  for (const char* profile : {"", "epyc-avx2", "epyc-avx512"}) {
    CompileOptions options;
    options.for_target.profile = profile;
    std::vector<std::byte> program = written(compile(model_of(GetParam()), options));
    if (std::ranges::find(programs, program) != programs.end()) continue;
    programs.push_back(std::move(program));
    options.verify = true;
    const Compiled compiled = compile(model_of(GetParam()), options);
    expect_outputs(compiled, GetParam(), tolerance(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Fixture, testing::ValuesIn(all_fixtures()), test_name);

}  // namespace
}  // namespace layline

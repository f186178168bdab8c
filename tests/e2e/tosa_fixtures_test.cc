// Every model of tests/data as TOSA: it compiles, or the user is told why not.
#include <gtest/gtest.h>

#include "base/error.h"
#include "compiler/compile.h"
#include "fixture.h"

namespace layline {
namespace {

TEST(TosaFixtures, CompileOrSayWhyNot) {
  int compiled = 0;
  for (const std::string& fixture : all_fixtures()) {
    SCOPED_TRACE(fixture);
    CompileOptions options;
    options.target = "tosa";
    try {
      compiled += !compile(model_of(fixture), options).report.outputs.empty();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(';'), std::string::npos)
          << "no remedy in: " << error.what();
    }
  }
  EXPECT_GT(compiled, 150);
}

}  // namespace
}  // namespace layline

// Every model of tests/data as TOSA: it compiles, or the user is told why not.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "compiler/compile.h"

namespace layline {
namespace {

TEST(TosaFixtures, CompileOrSayWhyNot) {
  int compiled = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LAYLINE_TEST_DATA)) {
    if (entry.path().extension() != ".pt2") continue;
    SCOPED_TRACE(entry.path().filename());
    CompileOptions options;
    options.target = "tosa";
    try {
      compiled += !compile(entry.path(), options).report.outputs.empty();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(';'), std::string::npos)
          << "no remedy in: " << error.what();
    }
  }
  EXPECT_GT(compiled, 150);
}

}  // namespace
}  // namespace layline

// Tables of embeddings: in the program once, and never dequantised as a whole.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/sink.h"
#include "compiler/compile.h"

namespace layline {
namespace {

struct Written {
  Report report;
  int64_t bytes;  // of the program
};

Written written(const std::string& model) {
  Compiled compiled = compile(model, {});
  MemorySink sink;
  compiled.program->write(sink);
  return {compiled.report, std::ssize(sink.bytes())};
}

Written written_text(const std::string& text) {
  const std::string path =
      std::filesystem::path(testing::TempDir()) / fmt::format("tables_{}.lay", ::getpid());
  std::ofstream(path) << text;
  Written result = written(path);
  std::filesystem::remove(path);
  return result;
}

/// A gather of rows of the table %t, and a product with it. `table` makes it.
std::string tied(std::string_view table) {
  return fmt::format(
      R"(graph "forward" {{
  input "i" %i : i64[3]
{}
  %r = gather(%t, %i) {{ axis = 0 }}
  %y = linear(%r, %t)
  output "y" %y
}}
)",
      table);
}

constexpr int64_t kRows = 200, kColumns = 64, kElements = kRows * kColumns;

TEST(Tables, RealTablesAreSharedWithTheHead) {
  const Written program = written_text(tied("%t = constant() { data = f32[200,64] splat 0.5 }"));
  EXPECT_EQ(program.report.constant_bytes, 4 * kElements);
  EXPECT_LT(program.bytes, 4 * kElements + 4096);
}

/// A table of integers in a range, dequantised with a scale for each row.
std::string tied_integers(std::string_view range) {
  return tied(
      fmt::format("%q = constant() {{ data = i8[200,64] splat 3, quantisation = i8 in {} scale "
                  "f32[200,1] splat 0.25 }}\n%t = dequantize(%q)",
                  range));
}

TEST(Tables, IntegersAreSharedWithTheHead) {
  const Written bytes = written_text(tied_integers("[-128,127]"));
  EXPECT_LT(bytes.report.constant_bytes, kElements + 4 * kRows * 2 + 64);
  EXPECT_LT(bytes.bytes, kElements + 4 * kRows * 2 + 4096);
  // The real table would be four times as large.
  EXPECT_LT(bytes.report.arena_bytes, 4 * kElements / 8);
}

TEST(Tables, FourBitsAreSharedWithTheHead) {
  const Written nibbles = written_text(tied_integers("[-8,7]"));
  EXPECT_LT(nibbles.report.constant_bytes, kElements / 2 + 4 * kRows * 2 + 64);
}

TEST(Tables, TiedFixture) {
  constexpr int64_t kTable = 96 * 32 * 4;
  const Written program = written(LAYLINE_TEST_DATA "/tied_embedding.pt2");
  EXPECT_GE(program.report.constant_bytes, kTable);
  EXPECT_LT(program.report.constant_bytes, kTable + 1024);
}

TEST(Bfloat16, IsComputedInOneDelegateAndSaysSo) {
  const Written program = written(LAYLINE_TEST_DATA "/bfloat16.pt2");
  EXPECT_EQ(program.report.delegates, 1);
  ASSERT_EQ(program.report.notes.size(), 1u);
  EXPECT_NE(program.report.notes[0].find("computed in f32"), std::string::npos);
  EXPECT_TRUE(written(LAYLINE_TEST_DATA "/tied_embedding.pt2").report.notes.empty());
}

}  // namespace
}  // namespace layline

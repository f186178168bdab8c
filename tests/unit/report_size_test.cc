// Reports are linear in the graph, also where all of it comes from one node of the model.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json_writer.h"
#include "compiler/compile.h"
#include "report/html.h"
#include "report/model_explorer.h"

namespace layline {
namespace {

/// A recurrence, unrolled: five ops a step, two of which passes fold. All have one origin.
std::string unrolled(size_t steps) {
  std::string text = "graph \"forward\" {\n  input \"x\" %h0 : f32[2,8]\n";
  for (size_t i = 0; i < steps; ++i)
    text += fmt::format(
        "  %a{0} = relayout(%h{0}) {{ relayout = [2,8] (2,8)->(1,0) [8,2] }} @1\n"
        "  %b{0} = relayout(%a{0}) {{ relayout = [8,2] (8,2)->(1,0) [2,8] }} @1\n"
        "  %c{0} = sigmoid(%b{0}) @1\n"
        "  %d{0} = tanh(%h{0}) @1\n"
        "  %h{1} = mul(%c{0}, %d{0}) @1\n",
        i, i + 1);
  return text + fmt::format(
                    "  output \"y\" %h{}\n"
                    "  origin @1 \"lstm\" \"net.py:7\" \"rnn\"\n}}\n",
                    steps);
}

class ReportSize : public testing::Test {
 protected:
  Compiled compile_text(const std::string& text) {
    const std::string path =
        std::filesystem::path(testing::TempDir()) / fmt::format("report_size_{}.lay", ::getpid());
    std::ofstream(path) << text;
    CompileOptions options;
    options.draw = true;
    Compiled compiled = compile(path, options);
    std::filesystem::remove(path);
    return compiled;
  }
};

std::string json_of(const Compiled& compiled) {
  return json_text(
      [&](JsonWriter& json) { write_report(json, compiled.report, compiled.pictures); });
}

size_t page_size(const Compiled& compiled) {
  size_t size = 0;
  write_page([&](std::string_view text) { size += text.size(); }, compiled.report,
             compiled.pictures);
  return size;
}

TEST_F(ReportSize, IsLinearInTheOps) {
  const Compiled half = compile_text(unrolled(2'000)), whole = compile_text(unrolled(4'000));
  ASSERT_EQ(whole.pictures.before[0].nodes.size(), 20'002u);
  ASSERT_GE(whole.pictures.reasons.size(), 4'000u);
  constexpr double kMostRatio = 2.2;
  EXPECT_LT(static_cast<double>(json_of(whole).size()),
            kMostRatio * static_cast<double>(json_of(half).size()));
  EXPECT_LT(static_cast<double>(page_size(whole)),
            kMostRatio * static_cast<double>(page_size(half)));
}

TEST_F(ReportSize, NoNodeTellsMoreReasonsThanCanBeRead) {
  const Compiled compiled = compile_text(unrolled(500));
  simdjson::dom::parser parser;
  simdjson::dom::element report;
  ASSERT_EQ(parser.parse(json_of(compiled)).get(report), simdjson::SUCCESS);
  ptrdiff_t most = 0;
  bool says_that_there_are_more = false;
  for (const simdjson::dom::element graph : report["graphs"])
    for (const simdjson::dom::element node : graph["nodes"])
      for (const simdjson::dom::element attribute : node["attrs"]) {
        if (std::string_view(attribute["key"]) != "why") continue;
        const std::string_view why = attribute["value"];
        most = std::max(most, std::ranges::count(why, ';'));
        says_that_there_are_more |= why.ends_with(" more");
      }
  EXPECT_EQ(most, static_cast<ptrdiff_t>(kMostReasonsTold));
  EXPECT_TRUE(says_that_there_are_more);
}

TEST_F(ReportSize, TheTimeToDrawIsToldApart) {
  const Compiled compiled = compile_text(unrolled(100));
  EXPECT_GT(compiled.report.report_ms, 0);
  EXPECT_GT(compiled.report.compile_ms, 0);
}

}  // namespace
}  // namespace layline

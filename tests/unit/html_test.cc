#include "report/html.h"

#include <gtest/gtest.h>
#include <simdjson.h>

namespace layline {
namespace {

/// What the page holds between the tags of its data.
std::string data_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="data">)";
  const size_t start = page.find(begin) + begin.size();
  return page.substr(start, page.find("</script>", start) - start);
}

std::string to_html(const Report& report, const Pictures& pictures) {
  std::string page;
  write_page([&](std::string_view text) { page += text; }, report, pictures);
  return page;
}

TEST(Html, HoldsTheReportAndThePictures) {
  Report report;
  report.model = "net.pt2";
  report.ops = 7;
  Pictures pictures;
  PictureNode x, y;
  x.name = "x";
  x.op = "input";
  y.name = "y";
  y.op = "relu";
  y.inputs = {0};
  y.module = "a.b";
  pictures.before = {{"forward", {x, y}}};
  pictures.reasons = {{"place_layouts", "y", "relu", "keeps its order"}};
  const std::string page = to_html(report, pictures);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_EQ(page.find("@LAYLINE_DATA@"), std::string::npos);

  simdjson::dom::parser parser;
  simdjson::dom::element data;
  ASSERT_EQ(parser.parse(data_of(page)).get(data), simdjson::SUCCESS);
  EXPECT_EQ(int64_t(data["report"]["ops"]), 7);
  EXPECT_EQ(std::string_view(data["before"].at(0)["nodes"].at(1)["module"]), "a.b");
  EXPECT_EQ(int64_t(data["before"].at(0)["nodes"].at(1)["inputs"].at(0)), 0);
  const auto folder = uint64_t(data["before"].at(0)["nodes"].at(1)["folder"]);
  EXPECT_EQ(std::string_view(data["before"].at(0)["folders"].at(folder)), "a.b");
  EXPECT_EQ(data["before"].at(0)["nodes"].at(0)["module"].error(), simdjson::NO_SUCH_FIELD);
  EXPECT_EQ(std::string_view(data["reasons"].at(0)["text"]), "keeps its order");
}

TEST(Html, NothingInAModelEndsTheScript) {
  Report report;
  report.model = "</script><script>alert(1)</script>";
  const std::string page = to_html(report, {});
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  simdjson::dom::parser parser;
  simdjson::dom::element data;
  ASSERT_EQ(parser.parse(data_of(page)).get(data), simdjson::SUCCESS);
  EXPECT_EQ(std::string_view(data["report"]["model"]), report.model);
}

}  // namespace
}  // namespace layline

#include "report/model_explorer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

namespace layline {
namespace {

using simdjson::dom::element;

std::string attribute(element node, std::string_view key) {
  for (const element attribute : node["attrs"])
    if (std::string_view(attribute["key"]) == key)
      return std::string(std::string_view(attribute["value"]));
  return "";
}

std::string to_json(const Report& report, const Pictures& pictures) {
  return json_text([&](JsonWriter& json) { write_report(json, report, pictures); });
}

TEST(ModelExplorer, AReportHasItsGraphsAndWhatPermutesMove) {
  Report report;
  report.model = "net.pt2";
  report.permutes.final = 1;
  report.permutes.survivors = {{"y", "[2,3] (2,3)->(1,0) [3,2]", 24, {"the input x", "z"}}};
  PictureNode x, permute, z, output;
  x.name = "y";  // an input may have the name of a value
  x.op = "input";
  permute.name = "y";
  permute.op = "relayout";
  permute.inputs = {0};
  permute.moves = "[2,3] (2,3)->(1,0) [3,2]";
  permute.bytes = 24;
  permute.where = "runs in an XNNPACK delegate";
  z.name = "z";
  z.op = "relu";
  z.origin = "relu";
  z.module = "features.0";
  z.source = "net.py:3: \"y\"";
  z.inputs = {1, 1};
  z.constants = {"f32[4]"};
  output.name = "y";
  output.op = "output";
  output.inputs = {2};
  Pictures pictures;
  pictures.before = {{"forward", {x, z, output}}};
  pictures.before[0].nodes[1].inputs = {0};
  pictures.after = {{"forward", {x, permute, z, output}}};
  pictures.reasons = {{"place_layouts", "y", "", "is needed"},
                      {"fuse", "gone", "relu", "took its clamp"}};

  simdjson::dom::parser parser;
  element document;
  ASSERT_EQ(parser.parse(to_json(report, pictures)).get(document), simdjson::SUCCESS);
  EXPECT_EQ(std::string_view(document["model"]), "net.pt2");  // still a report
  EXPECT_EQ(std::string_view(document["label"]), "net.pt2");
  EXPECT_EQ(std::string_view(document["graphs"].at(0)["id"]), "forward after");
  EXPECT_EQ(std::string_view(document["graphs"].at(1)["id"]), "forward before");
  const element nodes = document["graphs"].at(0)["nodes"];
  EXPECT_EQ(std::string_view(nodes.at(0)["id"]), "input y");
  EXPECT_EQ(std::string_view(nodes.at(3)["id"]), "output y");
  EXPECT_EQ(std::string_view(nodes.at(1)["label"]), "permute");
  EXPECT_EQ(attribute(nodes.at(1), "forced by"), "the input x and z");
  EXPECT_EQ(attribute(nodes.at(1), "bytes"), "24");
  EXPECT_EQ(attribute(nodes.at(1), "why"), "place_layouts: y is needed");
  EXPECT_EQ(std::string_view(nodes.at(1)["style"]["backgroundColor"]), "#fad2cf");
  EXPECT_EQ(std::string_view(nodes.at(2)["namespace"]), "features/0");
  EXPECT_EQ(nodes.at(2)["style"].error(), simdjson::NO_SUCH_FIELD);
  EXPECT_EQ(attribute(nodes.at(2), "source"), "net.py:3: \"y\"");
  EXPECT_EQ(attribute(nodes.at(2), "why"), "fuse: gone took its clamp");
  EXPECT_EQ(std::string_view(nodes.at(2)["incomingEdges"].at(1)["targetNodeInputId"]), "1");
  EXPECT_EQ(std::string_view(nodes.at(2)["incomingEdges"].at(1)["sourceNodeId"]), "y");
  EXPECT_EQ(int64_t(document["forward after"]["results"]["y"]["value"]), 24);
  EXPECT_EQ(simdjson::dom::object(document["forward before"]["results"]).size(), 0u);
}

TEST(ModelExplorer, PermutesThatAreAlikeAreToldOneAfterTheOther) {
  Report report;
  report.permutes.survivors = {{"a", "[2,3] (2,3)->(1,0) [3,2]", 24, {"x", "y"}},
                               {"b", "[2,3] (2,3)->(1,0) [3,2]", 24, {"y", "z"}}};
  PictureNode permute;
  permute.op = "relayout";
  permute.moves = "[2,3] (2,3)->(1,0) [3,2]";
  permute.bytes = 24;
  permute.where = "runs";
  Pictures pictures;
  pictures.after = {{"forward", {permute, permute, permute}}};
  simdjson::dom::parser parser;
  element document;
  ASSERT_EQ(parser.parse(to_json(report, pictures)).get(document), simdjson::SUCCESS);
  const element nodes = document["graphs"].at(0)["nodes"];
  EXPECT_EQ(attribute(nodes.at(0), "forced by"), "x and y");
  EXPECT_EQ(attribute(nodes.at(1), "forced by"), "y and z");
  EXPECT_EQ(attribute(nodes.at(2), "forced by"), "");
}

TEST(ModelExplorer, StepsAreDrawnOnceWithTheirCount) {
  Picture picture = {"forward", {}};
  for (size_t i = 0; i < 20; ++i) {
    PictureNode& node = picture.nodes.emplace_back();
    node.name = std::string(1, static_cast<char>('a' + i));
    node.op = "abs";
    if (i > 0) node.inputs = {i - 1};
  }
  picture.nodes[0].op = "input";
  Pictures pictures;
  pictures.after = {picture};
  simdjson::dom::parser parser;
  element document;
  ASSERT_EQ(parser.parse(to_json({}, pictures)).get(document), simdjson::SUCCESS);
  const element nodes = document["graphs"].at(0)["nodes"];
  EXPECT_EQ(attribute(nodes.at(1), "repeats"), "19");
  EXPECT_EQ(std::string_view(nodes.at(1)["namespace"]), "");
  EXPECT_EQ(attribute(nodes.at(2), "repeats"), "");
  EXPECT_EQ(std::string_view(nodes.at(2)["namespace"]), "18 more like b/repeat 2");
}

}  // namespace
}  // namespace layline

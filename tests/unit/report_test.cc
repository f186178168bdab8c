#include "report/report.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>

#include "base/json_writer.h"

namespace layline {
namespace {

using simdjson::dom::element;

class ReportTest : public testing::Test {
 protected:
  element parse(const std::string& text) {
    element document;
    EXPECT_EQ(parser_.parse(text).get(document), simdjson::SUCCESS) << text;
    return document;
  }
  static std::vector<std::string> keys(element object) {
    std::vector<std::string> names;
    for (const auto& [key, value] : simdjson::dom::object(object)) names.emplace_back(key);
    return names;
  }

  simdjson::dom::parser parser_;
};

std::string to_json(const Report& report) {
  return json_text([&](JsonWriter& json) { json.object([&] { write_members(json, report); }); });
}

Report sample() {
  Report report;
  report.version = "1.2.3";
  report.model = "net.pt2";
  report.target = "xnnpack";
  report.compile_ms = 12.34567;
  report.report_ms = 0.5;
  report.ops = 7;
  report.delegates = 1;
  report.portable_ops = {{"argmax", 2, "XNNPACK has no such kernel"}};
  report.permutes = {2, 3, 1, 1, 96, {{"permute_3", "[1,2,3,4]", 96, {"conv", "output"}}}};
  report.placements = {{"forward", true, {0.25, 2}, {0.25, 2}, {1.5, 7}, {0.5, 3}}};
  report.profile = "epyc-avx2";
  report.inputs = {{"x", "f32", {8, 3, 32}, {0, 2, 1}, "forward", {"s1", "3", "2*s2"}}};
  report.symbols = {{"forward", "s1", "batch", "", 1, 8}, {"forward", "s2", "", "s1+8", 9, 16}};
  report.outputs = {{"y", "i64", {}, {}, "forward", {}}};
  report.states = {{"cache", "f32", {2, 4}, 32, {"prefill", "decode"}}};
  report.arena_bytes = 100;
  report.arena_lower_bound_bytes = 90;
  report.constant_bytes = 80;
  report.slices = {1, 10};
  report.concats = {2, 20};
  report.copies = {3, 30};
  report.kernels = {"aten::argmax.out"};
  report.backends = {"XnnpackBackend"};
  report.methods = {"forward"};
  report.passes = {{"fold-constants", 0.5}};
  return report;
}

TEST_F(ReportTest, HasTheKeysOfTheContract) {
  const element report = parse(to_json(sample()));
  EXPECT_EQ(keys(report),
            (std::vector<std::string>{
                "version",   "model",        "target",   "compile_ms", "report_ms", "ops",
                "delegates", "portable_ops", "permutes", "placements", "moves",     "inputs",
                "outputs",   "symbols",      "states",   "memory",     "kernels",   "backends",
                "methods",   "passes",       "profile"}));
  EXPECT_EQ(keys(report["portable_ops"].at(0)), (std::vector<std::string>{"op", "count", "why"}));
  EXPECT_EQ(keys(report["permutes"]), (std::vector<std::string>{"source", "implied", "absorbed",
                                                                "final", "bytes", "survivors"}));
  EXPECT_EQ(keys(report["placements"].at(0)),
            (std::vector<std::string>{"method", "proved", "cost", "bound", "before", "written"}));
  EXPECT_EQ(keys(report["permutes"]["survivors"].at(0)),
            (std::vector<std::string>{"node", "shape", "bytes", "forced_by"}));
  EXPECT_EQ(keys(report["inputs"].at(0)),
            (std::vector<std::string>{"name", "dtype", "shape", "dim_order", "method",
                                      "symbolic_shape"}));
  EXPECT_EQ(keys(report["outputs"].at(0)),
            (std::vector<std::string>{"name", "dtype", "shape", "dim_order", "method"}));
  EXPECT_EQ(keys(report["symbols"].at(0)),
            (std::vector<std::string>{"method", "symbol", "name", "formula", "min", "max"}));
  EXPECT_EQ(keys(report["memory"]),
            (std::vector<std::string>{"arena_bytes", "arena_lower_bound_bytes", "state_bytes",
                                      "constant_bytes"}));
  EXPECT_EQ(keys(report["states"].at(0)),
            (std::vector<std::string>{"name", "dtype", "shape", "bytes", "methods"}));
  EXPECT_EQ(keys(report["moves"]), (std::vector<std::string>{"slice", "concat", "copy"}));
  EXPECT_EQ(keys(report["moves"]["copy"]), (std::vector<std::string>{"count", "bytes"}));
}

TEST_F(ReportTest, KeepsItsValues) {
  const element report = parse(to_json(sample()));
  EXPECT_EQ(std::string_view(report["model"]), "net.pt2");
  EXPECT_NEAR(double(report["compile_ms"]), 12.346, 1e-9);
  EXPECT_NEAR(double(report["report_ms"]), 0.5, 1e-9);
  EXPECT_EQ(int64_t(report["ops"]), 7);
  EXPECT_EQ(int64_t(report["portable_ops"].at(0)["count"]), 2);
  EXPECT_EQ(int64_t(report["permutes"]["implied"]), 3);
  EXPECT_TRUE(bool(report["placements"].at(0)["proved"]));
  EXPECT_EQ(double(report["placements"].at(0)["bound"]["ms"]), 0.25);
  EXPECT_EQ(int64_t(report["placements"].at(0)["before"]["permutes"]), 7);
  EXPECT_EQ(double(report["placements"].at(0)["written"]["ms"]), 0.5);
  EXPECT_EQ(std::string_view(report["profile"]), "epyc-avx2");
  EXPECT_EQ(std::string_view(report["permutes"]["survivors"].at(0)["forced_by"].at(1)), "output");
  EXPECT_EQ(int64_t(report["moves"]["slice"]["bytes"]), 10);
  EXPECT_EQ(int64_t(report["moves"]["concat"]["count"]), 2);
  EXPECT_EQ(int64_t(report["memory"]["constant_bytes"]), 80);
  EXPECT_EQ(std::string_view(report["kernels"].at(0)), "aten::argmax.out");
  EXPECT_EQ(std::string_view(report["passes"].at(0)["pass"]), "fold-constants");
}

TEST_F(ReportTest, SizesAreNumbersAndSymbolsAreStrings) {
  const element report = parse(to_json(sample()));
  const element shape = report["inputs"].at(0)["shape"];
  EXPECT_EQ(int64_t(shape.at(0)), 8);
  EXPECT_EQ(int64_t(shape.at(1)), 3);
  EXPECT_EQ(int64_t(shape.at(2)), 32);
  const element symbolic = report["inputs"].at(0)["symbolic_shape"];
  EXPECT_EQ(std::string_view(symbolic.at(0)), "s1");
  EXPECT_EQ(std::string_view(symbolic.at(2)), "2*s2");
  EXPECT_EQ(std::string_view(report["symbols"].at(0)["name"]), "batch");
  EXPECT_EQ(int64_t(report["symbols"].at(0)["max"]), 8);
  EXPECT_EQ(std::string_view(report["symbols"].at(1)["formula"]), "s1+8");
  EXPECT_EQ(int64_t(report["inputs"].at(0)["dim_order"].at(1)), 2);
  EXPECT_EQ(simdjson::dom::array(report["outputs"].at(0)["shape"]).size(), 0u);
}

TEST_F(ReportTest, AnEmptyReportIsStillWhole) {
  const element report = parse(to_json(Report{}));
  EXPECT_EQ(simdjson::dom::array(report["portable_ops"]).size(), 0u);
  EXPECT_EQ(int64_t(report["permutes"]["final"]), 0);
}

}  // namespace
}  // namespace layline

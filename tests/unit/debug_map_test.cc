#include "pte/debug_map.h"

#include <gtest/gtest.h>
#include <layline/sources.h>

#include "base/error.h"
#include "base/sink.h"
#include "ir/text.h"
#include "pte/writer.h"
#include "targets/xnnpack/lower.h"

namespace layline {
namespace {

using pte::MethodDebugMap;

TEST(DebugMap, TheDocumentIsAsDescribed) {
  EXPECT_EQ(
      pte::write_debug_map({{"forward",
                             {{"y", "conv2d", "net.py:12", "features.0"},
                              {"conv2d_4", "conv2d", "", ""},
                              {"conv2d", "conv2d", "net.py:12", ""}},
                             {0, 1}}}),
      R"({"version":2,"methods":{"forward":{"sources":["net.py:12"],"modules":["features.0"],)"
      R"("origins":[["y",1,1,"conv2d"],["conv2d_4",0,0,6],["conv2d",1,0]],)"
      R"("instructions":[0,1]}}})");
}

TEST(DebugMap, ReadsWhatItWrites) {
  const std::vector<MethodDebugMap> methods = {{"forward",
                                                {{"x", "a", "x.py:1: \"y\"\n", ""},
                                                 {"y", "", "", "m"},
                                                 {"y_1", "y", "", "m"},
                                                 {"z", "z", "x.py:1: \"y\"\n", "m"}},
                                                {0, 3}},
                                               {"encode", {}, {}}};
  EXPECT_EQ(pte::read_debug_map(pte::write_debug_map(methods)), methods);
}

TEST(DebugMap, RefusesDamagedDocuments) {
  const char* const documents[] = {
      "",
      "[]",
      R"({"version":1,"methods":{}})",
      R"({"version":2})",
      R"({"version":2,"methods":{"f":1}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"origins":[],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[1],"modules":[],"origins":[],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",1,0]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",-1,0]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",0]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",0,0,"",1]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":["s"],"modules":["m"],"origins":[["y",2,0]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":["s"],"modules":["m"],"origins":[["y",0,2]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[[1,0,0]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",0,0,1]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",0,0,-1]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",0,0,[]]],"instructions":[]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[["y",0,0]],"instructions":[2]}}})",
      R"({"version":2,"methods":{"f":{"sources":[],"modules":[],"origins":[],"instructions":[1]}}})",
  };
  for (const char* const document : documents)
    EXPECT_THROW(pte::read_debug_map(document), UserError) << document;
}

std::vector<std::byte> compiled(std::string_view text, const xnnpack::LowerOptions& options = {}) {
  Report report;
  MemorySink sink;
  pte::write_program(xnnpack::lower(parse_graphs(text, "test"), report, options), sink);
  return sink.take();
}

// Two nodes of one origin, one of another, and one of none.
constexpr std::string_view kGraph = R"(
graph "forward" {
  input "x" %x : f32[4]
  %a = tanh(%x) @1
  %b = mul(%a, %a) @2
  %c = tanh(%b) @1
  %d = exp(%c)
  output "y" %d
  origin @1 "tanh" "net.py:3" "act"
  origin @2 "mul" "net.py:4" ""
}
)";

std::vector<std::string> nodes(const ProgramSources& sources,
                               const std::vector<uint32_t>& handles) {
  std::vector<std::string> names;
  for (const uint32_t handle : handles)
    names.push_back(handle == 0 ? "" : sources.places()[handle - 1].node);
  return names;
}

TEST(ProgramSources, OperatorsOfXnnpackKeepTheirOrigin) {
  const auto sources = ProgramSources::read(compiled(kGraph), "test");
  ASSERT_EQ(sources.places().size(), 4u);
  EXPECT_EQ(sources.places()[2].value, "c");
  EXPECT_EQ(sources.places()[2].source, "net.py:3");
  EXPECT_EQ(sources.places()[2].module, "act");
  using Names = std::vector<std::string>;
  const auto of = [&](const Names& names) { return nodes(sources, sources.operators(0, names)); };
  EXPECT_EQ(of({"TanH (NC) #1", "Multiply (ND) #1", "TanH (NC) #2", "Exp (NC) #1"}),
            (Names{"tanh", "mul", "tanh", ""}));
  EXPECT_EQ(sources.operators(0, {"TanH (NC) #1", "Multiply (ND) #1", "TanH (NC) #2"}),
            (std::vector<uint32_t>{1, 2, 3}));
  // What XNNPACK fuses away, and what it adds, does not confuse the rest.
  EXPECT_EQ(of({"TanH (NC) #1", "TanH (NC) #2"}), (Names{"tanh", "tanh"}));
  EXPECT_EQ(of({"Pack LH (NC) #1", "TanH (NC) #1", "Convert (NC) #1", "Multiply (ND) #1"}),
            (Names{"", "tanh", "", "mul"}));
  EXPECT_EQ(of({"Sigmoid (NC) #1"}), (Names{""}));
  EXPECT_EQ(of({"TanH (NC) #1", "Multiply (ND) #1", "Clamp (NC) #1", "TanH (NC) #2"}),
            (Names{"tanh", "mul", "mul", "tanh"}));
  EXPECT_EQ(sources.operators(9, {"TanH (NC) #1"}), (std::vector<uint32_t>{0}));
  EXPECT_EQ(sources.kernel(0), 0u);
}

TEST(ProgramSources, KernelsKeepTheirOrigin) {
  const auto sources = ProgramSources::read(compiled(kGraph, {.delegate = false}), "test");
  EXPECT_EQ(nodes(sources, {sources.kernel(0), sources.kernel(1), sources.kernel(2),
                            sources.kernel(3), sources.kernel(4)}),
            (std::vector<std::string>{"tanh", "mul", "tanh", "", ""}));
}

TEST(ProgramSources, StrippedProgramsSayNothing) {
  EXPECT_TRUE(ProgramSources::read(compiled(kGraph, {.strip = true}), "test").places().empty());
  EXPECT_TRUE(ProgramSources::read(compiled(kGraph), "test", "backward").places().empty());
}

TEST(ProgramSources, RefusesWhatIsNoProgram) {
  std::vector<std::byte> bytes = compiled(kGraph);
  bytes.resize(bytes.size() / 2);
  EXPECT_THROW(ProgramSources::read(bytes, "test"), UserError);
  EXPECT_THROW(ProgramSources::read({}, "test"), UserError);
}

}  // namespace
}  // namespace layline

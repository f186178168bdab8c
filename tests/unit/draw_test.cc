#include "compiler/draw.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "targets/pte_program.h"

namespace layline {
namespace {

TEST(Draw, NodesConstantsPermutesAndTheBoundary) {
  const std::vector<Graph> graphs = parse_graphs(R"(
graph "g" {
  input "x" %x : f32[2,3]
  %t = relayout(%x) { relayout = [2,3] (2,3)->(1,0) [3,2] }
  %y = abs(%t)
  output "y" %y
})",
                                                 "test");
  const Picture picture = draw(graphs[0], {{"y", nullptr, "abs", "", "runs here"}});
  ASSERT_EQ(picture.nodes.size(), 4u);
  EXPECT_EQ(picture.nodes[0].op, "input");
  EXPECT_EQ(picture.nodes[0].bytes, 24);
  EXPECT_FALSE(picture.nodes[1].moves.empty());
  EXPECT_EQ(picture.nodes[2].inputs, std::vector<size_t>{1});
  EXPECT_EQ(picture.nodes[2].where, "runs here");
  EXPECT_TRUE(picture.nodes[2].moves.empty());
  EXPECT_EQ(picture.nodes[3].op, "output");
  EXPECT_EQ(picture.nodes[3].inputs, std::vector<size_t>{2});
}

TEST(Draw, ADecisionThatIsMadeAgainIsToldOnce) {
  const auto origin = std::make_shared<const Origin>(Origin{"conv", "", ""});
  const std::vector<Reason> reasons = draw_reasons({{"p", "x", origin, "stays"},
                                                    {"p", "y", nullptr, "stays"},
                                                    {"p", "x", origin, "stays"},
                                                    {"q", "x", origin, "stays"},
                                                    {"q", "x", origin, "goes"}});
  ASSERT_EQ(reasons.size(), 4u);
  EXPECT_EQ(reasons[0].origin, "conv");
  EXPECT_EQ(reasons[1].value, "y");
  EXPECT_EQ(reasons[1].origin, "");
  EXPECT_EQ(reasons[2].pass, "q");
  EXPECT_EQ(reasons[3].text, "goes");
}

TEST(Draw, ATensorOfTheArenaLivesFromItsFirstInstructionToItsLast) {
  pte::Program program;
  pte::Method& method = program.methods.emplace_back();
  const auto tensor = [&](uint64_t offset) {
    pte::TensorDesc desc;
    desc.sizes = {2, 3};
    desc.storage = pte::PlannedData{pte::kArena, offset};
    return method.add(desc);
  };
  const pte::ValueId a = tensor(0), b = tensor(32);
  pte::TensorDesc outside;
  outside.sizes = {2, 3};
  const pte::ValueId c = method.add(outside);
  method.inputs = {c};
  method.outputs = {b};
  method.instructions = {pte::KernelCall{"aten::relu", "out", {c, a}},
                         pte::KernelCall{"aten::relu", "out", {a, b}},
                         pte::KernelCall{"aten::relu", "out", {b, c}}};
  const std::vector<ArenaTensor> drawn = PteProgram(program).arena();
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_EQ(drawn[0].bytes, 24);
  EXPECT_EQ(drawn[0].first, 0);
  EXPECT_EQ(drawn[0].last, 1);
  EXPECT_EQ(drawn[1].offset, 32);
  EXPECT_EQ(drawn[1].first, 1);
  EXPECT_EQ(drawn[1].last, 2);
}

}  // namespace
}  // namespace layline

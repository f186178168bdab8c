// How the pipeline runs its passes: how often, in which order, and what it checks after each. The
// target's own lowering, the pass `legalise`, stands for any pass here.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "transforms_testing.h"

namespace layline {
namespace {

using Lowering = std::function<bool(Graph&, PassContext&)>;

PipelineOptions with(Lowering lowering) {
  PipelineOptions options;
  options.target.legalise = std::move(lowering);
  return options;
}

Graph tanh_graph(const char* shape = "[2,3]", const char* symbols = "") {
  return parse_graph(fmt::format("graph \"g\" {{ {} input \"x\" %x : f32{}\n%t = tanh(%x)\n"
                                 "output \"y\" %t }}",
                                 symbols, shape),
                     "test");
}

const PassReport& of(const PipelineReport& report, std::string_view pass) {
  return *std::ranges::find(report.passes, pass, &PassReport::pass);
}

TEST(PipelineRun, APassIsNotRunAgainOnWhatItHasSeen) {
  Graph graph = tanh_graph();
  const PipelineReport report = run_pipeline(graph);
  ASSERT_EQ(report.passes.size(), all_passes().size());
  for (size_t i = 0; i < report.passes.size(); ++i) {
    const PassReport& entry = report.passes[i];
    EXPECT_EQ(entry.pass, all_passes()[i].name);
    // Placement proves its choice the last time.
    EXPECT_EQ(entry.runs, entry.pass == "place_layouts" ? 2 : 1) << entry.pass;
    EXPECT_EQ(entry.changes, 0) << entry.pass;
    EXPECT_EQ(entry.rewrites, 0u) << entry.pass;
  }
  EXPECT_TRUE(report.certificate);
}

TEST(PipelineRun, PassesFollowOnEachOther) {
  Graph graph = tanh_graph();
  std::vector<std::string_view> ran;
  PipelineOptions options;
  options.on_pass = [&](const Pass& pass, const Graph&) { ran.push_back(pass.name); };
  run_pipeline(graph, options);
  const auto first = [&](std::string_view name) { return std::ranges::find(ran, name); };
  // What is written out is recognised before anything moves; what is quantised when it runs, before
  // it is placed; fusions come when the target has had its say, and new convolutions last.
  const std::string_view order[] = {
      "scan_bodies",    "fold_constants",  "recognise_gelu", "dead_code",   "quantise_dynamically",
      "merge_linears",  "place_layouts",   "fuse_pad",       "legalise",    "fuse_clamp",
      "real_depthwise", "split_depthwise", "winograd_convs", "unfold_convs"};
  for (size_t i = 1; i < std::size(order); ++i)
    EXPECT_LT(first(order[i - 1]), first(order[i])) << order[i];
  EXPECT_EQ(ran.front(), "scan_bodies");
  EXPECT_EQ(ran.back(), "unfold_convs");
  EXPECT_LT(first("slice_quantised"), first("fuse_clamp"));
}

TEST(PipelineRun, APassIsNotRunAgainOnItsOwnResult) {
  Graph graph = tanh_graph();
  const PipelineReport report =
      run_pipeline(graph, with([](Graph&, PassContext&) { return true; }));
  EXPECT_EQ(of(report, "legalise").runs, 1);
  EXPECT_EQ(of(report, "legalise").changes, 1);
  // What has seen the graph before it changed sees it again.
  EXPECT_EQ(of(report, "dead_code").runs, 2);
  EXPECT_EQ(of(report, "dead_code").changes, 0);
  EXPECT_EQ(of(report, "recognise_gelu").runs, 1);
}

TEST(PipelineRun, APassThatIsDisabledChangesNothing) {
  Graph graph = tanh_graph();
  PipelineOptions options;
  options.disabled = {"fuse_pad"};
  const PipelineReport report = run_pipeline(graph, options);
  EXPECT_EQ(of(report, "fuse_pad").runs, 0);
  EXPECT_EQ(of(report, "dead_code").runs, 1);
}

TEST(PipelineRun, AGroupIsRunUntilNothingInItChanges) {
  // A batch norm is folded late in the group, and leaves work for those before it.
  TestModel m;
  m.output(m.batch_norm(m.conv_nchw(m.input({1, 3, 6, 6}), 4)));
  std::vector<std::string_view> ran;
  PipelineOptions options;
  options.stop_after = "quantise_dynamically";
  options.on_pass = [&](const Pass& pass, const Graph&) { ran.push_back(pass.name); };
  const PipelineReport report = run_pipeline(m.built(), options);
  EXPECT_GE(of(report, "fold_affine").changes, 1);
  EXPECT_EQ(of(report, "fold_scale").changes, 0);
  EXPECT_GE(of(report, "dead_code").runs, 2);
  const auto folded = std::ranges::find(ran, "fold_affine");
  EXPECT_NE(std::find(folded, ran.end(), "dead_code"), ran.end());
}

/// Puts a view between x and what reads it, which others then drop.
bool insert_view(Graph& graph) {
  Value* x = graph.inputs()[0].value;
  Node* reader = x->uses()[0].user;
  graph.set_insertion_point(reader);
  Value* view =
      graph.add(Op::relayout, {x}, RelayoutAttrs{Relayout::view(x->shape(), x->shape())}, nullptr);
  graph.set_insertion_point(nullptr);
  graph.set_operand(reader, 0, view);
  return true;
}

TEST(PipelineRun, APassIsRunAgainOnWhatOthersMade) {
  Graph graph = tanh_graph();
  std::vector<bool> last;
  PipelineOptions options = with([&](Graph& changed, PassContext& context) {
    last.push_back(context.last_time());
    context.rewrite(*changed.first(), "is looked at");
    context.rewrite(*changed.first(), "again");
    return insert_view(changed);
  });
  options.explain = true;
  const PipelineReport report = run_pipeline(graph, options);
  // The target has its say three times, and knows the last of them.
  EXPECT_EQ(last, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(of(report, "legalise").runs, 3);
  EXPECT_EQ(of(report, "legalise").changes, 3);
  EXPECT_EQ(of(report, "legalise").rewrites, 6u);
  EXPECT_EQ(std::ranges::count(report.explanations, "legalise", &Explanation::pass), 6);
}

TEST(PipelineRun, StopsAfterAPassThatIsDisabled) {
  Graph graph = tanh_graph();
  int called = 0;
  PipelineOptions options = with([&](Graph&, PassContext&) { return ++called > 0; });
  options.disabled = {"legalise", "place_layouts"};
  options.stop_after = "legalise";
  const PipelineReport report = run_pipeline(graph, options);
  EXPECT_EQ(called, 0);
  EXPECT_EQ(of(report, "legalise").runs, 0);
  EXPECT_EQ(of(report, "fuse_pad").runs, 1);
  EXPECT_EQ(of(report, "fuse_clamp").runs, 0);
  EXPECT_FALSE(report.certificate);
}

TEST(PipelineRun, StopsWithinARound) {
  Graph graph = tanh_graph();
  PipelineOptions options = with([](Graph&, PassContext&) { return true; });
  options.stop_after = "legalise";
  const PipelineReport report = run_pipeline(graph, options);
  EXPECT_EQ(of(report, "legalise").runs, 1);
  EXPECT_EQ(of(report, "dead_code").runs, 1);
}

// ---- what is checked ----

/// Puts another op in the place of one.
Lowering puts(Op op, Op instead, Attributes attributes = NoAttrs{}) {
  return [=](Graph& graph, PassContext&) {
    for (Node* node : graph) {
      if (!node->is(op)) continue;
      graph.set_insertion_point(node);
      Value* other = graph.add(instead, {node->operand(0)}, attributes, nullptr);
      graph.set_insertion_point(nullptr);
      graph.replace_all_uses(node->result(), other);
      graph.erase(node);
      return true;
    }
    return false;
  };
}

std::string failure(Graph graph, const PipelineOptions& options) {
  try {
    run_pipeline(graph, options);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(PipelineRun, ValidatesWhenAsked) {
  PipelineOptions options = with(puts(Op::tanh, Op::exp));
  EXPECT_EQ(failure(tanh_graph(), options), "");
  options.validate = true;
  EXPECT_TRUE(failure(tanh_graph(), options).starts_with("pass legalise changes output y"))
      << failure(tanh_graph(), options);
}

TEST(PipelineRun, ValidatesWithTheInputsGiven) {
  // Of 0, the sine and the hyperbolic tangent are the same.
  PipelineOptions options = with(puts(Op::tanh, Op::sin));
  options.validate = true;
  EXPECT_NE(failure(tanh_graph(), options), "");
  options.validation_inputs = {Tensor({DType::f32, {2, 3}})};
  EXPECT_EQ(failure(tanh_graph(), options), "");
  options.validation_inputs[0].set(4, 1);
  EXPECT_NE(failure(tanh_graph(), options), "");
}

TEST(PipelineRun, ValidatesThreeSizes) {
  // Rolled by 10, rows of 2 and 5 stay what they are, and rows of 8 do not.
  const auto moved = [](int64_t shift, const char* symbols, const char* shape) {
    PipelineOptions options = with(puts(Op::flip, Op::roll, RollAttrs{{0}, {shift}}));
    options.validate = true;
    Graph graph = parse_graph(fmt::format("graph \"g\" {{ {} input \"x\" %x : f32{}\n"
                                          "%y = flip(%x) {{ axes = [] }}\noutput \"y\" %y }}",
                                          symbols, shape),
                              "test");
    options.disabled = {"simplify", "fold_relayouts"};
    return failure(std::move(graph), options);
  };
  const char* symbols = "symbol s1 \"n\" in [1,100]";
  EXPECT_EQ(moved(40, symbols, "[s1]"), "");
  EXPECT_NE(moved(10, symbols, "[s1]"), "");
  EXPECT_EQ(moved(10, "", "[5]"), "");
  EXPECT_NE(moved(10, "", "[8]"), "");
}

TEST(PipelineRun, VerifiesTheGraphAfterEachPass) {
  const PipelineOptions options = with([](Graph& graph, PassContext&) {
    // What is read has another shape than the op was made for.
    Value* half = graph.constant(Constant::of(Tensor({DType::f32, {2}})), nullptr);
    graph.set_operand(graph.first(), 0, half);
    return true;
  });
  const std::string message = failure(tanh_graph(), options);
  EXPECT_TRUE(message.starts_with("after pass legalise: ")) << message;
}

/// Scales that are chosen at run time, of rows that differ, and a weight of integers.
Graph dynamic_graph() {
  return parse_graph(R"(graph "g" {
    input "x" %x : f32[2,3]
    %t = tanh(%x)
    %s = choose_scale(%t) { axes = [0,1], max = 3, min = -4, eps = 1e-7 }
    %z = choose_zero_point(%t) { axes = [0,1], max = 3, min = -4, eps = 1e-7 }
    %q = quantize_by(%t, %s, %z) { min = -4, max = 3 }
    %d = dequantize_by(%q, %s, %z)
    %w = constant() { data = i8[2,3] (1,2,3,4,5,6),
                      quantisation = i8 in [-128,127] scale f32[2,1] (0.1,0.2) }
    %dw = dequantize(%w)
    %y = linear(%d, %dw)
    output "y" %y
  })",
                     "test");
}

TEST(PipelineRun, WhatIsRoundedAnewIsComparedFromThereOn) {
  PipelineOptions options;
  options.validate = true;
  // Eight steps of one scale become 256 of one for each row: no validation would take that.
  EXPECT_EQ(failure(dynamic_graph(), options), "");
  options.target.legalise = puts(Op::tanh, Op::exp);
  EXPECT_TRUE(failure(dynamic_graph(), options).starts_with("pass legalise changes output y"))
      << failure(dynamic_graph(), options);
  options.validate = false;
  EXPECT_EQ(failure(dynamic_graph(), options), "");
}

}  // namespace
}  // namespace layline

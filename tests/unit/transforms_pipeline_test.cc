// The choke point, and the property that every pass must have: the graph means the same afterwards.
#include "transforms/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "../random_graph.h"
#include "../seeds.h"
#include "base/error.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms_testing.h"

namespace layline {
namespace {

TestModel small_model() {
  TestModel m;
  m.output(m.relu(m.batch_norm(m.conv_nchw(m.input({1, 3, 6, 6}), 4, 3, 1))));
  return m;
}

TEST(Pipeline, PassesHaveNamesAndSummaries) {
  std::set<std::string_view> names;
  for (const Pass& pass : all_passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
  }
}

TEST(Pipeline, UnknownNamesListThePasses) {
  TestModel m = small_model();
  for (const PipelineOptions& options :
       {PipelineOptions{.disabled = {"fold_afine"}}, PipelineOptions{.stop_after = "fold_afine"}}) {
    try {
      run_pipeline(m.built(), options);
      FAIL();
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("fold_affine"), std::string::npos) << error.what();
    }
  }
}

TEST(Pipeline, DisabledPassesDoNotRun) {
  for (const Pass& pass : all_passes()) {
    TestModel m = small_model();
    const PipelineReport report =
        run_pipeline(m.built(), {.disabled = {std::string(pass.name)}, .validate = true});
    for (const PassReport& entry : report.passes)
      EXPECT_EQ(entry.runs > 0, entry.pass != pass.name) << entry.pass;
  }
}

TEST(Pipeline, StopsAfterAPassAndShowsEachGraph) {
  TestModel m = small_model();
  std::vector<std::string_view> ran;
  run_pipeline(m.built(),
               {.stop_after = "fold_relayouts",
                .on_pass = [&](const Pass& pass, const Graph&) { ran.push_back(pass.name); }});
  EXPECT_EQ(ran.back(), "fold_relayouts");
  EXPECT_EQ(std::ranges::count(ran, "fold_relayouts"), 1);
}

TEST(Pipeline, ExplainsOnlyWhenAsked) {
  TestModel quiet = small_model();
  EXPECT_TRUE(run_pipeline(quiet.built()).explanations.empty());
  TestModel loud = small_model();
  EXPECT_FALSE(run_pipeline(loud.built(), {.explain = true}).explanations.empty());
}

TEST(Pipeline, IsStable) {
  TestModel m = small_model();
  run_pipeline(m.built());
  const std::string once = print(m.built());
  for (const PassReport& report : run_pipeline(m.built()).passes)
    EXPECT_EQ(report.rewrites, 0u) << report.pass;
  EXPECT_EQ(print(m.built()), once);
}

TEST(Pipeline, SymbolicSizes) {
  TestModel m;
  const Dim batch = Dim::symbol(m.built().add_symbol({"batch", 1, 16}));
  Value* x = m.input({batch, 3, 4, 4});
  x = m.relu(m.batch_norm(m.conv_nchw(x, 4, 3, 1)));
  x = m.add(Op::add, {x, m.conv_nchw(x, 4)});
  m.output(m.add(Op::reduce_mean, {x}, AxesAttrs{{2, 3}})).run_all();
  EXPECT_EQ(m.moves(), 1);
}

TEST(Validator, NamesThePassAndTheOutput) {
  TestModel m;
  Value* x = m.input({2, 3});
  m.output(x).output(m.add(Op::neg, {x}));
  Validator validator(m.built(), probes(m.built()));
  m.built().set_output(1, x, {0, 1});
  try {
    validator.check(m.built(), "wrong_pass");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("pass wrong_pass changes output y1"),
              std::string::npos)
        << error.what();
  }
}

TEST(Validator, NamesTheFirstNodeThatDiffers) {
  auto origin = [](const char* name) {
    return std::make_shared<const Origin>(Origin{name, "model.py:3", ""});
  };
  Graph graph("g");
  const OriginRef wrong = origin("exp_1");
  Value* x = graph.add_input("x", {DType::f32, {2, 3}});
  Value* a = graph.add(Op::abs, {x}, NoAttrs{}, origin("abs_1"));
  Value* b = graph.add(Op::exp, {a}, NoAttrs{}, wrong);
  Value* c = graph.add(Op::neg, {b}, NoAttrs{}, origin("neg_1"));
  graph.add_output("y", c);
  Validator validator(graph, probes(graph));
  Graph broken("g");
  Value* input = broken.add_input("x", {DType::f32, {2, 3}});
  Value* sine = broken.add(Op::sin, {broken.add(Op::abs, {input}, NoAttrs{}, a->def()->origin())},
                           NoAttrs{}, wrong);
  broken.add_output("y", broken.add(Op::neg, {sine}, NoAttrs{}, c->def()->origin()));
  try {
    validator.check(broken, "wrong_pass");
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("first node that differs is exp_1 (model.py:3)"),
              std::string::npos)
        << error.what();
  }
}

TEST(Validator, ProbesAreIntegersWhereOpsAreExact) {
  TestModel m;
  m.output(m.conv_nchw(m.input({1, 3, 4, 4}), 4));
  const std::vector<Tensor> inputs = probes(m.built());
  for (int64_t i = 0; i < inputs[0].count(); ++i)
    EXPECT_EQ(inputs[0].get(i), std::round(inputs[0].get(i)));
}

TEST(Pipeline, LinearInTheSizeOfTheGraph) {
  TestModel m;
  Value* x = m.input({1, 2, 2, 2});
  for (int i = 0; i < 5000; ++i) x = m.add(Op::add, {m.relu(m.conv_nchw(x, 2)), x});
  m.output(x);
  run_pipeline(m.built());
  EXPECT_EQ(m.count(Op::conv), 5000);
  EXPECT_LE(m.moves(), 2);
}

/// Relayouts that move data.
int moves(const Graph& graph) {
  int result = 0;
  for (const Node* node : graph)
    result += node->is(Op::relayout) && !node->attrs<RelayoutAttrs>().relayout.is_view();
  return result;
}

TEST(Pipeline, RandomGraphsMeanTheSame) {
  int moves_before = 0, moves_after = 0;
  const uint32_t first = first_seed(0), count = graph_count(400);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    RandomGraph random(seed, 25);
    const std::string text = print(random.graph());
    moves_before += moves(random.graph());
    PipelineOptions options;
    if (seed % 2 == 0) options.target = xnnpack::rules();
    options.validate = options.explain = true;
    try {
      const auto certificate = run_pipeline(random.graph(), options).certificate.value();
      EXPECT_LE(certificate.cost.price(), certificate.before.price()) << "seed " << seed;
      EXPECT_EQ(certificate.written,
                standing_cost(random.graph(), options.target.orders_for(random.graph())));
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << ": " << error.what() << "\n" << text;
    }
    moves_after += moves(random.graph());
  }
  EXPECT_TRUE(count < 10 || 4 * moves_after < 3 * moves_before)
      << moves_after << " of " << moves_before;
}

}  // namespace
}  // namespace layline

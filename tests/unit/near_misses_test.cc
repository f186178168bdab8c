// Every pass fires where it should and nowhere else: tests/near_misses.
#include "../near_misses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>

#include "../seeds.h"
#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "random_op.h"
#include "targets/tosa/tosa_rules.h"
#include "targets/xnnpack/profile.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/pipeline.h"
#include "transforms/validate.h"

namespace layline {
namespace {

const std::filesystem::path kFolder = LAYLINE_TEST_DATA "/../near_misses";

TargetRules rules_of(const std::string& target) {
  if (target == "xnnpack") return xnnpack::rules();
  if (target == "xnnpack avx2")  // on which windows are slow
    return xnnpack::rules(xnnpack::find_profile("epyc-avx2"));
  if (target == "xnnpack avx512") return xnnpack::rules(xnnpack::find_profile("epyc-avx512"));
  if (target == "xnnpack llm") {
    TargetRules rules = xnnpack::rules();
    rules.attends_causally = true;
    return rules;
  }
  if (target == "xnnpack short caches") {
    TargetRules rules = xnnpack::rules();
    rules.counted_keys = {.least = 6, .step = 2};
    return rules;
  }
  if (target == "tosa") return tosa::rules();
  EXPECT_EQ(target, "");
  return {};
}

bool is_finite(const std::vector<Tensor>& results) {
  return std::ranges::all_of(results, [](const Tensor& result) {
    for (int64_t i = 0; i < result.count(); ++i)
      if (!std::isfinite(result.get(i))) return false;
    return true;
  });
}

class NearMisses : public testing::TestWithParam<std::string> {};

TEST_P(NearMisses, FireOnlyWhereTheyShould) {
  const auto all = all_passes();
  const auto pass = std::ranges::find(all, GetParam(), &Pass::name);
  ASSERT_NE(pass, all.end()) << "no pass has the name of this file";
  size_t misses = 0;
  for (const NearMiss& near : read_near_misses(kFolder / (GetParam() + ".near"))) {
    SCOPED_TRACE(near.name);
    misses += !near.fires;
    try {
      Graph graph = parse_graph(near.text, near.name);
      verify(graph);
      Validator validator(graph, probes(graph));
      const std::string before = print(graph);
      const TargetRules rules = rules_of(near.target);
      PassContext context(pass->name, rules, nullptr);
      const bool changed = pass->run(graph, context);
      EXPECT_EQ(changed, near.fires) << print(graph);
      EXPECT_EQ(changed, print(graph) != before);
      verify(graph);
      if (!pass->rounds_anew) validator.check(graph, pass->name);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(misses, 0);
}

INSTANTIATE_TEST_SUITE_P(Passes, NearMisses, testing::ValuesIn(near_miss_files(kFolder)),
                         [](const auto& file) { return file.param; });

/// Two or three edits of one graph at once, at random, through all passes: whatever they make
/// together of a graph that several of them just miss, it means what it meant. Edits that do not go
/// together are passed over, and so are graphs that overflow.
TEST(NearMissFiles, RandomEditsTogetherMeanTheSame) {
  std::vector<std::vector<NearMiss>> graphs;  // each as it stands, then its cases
  for (const std::string& name : near_miss_files(kFolder))
    for (NearMiss& near : read_near_misses(kFolder / (name + ".near"))) {
      if (near.edits.empty() && near.fires) graphs.emplace_back();
      graphs.back().push_back(std::move(near));
    }
  uint32_t made = 0;
  for (uint32_t seed = first_seed(); seed < first_seed() + graph_count(2000); ++seed) {
    Random random(seed);
    const auto pick = [&](const auto& list) -> const auto& {
      return list[static_cast<size_t>(random.between(0, std::ssize(list) - 1))];
    };
    const std::vector<NearMiss>& cases = pick(graphs);
    std::string text = cases[0].text, names;
    std::optional<Graph> graph;
    try {
      for (int64_t i = random.between(2, 3); i > 0; --i) {
        const NearMiss& next = pick(cases);
        names += next.name + "\n";
        for (const std::string& change : next.edits) near_misses::edit(text, change, next.name);
      }
      graph = parse_graph(text, names);
      if (!is_finite(evaluate(*graph, probes(*graph)))) continue;
    } catch (const std::exception&) {
      continue;
    }
    ++made;
    try {
      run_pipeline(*graph, {.target = rules_of(cases[0].target), .validate = true});
    } catch (const UserError&) {  // the target has no kernel for it
    } catch (const std::exception& error) {
      ADD_FAILURE() << "LAYLINE_SEED=" << seed << " LAYLINE_GRAPHS=1: " << error.what() << "\n"
                    << names << text;
    }
  }
  if (graph_count(2000) >= 100) {
    EXPECT_GT(made, graph_count(2000) / 5);
  }
}

/// A new pass comes with the graphs on which it must not fire.
TEST(NearMissFiles, EveryPassHasOne) {
  std::set<std::string> files;
  for (const std::string& name : near_miss_files(kFolder)) files.insert(name);
  for (const Pass& pass : all_passes())
    EXPECT_TRUE(files.contains(std::string(pass.name))) << pass.name;
}

}  // namespace
}  // namespace layline

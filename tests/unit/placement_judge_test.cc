// Placement against toulbar2, the reference solver for cost function networks, with all orders of
// all ops that have few enough. Where placement says that its choice is proved, the two costs are
// equal; and no bound is above toulbar2's optimum.
#include <gtest/gtest.h>

#include <filesystem>

#include "../seeds.h"
#include "base/error.h"
#include "compiler/compile.h"
#include "ir/text.h"
#include "layout/candidates.h"
#include "layout/placement.h"
#include "small_graph.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "toulbar2.h"

namespace layline {
namespace {

namespace fs = std::filesystem;
using toulbar2::packed;

class Judge : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(toulbar2::is_installed()) << "toulbar2 is missing; run: scripts/setup toulbar2";
  }
  void TearDown() override {
    fmt::print(
        "{} graphs: {} proved, {} not the cheapest, {} undecided by toulbar2; processor time of "
        "finding orders, choosing "
        "and proving {:.2f} s, of toulbar2 with the orders given {:.2f} s\n",
        graphs_, proved_, dearer_, undecided_, ours_, theirs_);
  }

  void judge(const Graph& graph, const TargetOrders& target, const std::string& name) {
    const double start = toulbar2::processor_seconds(RUSAGE_SELF);
    const Certificate certificate = place(graph, target, true).certificate;
    ours_ += toulbar2::processor_seconds(RUSAGE_SELF) - start;
    const PlacementLimits limits;
    Candidates candidates(graph, target, limits);
    for (NodeIndex node : candidates.problem().nodes.indices()) candidates.complete(node);
    if (candidates.problem().nodes.empty()) return;
    // Our choice is below the top, so there is an optimum.
    const toulbar2::Network network(candidates.problem(), target.moves,
                                    packed(certificate.cost) + 1);
    const double before = toulbar2::processor_seconds(RUSAGE_CHILDREN);
    const auto optimum = toulbar2::optimum(network.text(), kSeconds);
    theirs_ += toulbar2::processor_seconds(RUSAGE_CHILDREN) - before;
    ++graphs_;
    proved_ += certificate.optimal();
    undecided_ += !optimum;
    if (!optimum) return;
    if (packed(certificate.cost) > *optimum) {
      ++dearer_;
      fmt::print("{}: {} ps in {} permutes, but {} in {} are possible\n", name,
                 certificate.cost.time_ps, certificate.cost.permutes,
                 *optimum / toulbar2::kPermutes, *optimum % toulbar2::kPermutes);
    }
    EXPECT_LE(packed(certificate.bound), *optimum) << name;
    if (certificate.optimal()) {
      EXPECT_EQ(packed(certificate.cost), *optimum) << name;
    }
  }

  void judge_random(const TargetOrders& target, Ops ops, uint32_t graphs) {
    const uint32_t first = first_seed();
    for (uint32_t seed = first; seed < first + graph_count(graphs); ++seed) {
      SmallGraph small(seed, ops);
      judge(small.graph(), target,
            fmt::format("LAYLINE_SEED={} LAYLINE_GRAPHS=1\n{}", seed,
                        print(small.graph(), {.elide_constants = true})));
    }
    EXPECT_EQ(undecided_, 0);
    if (graphs_ >= 100) {
      EXPECT_GT(proved_, graphs_ / 2);
    }
  }

  static constexpr int kSeconds = 10;
  uint32_t graphs_ = 0, proved_ = 0, dearer_ = 0, undecided_ = 0;
  double ours_ = 0, theirs_ = 0;
};

TEST_F(Judge, AgreesOnRandomGraphs) { judge_random({}, Ops::any, 500); }
TEST_F(Judge, AgreesOnAwkwardGraphs) { judge_random({}, Ops::awkward, 250); }
TEST_F(Judge, AgreesOnXnnpack) { judge_random(xnnpack::rules().orders, Ops::any, 250); }

/// The graphs of the fixtures, as they are when they are placed.
TEST_F(Judge, AgreesOnFixtures) {
  std::vector<fs::path> models;
  for (const auto& entry : fs::directory_iterator(LAYLINE_TEST_DATA))
    if (entry.path().extension() == ".pt2") models.push_back(entry.path());
  std::ranges::sort(models);
  for (const fs::path& path : models) {
    CompileOptions options;
    options.for_target.profile = "epyc-avx512";
    PipelineOptions pipeline = pipeline_options(options);
    // The last pass before placement: everything that is placed first goes through it.
    pipeline.stop_after = "attend_to_filled";
    try {
      LoadedModel model = load_model(path, options);
      for (Graph& graph : model.methods) {
        run_pipeline(graph, pipeline);
        judge(graph, pipeline.target.orders_for(graph), path.filename().string());
      }
    } catch (const UserError&) {
      continue;  // refused, as other tests say
    }
  }
  EXPECT_GT(graphs_, 300);
  EXPECT_LE(undecided_, graphs_ / 50);
}

}  // namespace
}  // namespace layline

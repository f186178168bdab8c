#include "targets/xnnpack/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "compiler/compile.h"
#include "targets/xnnpack/target.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/pipeline.h"

namespace layline::xnnpack {
namespace {

constexpr std::string_view kText = R"({
  "version": 1, "name": "n", "cpu": "c", "runtime": "r",
  "margin_ps": 7, "call_ps": 1000,
  "transpose": {"piece": 8, "read_ps": 1, "write_ps": 10, "matrix_ps": 100},
  "transpose_bytes": {"piece": 32, "read_ps": 2, "write_ps": 20, "matrix_ps": 200},
  "run_ps": {"permute": [[8, 20], [16, 40], [32, 120]], "slice": [[4, 30]], "concat": [[4, 50]]},
  "multiply_add_fs": {"window": 40, "pointwise": 20, "depthwise": 30, "grouped": 50,
    "integer_depthwise9": 60, "integer_depthwise25": 70},
  "convert_fs": 80
})";

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kText);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(std::string_view text) {
  try {
    parse_profile(text, "p.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

int64_t permute_ps(const MoveCosts& moves, const Shape& shape, const std::vector<int>& order) {
  return move_cost(moves, Relayout::permute(shape, order), DType::f32).time_ps;
}

TEST(Profile, IsReadBackAsItWasWritten) {
  const Profile profile = parse_profile(kText, "p.json");
  const Profile again = parse_profile(to_json(profile), "p.json");
  EXPECT_EQ(again.name, "n");
  EXPECT_EQ(again.cpu, "c");
  EXPECT_EQ(again.runtime, "r");
  EXPECT_EQ(again.moves.margin_ps, 7);
  EXPECT_EQ(again.moves, profile.moves);
  EXPECT_EQ(again.products, (ProductCosts{40, 20, 30, 50, 60, 70, 80}));
}

TEST(Profile, TheDefaultIsValidAndWhatRulesUse) {
  EXPECT_EQ(default_profile().moves, rules().orders.moves);
  EXPECT_EQ(default_profile().products, rules().products);
  EXPECT_FALSE(default_profile().name.empty());
}

TEST(Profile, NamesAreThoseThatAreBuiltIn) {
  EXPECT_EQ(profile_names(),
            (std::vector<std::string_view>{"any-device", "epyc-avx2", "epyc-avx512", "host"}));
  for (const char* name : {"any-device", "epyc-avx2", "epyc-avx512"})
    EXPECT_EQ(find_profile(name).name, name) << "the name of the file";
  EXPECT_EQ(default_profile().name, "any-device");
  for (const std::string_view name : profile_names())
    EXPECT_NE(kTarget.options.front().help.find(name), std::string_view::npos) << name;
}

TEST(Profile, ANameThatNobodyKnowsListsThem) {
  try {
    find_profile("cortex-a76");
    FAIL() << "there is no such profile";
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "there is no profile `cortex-a76`; give one of any-device, epyc-avx2, epyc-avx512, "
        "host, or a file that `layline tune` wrote");
  }
}

/// The machine that compiles has one of the measured profiles, or it is told how to measure.
TEST(Profile, TheHostHasOneOrIsToldHowToMeasure) {
  try {
    const std::string name = find_profile("host").name;
    EXPECT_TRUE(name == "epyc-avx2" || name == "epyc-avx512") << name;
  } catch (const UserError& error) {
    EXPECT_NE(std::string_view(error.what()).find("`layline tune -o FILE` measures one"),
              std::string_view::npos);
  }
}

/// What a device would pay for the moves of a graph that was placed by some rules.
Cost paid_on(const TargetRules& device, const std::filesystem::path& model,
             const TargetRules& rules) {
  Cost cost;
  for (Graph& graph : load_model(model, {}).methods) {
    run_pipeline(graph, {.target = rules});
    cost += standing_cost(graph, device.orders_for(graph));
  }
  return cost;
}

/// Without a device, no convolution is remade, and layouts are nearly those that each device that
/// was measured would choose for itself: a twentieth of the time may be lost.
TEST(Profile, TheDefaultChoosesNearlyWhatEveryDeviceWould) {
  EXPECT_EQ(default_profile().products, ProductCosts{});
  size_t models = 0;
  for (const char* name : {"epyc-avx2", "epyc-avx512"}) {
    TargetRules device = rules(find_profile(name));
    device.products = {};
    for (const auto& entry : std::filesystem::directory_iterator(LAYLINE_TEST_DATA)) {
      if (entry.path().extension() != ".pt2") continue;
      const int64_t by_default = paid_on(device, entry.path(), rules()).time_ps;
      const int64_t by_device = paid_on(device, entry.path(), device).time_ps;
      EXPECT_LE(by_default, by_device + by_device / 20) << entry.path() << " on " << name;
      ++models;
    }
  }
  EXPECT_GT(models, 800U);
}

TEST(Profile, ErrorsSayWhereAndWhat) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "p.json: not a cost profile"},
      {"[]", "/version"},
      {"{\"version\": 1}", "/name must be a string"},
      {replaced("\"version\": 1", "\"version\": 2"), "version 2; this layline reads version 1"},
      {replaced("\"piece\": 8", "\"piece\": 0"), "/transpose/piece must be an integer from 1"},
      {replaced("\"window\": 40, ", ""), "/multiply_add_fs/window must be an integer from 0"},
      {replaced("\"depthwise\": 30, ", ""), "/multiply_add_fs/depthwise must be an integer from 0"},
      {replaced("\"grouped\": 50,", ""), "/multiply_add_fs/grouped must be an integer from 0"},
      {replaced("\"call_ps\": 1000", "\"call_ps\": -1"), "/call_ps must be an integer from 0"},
      {replaced("\"call_ps\": 1000", "\"call_ps\": 1000000000001"),
       "/call_ps must be an integer from 0 to 1000000000000"},
      {replaced("\"margin_ps\": 7", "\"margin_ps\": -1"), "/margin_ps must be an integer from 0"},
      {replaced("\"read_ps\": 1", "\"read_ps\": -1"), "/transpose/read_ps"},
      {replaced("\"write_ps\": 10", "\"write_ps\": -1"), "/transpose/write_ps"},
      {replaced("\"matrix_ps\": 200", "\"matrix_ps\": -1"), "/transpose_bytes/matrix_ps"},
      {replaced("\"convert_fs\": 80", "\"convert_fs\": -1"),
       "/convert_fs must be an integer from 0"},
      {replaced("[[4, 30]]", "[[0, 30]]"), "/run_ps/slice/0/0 must be an integer from 1"},
      {replaced("[[4, 30]]", "[[4, -1]]"), "/run_ps/slice/0/1 must be an integer from 0"},
      {replaced("[[4, 30]]", "[[4, 30, 1]]"), "/run_ps/slice/0 must be [bytes, picoseconds]"},
      {replaced("[16, 40]", "[16, 19]"), "/run_ps/permute/1 must be a longer run"},
      {replaced("\"call_ps\": 1000", "\"call_ps\": 1.5"), "/call_ps"},
      {replaced("\"call_ps\": 1000", "\"call_ps\": 1e300"), "/call_ps"},
      {replaced("[[4, 30]]", "[]"), "/run_ps/slice must be a list"},
      {replaced("[[4, 30]]", "[[4]]"), "/run_ps/slice/0 must be"},
      {replaced("[[4, 30]]", "[[4, \"x\"]]"), "/run_ps/slice/0/1 must be an integer"},
      {replaced("[16, 40]", "[8, 40]"), "/run_ps/permute/1 must be a longer run"},
      {replaced("[16, 40]", "[16, 10]"), "no cheaper"},
  };
  for (const auto& [text, words] : cases)
    EXPECT_NE(error_of(text).find(words), std::string::npos) << words << "\n" << error_of(text);
}

TEST(Profile, TheLeastAndTheMostAreTaken) {
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\"call_ps\": 1000", "\"call_ps\": 1000000000000"},
           {"\"margin_ps\": 7", "\"margin_ps\": 0"},
           {"\"call_ps\": 1000", "\"call_ps\": 0"},
           {"\"piece\": 8", "\"piece\": 1"},
           {"\"read_ps\": 1", "\"read_ps\": 0"},
           {"\"write_ps\": 10", "\"write_ps\": 0"},
           {"\"matrix_ps\": 100", "\"matrix_ps\": 0"},
           {"\"window\": 40", "\"window\": 0"},
           {"\"pointwise\": 20", "\"pointwise\": 0"},
           {"\"depthwise\": 30", "\"depthwise\": 0"},
           {"\"grouped\": 50", "\"grouped\": 0"},
           {"\"integer_depthwise9\": 60", "\"integer_depthwise9\": 0"},
           {"\"integer_depthwise25\": 70", "\"integer_depthwise25\": 0"},
           {"\"convert_fs\": 80", "\"convert_fs\": 0"},
           {"[[4, 30]]", "[[1, 0]]"},
           {"[16, 40]", "[9, 20]"}})
    EXPECT_EQ(error_of(replaced(from, to)), "");
}

TEST(RunCosts, AreLinearBetweenPointsAndProportionalBeyond) {
  const RunCosts runs = parse_profile(kText, "p.json").moves.permute;
  EXPECT_EQ(runs.ps(1), 20);
  EXPECT_EQ(runs.ps(8), 20);
  EXPECT_EQ(runs.ps(12), 30);
  EXPECT_EQ(runs.ps(16), 40);
  EXPECT_EQ(runs.ps(24), 80);
  EXPECT_EQ(runs.ps(64), 240);
  EXPECT_EQ(runs.copy_ps(64, 16), 160);
  EXPECT_EQ(runs.copy_ps(0, 0), 0);
}

TEST(MoveCost, CountsRunsWhereTheInnermostStays) {
  const MoveCosts moves = parse_profile(kText, "p.json").moves;
  EXPECT_EQ(permute_ps(moves, {3, 5, 4}, {1, 0, 2}), 1007 + 15 * 40);
}

TEST(MoveCost, CountsPiecesWhereTheInnermostMoves) {
  const MoveCosts moves = parse_profile(kText, "p.json").moves;
  // Seven matrices; 14 rows of 20 elements are read, 140 rows of 2 elements are written.
  EXPECT_EQ(permute_ps(moves, {7, 2, 20}, {0, 2, 1}), 1007 + 14 * 3 * 1 + 140 * 10 + 7 * 100);
}

TEST(MoveCost, IsNothingForViewsAndNeverOverflows) {
  const MoveCosts moves = parse_profile(kText, "p.json").moves;
  EXPECT_EQ(permute_ps(moves, {7, 1, 20}, {1, 0, 2}), 0);
  const int64_t large = int64_t{1} << 29;
  const Cost cost =
      move_cost(moves, Relayout::permute({large, large}, std::vector{1, 0}), DType::f32);
  EXPECT_GT(cost.time_ps, 0);
  EXPECT_FALSE((cost + cost).is_forbidden());
}

}  // namespace
}  // namespace layline::xnnpack

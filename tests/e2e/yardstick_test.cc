// The public yardstick: the kinds of model by which ExecuTorch counts the permutes that a lowering
// leaves, with its own best counts (Arm's TOSA backend, test_transpose_counts.py) as bounds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "compiler/compile.h"
#include "fixture.h"

namespace layline {
namespace {

struct Yardstick {
  std::string name;
  std::optional<int64_t> upstream;  // permutes left by upstream; nothing where it fails
  double tolerance = 1e-5;
};

void PrintTo(const Yardstick& yardstick, std::ostream* out) { *out << yardstick.name; }

constexpr double kLong = 1e-4;  // chains of exponentials: recurrent layers and attention

/// The rows of docs/yardstick.md: | case | upstream | ours | bytes |.
std::string table_row(const Yardstick& yardstick, const Permutes& permutes) {
  const std::string upstream = yardstick.upstream ? std::to_string(*yardstick.upstream) : "fails";
  return fmt::format("| {} | {} | {} | {} |", yardstick.name, upstream, permutes.final,
                     permutes.bytes);
}

const std::vector<Yardstick> kYardsticks = {
    {"conv1d_rank2", 2},
    {"conv1d_rank3", 2},
    {"conv2d_rank3", 2},
    {"conv2d_rank4", 2},
    {"conv3d_rank4", 2},
    {"conv3d_rank5", 2},
    {"linear_rank2", 0},
    {"linear_rank3", 0},
    {"linear_rank4", 0},
    {"matmul_rank2", 0},
    {"matmul_rank4", 0},
    {"index_put", 0},
    {"pixel_shuffle", 1},
    {"index_select", 0},
    {"grouped_conv", 2},
    {"transpose_conv", 2},
    {"views", 2},
    {"transposes", 1},
    {"maxpool2d_dilation", 2},
    {"lstm", 1, kLong},
    {"groupnorm", 0},
    {"multihead_attention_rank2", 4, kLong},
    {"multihead_attention_rank3", 6, kLong},
    {"cumsum_rank3_dim0", 0},
    {"cumsum_rank4_dim3", 0},
    {"model_1_conv_maxpool_residual_linear", 1},
    {"model_2_conv_mha_linear_layernorm", 7, kLong},
    {"model_3_lstm_linear", 1, kLong},
    {"model_4_conv_lstm_linear_layernorm", 2, kLong},
    {"model_5_dwconv_gelu_layernorm_avgpool", 2},
    {"model_6_gru_linear", 1, kLong},
    {"model_7_dwconv_batchnorm_linear", 1},
    {"model_8_conv_batchnorm_maxpool_residual", 2},
    {"model_9_dilated_conv_batchnorm_avgpool_residual", 2},
    {"model_10_dwconv_batchnorm_linear_cat", 1},
    {"permute_silu_permute", 0},
    {"conv2d_rank4.channels_last", 0},
    {"conv3d_rank4.channels_last", 2},
    {"conv3d_rank5.channels_last", 1},
    {"linear_rank4.channels_last", 1},
    {"matmul_rank4.channels_last", 2},
    {"pixel_shuffle.channels_last", 1},
    {"grouped_conv.channels_last", 0},
    {"transpose_conv.channels_last", 0},
    {"views.channels_last", std::nullopt},
    {"transposes.channels_last", 1},
    {"maxpool2d_dilation.channels_last", 3},
    {"groupnorm.channels_last", 2},
    {"cumsum_rank4_dim3.channels_last", 1},
};

std::string fixture_of(const Yardstick& yardstick) { return "yardstick_" + yardstick.name; }

class YardstickTest : public testing::TestWithParam<Yardstick> {};

TEST_P(YardstickTest, LeavesNoMorePermutesThanUpstream) {
  const std::string fixture = fixture_of(GetParam());
  const Compiled compiled = compile(model_of(fixture), {});
  expect_outputs(compiled, fixture, {GetParam().tolerance});
  const Permutes& permutes = compiled.report.permutes;
  for (const PlacementProof& placement : compiled.report.placements) EXPECT_TRUE(placement.proved);
  EXPECT_LE(permutes.final, GetParam().upstream.value_or(permutes.final));
}

INSTANTIATE_TEST_SUITE_P(All, YardstickTest, testing::ValuesIn(kYardsticks), [](const auto& test) {
  std::string name = test.param.name;
  std::ranges::replace(name, '.', '_');
  return name;
});

/// The page in the documentation, which scripts/yardstick writes, row by row.
TEST(YardstickTable, IsTheOneInTheDocumentation) {
  std::ifstream file(LAYLINE_TEST_DATA "/../../docs/yardstick.md");
  ASSERT_TRUE(file) << "run scripts/yardstick";
  std::stringstream text;
  text << file.rdbuf();
  int64_t upstream = 0, ours = 0, bytes = 0;
  for (const Yardstick& yardstick : kYardsticks) {
    const Permutes permutes = compile(model_of(fixture_of(yardstick)), {}).report.permutes;
    const std::string row = table_row(yardstick, permutes);
    EXPECT_NE(text.str().find(row), std::string::npos) << row << "; run scripts/yardstick";
    if (!yardstick.upstream) continue;
    upstream += *yardstick.upstream;
    ours += permutes.final;
    bytes += permutes.bytes;
  }
  EXPECT_LT(ours, upstream);
  const std::string total =
      fmt::format("| **total** | **{}** | **{}** | **{}** |", upstream, ours, bytes);
  EXPECT_NE(text.str().find(total), std::string::npos) << total << "; run scripts/yardstick";
}

}  // namespace
}  // namespace layline

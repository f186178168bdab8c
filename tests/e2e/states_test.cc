// The order of a state in memory is free, and chosen: what is read and written in one order is held
// in it, and no run moves it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "fixture.h"
#include "ir/text.h"
#include "pte/writer.h"
#include "runtime/program.h"
#include "runtime/tensor_file.h"
#include "targets/state_plan.h"
#include "targets/xnnpack/lower.h"

namespace layline {
namespace {

Permutes permutes(const std::string& fixture, std::vector<std::string> disabled = {}) {
  CompileOptions options;
  options.disabled_passes = std::move(disabled);
  return compile(model_of(fixture), options).report.permutes;
}

TEST(StateOrder, ACacheIsHeldAsAttentionReadsIt) {
  EXPECT_EQ(permutes("state_cache_rows").final, 0);
  EXPECT_GT(permutes("state_cache_rows", {"place_layouts"}).final, 1);
}

TEST(StateOrder, AnImageBetweenConvolutionsIsHeldChannelsLast) {
  EXPECT_EQ(permutes("state_conv").final, 1);  // of the input
  EXPECT_GT(permutes("state_conv", {"place_layouts"}).final, 2);
}

/// A method that only reads a buffer sees what another has written, if it is the same buffer.
TEST(SharedState, IsReadByAMethodThatDoesNotChangeIt) {
  const std::string fixture = "state_of_two_methods";
  MemorySink sink;
  compile(model_of(fixture), {}).program->write(sink);
  LoadedProgram program = LoadedProgram::from_compiled(sink.bytes(), fixture, {"write", "read"});
  const HostTensor written = as_host(arrays_of(fixture).read("write/input_0"));
  program.use("write");
  program.run({written});
  program.use("read");
  const HostTensor zeros{DType::f32, {3}, std::vector<std::byte>(3 * sizeof(float))};
  const std::vector<HostTensor> outputs = program.run({zeros});
  EXPECT_EQ(outputs[0].bytes, written.bytes);
  EXPECT_EQ(outputs[1].bytes, zeros.bytes);
}

/// Zeros are loaded in pieces, which must cover the state: with another byte in place of the zeros,
/// every byte of the state is that.
TEST(LongZeros, AreLoadedEverywhere) {
  constexpr size_t kCount = (2 * kZeroBytes + 8) / sizeof(int64_t);
  const std::string text = fmt::format(
      "graph \"forward\" {{\n  input \"x\" %x : i64[{0}]\n  state \"cache\" %c = i64[{0}] splat 0\n"
      "  %y = add(%c, %x)\n  output \"y\" %y\n  write %y to %c\n}}\n",
      kCount);
  Report report;
  pte::Program program = xnnpack::lower(parse_graphs(text, "test"), report);
  ASSERT_EQ(program.initial_states.size(), 1u);
  program.initial_states[0] =
      pte::DataSource::owned(std::vector<std::byte>(kZeroBytes, std::byte{1}));
  MemorySink sink;
  pte::write_program(program, sink);
  LoadedProgram loaded = LoadedProgram::from_compiled(sink.bytes(), "the graph");
  const HostTensor zeros{DType::i64, {kCount}, std::vector<std::byte>(kCount * sizeof(int64_t))};
  EXPECT_EQ(loaded.run({zeros})[0].bytes,
            std::vector<std::byte>(kCount * sizeof(int64_t), std::byte{1}));
}

}  // namespace
}  // namespace layline

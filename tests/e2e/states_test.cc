// The order of a state in memory is free, and chosen: what is read and written in one order is held
// in it, and no run moves it.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "fixture.h"
#include "runtime/program.h"
#include "runtime/tensor_file.h"

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

}  // namespace
}  // namespace layline

// A language model whose two methods share weights and cache, run as an application would: the
// prompt at once, then token by token. The tokens are torch's, with the layout engine and without.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "fixture.h"
#include "runtime/program.h"
#include "runtime/tensor_file.h"

namespace layline {
namespace {

const std::string kModel = model_of("llama");

/// The prompt is all but the last `generated` of the tokens that torch had in the end.
std::vector<int64_t> generate(const TargetProgram& compiled, std::vector<int64_t> tokens,
                              size_t wanted) {
  MemorySink sink;
  compiled.write(sink);
  LoadedProgram program =
      LoadedProgram::from_compiled(sink.bytes(), "llama", {"prefill", "decode"});
  std::vector<int64_t> places(tokens.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  const auto count = static_cast<int64_t>(tokens.size());
  tokens.push_back(
      values_of(program.run({integers(tokens, {1, count}), integers(places, {count})})[0])[0]);
  program.use("decode");
  while (tokens.size() < wanted) {
    const int64_t place = static_cast<int64_t>(tokens.size()) - 1;
    tokens.push_back(
        values_of(program.run({integers({tokens.back()}, {1, 1}), integers({place}, {1})})[0])[0]);
  }
  return tokens;
}

constexpr size_t kPrompt = 5;

TEST(Llama, GeneratesTheTokensOfTorchWithTheLayoutEngineAndWithout) {
  const std::vector<int64_t> expected = values_of(as_host(arrays_of("llama").read("generated")));
  const std::vector<int64_t> prompt(expected.begin(), expected.begin() + kPrompt);
  for (const char* disabled : {"", "place_layouts"}) {
    SCOPED_TRACE(disabled);
    CompileOptions options;
    if (*disabled) options.disabled_passes = {disabled};
    const Compiled compiled = compile(kModel, options);
    EXPECT_EQ(generate(*compiled.program, prompt, expected.size()), expected);
  }
}

TEST(Llama, WeightsOfBothMethodsAreThereOnce) {
  const Report report = compile(kModel, {}).report;
  ASSERT_EQ(report.states.size(), 4u);  // keys and values of two layers
  for (const StateTensor& state : report.states)
    EXPECT_EQ(state.methods, (std::vector<std::string>{"prefill", "decode"})) << state.name;
  // Parameters of one method; masks and tables besides are a few hundred bytes.
  const int64_t parameters =
      4 * (2 * 40 * 16 + 16 + 2 * (2 * 16 + 2 * 16 * 16 + 2 * 16 * 8 + 3 * 16 * 24));
  EXPECT_GE(report.constant_bytes, parameters);
  EXPECT_LE(report.constant_bytes, parameters + parameters / 8);
}

}  // namespace
}  // namespace layline

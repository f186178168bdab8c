// Encoder-decoders whose two methods share weights and caches, run as an application would: the
// encoder once, then the decoder token by token. The tokens are torch's.
#include <gtest/gtest.h>

#include "fixture.h"
#include "ir/tensor.h"
#include "runtime/program.h"
#include "runtime/tensor_file.h"

namespace layline {
namespace {

int64_t likeliest(const HostTensor& logits) {
  const Tensor tensor = as_tensor(logits);
  int64_t best = 0;
  for (int64_t i = 1; i < tensor.count(); ++i)
    if (tensor.get(i) > tensor.get(best)) best = i;
  return best;
}

LoadedProgram load(const Compiled& compiled, const std::string& fixture) {
  MemorySink sink;
  compiled.program->write(sink);
  return LoadedProgram::from_compiled(sink.bytes(), fixture, {"encoder", "decoder"});
}

void encode(LoadedProgram& program, const HostTensor& source) {
  program.use("encoder");
  program.run({source});
}

std::vector<int64_t> decode(LoadedProgram& program, int64_t first, size_t wanted) {
  program.use("decoder");
  std::vector<int64_t> tokens = {first};
  while (tokens.size() < wanted) {
    const int64_t place = static_cast<int64_t>(tokens.size()) - 1;
    tokens.push_back(
        likeliest(program.run({integers({tokens.back()}, {1, 1}), integers({place}, {1})})[0]));
  }
  return tokens;
}

class EncoderDecoder : public testing::TestWithParam<std::string> {};

TEST_P(EncoderDecoder, GeneratesTheTokensOfTorch) {
  const NpzArchive arrays = arrays_of(GetParam());
  const std::vector<int64_t> expected = values_of(as_host(arrays.read("generated")));
  const HostTensor source = as_host(arrays.read("encoder/input_0"));
  LoadedProgram program = load(compile(model_of(GetParam()), {}), GetParam());
  const std::vector<int64_t> unasked = decode(program, expected[0], expected.size());
  EXPECT_NE(unasked, expected) << "the tokens do not depend on what the encoder is given";
  // What was said before leaves nothing behind.
  for (int time = 0; time < 2; ++time) {
    encode(program, source);
    EXPECT_EQ(decode(program, expected[0], expected.size()), expected);
  }
}

TEST_P(EncoderDecoder, SharesWhatTheEncoderWrites) {
  const Report report = compile(model_of(GetParam()), {}).report;
  ASSERT_EQ(report.states.size(), 4u);  // keys and values, of the source and of the tokens
  for (const StateTensor& state : report.states) {
    const bool of_source = state.name.find("cross") != std::string::npos;
    const std::vector<std::string> both = {"encoder", "decoder"}, one = {"decoder"};
    EXPECT_EQ(state.methods, of_source ? both : one) << state.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EncoderDecoder, testing::Values("whisper", "t5"),
                         [](const auto& fixture) { return fixture.param; });

}  // namespace
}  // namespace layline

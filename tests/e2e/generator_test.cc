// Language models as applications generate with them: a prompt, then token by token.
#include "layline/generator.h"
#include "../message_of.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "ir/tensor.h"
#include "layline/layline.h"
#include "layline/session.h"
#include "runtime/tensor_file.h"

namespace layline {
namespace {

constexpr int64_t kPrompt = 5, kPositions = 12;

std::vector<int64_t> torchs_tokens() {
  const Tensor tensor = as_tensor(as_host(arrays_of("llama").read("generated")));
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < tensor.count(); ++i) tokens.push_back(tensor.get_int(i));
  return tokens;
}

CompiledModel compile_llama() {
  Options options;
  options.constant_methods["get_max_context_len"] = {kPositions};
  return compile_model(model_of("llama"), options);
}

TEST(Generator, GivesTheTokensOfTorch) {
  const CompiledModel model = compile_llama();
  Generator generator = Generator::from_bytes(model.bytes(), "llama");
  const std::vector<int64_t> expected = torchs_tokens();
  // A prompt of `prefill`'s length, a longer one, which `decode` reads the rest of, and one that
  // `decode` reads alone. A generator may be used again.
  for (const int64_t length : {kPrompt, kPrompt + 2, kPrompt - 2, kPrompt}) {
    SCOPED_TRACE(length);
    const std::span prompt = std::span(expected).first(static_cast<size_t>(length));
    const Generation result = generator.run(prompt, kPositions - length);
    if (length < kPrompt) {
      EXPECT_EQ(result.tokens.size(), static_cast<size_t>(kPositions - length));
      continue;  // torch was not asked
    }
    EXPECT_EQ(result.tokens, std::vector<int64_t>(expected.begin() + length, expected.end()));
    EXPECT_GT(result.prefill_seconds, 0);
    EXPECT_GT(result.decode_seconds, 0);
  }
}

TEST(Generator, NothingIsReadBeyondTheCache) {
  const CompiledModel model = compile_llama();
  Generator generator = Generator::from_bytes(model.bytes(), "llama");
  const std::vector<int64_t> prompt(5, 1);
  EXPECT_EQ(generator.run(prompt, 8).tokens.size(), 8u);
  EXPECT_NE(message_of([&] { generator.run(prompt, 9); }).find("at most 8 steps"),
            std::string::npos);
  const std::vector<int64_t> long_prompt(13, 1);
  EXPECT_NE(message_of([&] { generator.run(long_prompt, 1); }).find("12 positions"),
            std::string::npos);
  EXPECT_NE(message_of([&] { generator.run({}, 1); }).find("empty"), std::string::npos);
  EXPECT_NE(message_of([&] {
              Generator::from_bytes(model.bytes(), "llama", {.context = 13});
            }).find("the cache has 12"),
            std::string::npos);
}

TEST(ConstantMethods, AnswerOnTheRuntime) {
  Options options;
  options.constant_methods = {{"get_ids", {1, 2}}, {"get_scale", {0.5}}, {"is_small", {true}}};
  const CompiledModel model = compile_model(model_of("linear"), options);
  Session session =
      Session::from_bytes(model.bytes(), "linear", {"forward", "get_ids", "get_scale", "is_small"});
  const auto answers = [&](const std::string& method) {
    session.use(method);
    std::vector<std::pair<std::string, double>> values;
    for (const Array& array : session.run({}))
      values.emplace_back(array.dtype,
                          as_tensor({*parse_dtype(array.dtype), {}, array.bytes}).get(0));
    return values;
  };
  using Values = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(answers("get_ids"), (Values{{"i64", 1}, {"i64", 2}}));
  EXPECT_EQ(answers("get_scale"), (Values{{"f64", 0.5}}));
  EXPECT_EQ(answers("is_small"), (Values{{"bool", 1}}));
  options.constant_methods = {{"forward", {1}}};
  EXPECT_NE(message_of([&] {
              compile_model(model_of("linear"), options);
            }).find("the model has a method of this name"),
            std::string::npos);
  options.constant_methods = {{"get_nothing", {}}};
  EXPECT_NE(message_of([&] { compile_model(model_of("linear"), options); }).find("empty list"),
            std::string::npos);
}

}  // namespace
}  // namespace layline

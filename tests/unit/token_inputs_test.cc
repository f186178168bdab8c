#include "ir/token_inputs.h"

#include <gtest/gtest.h>

namespace layline {
namespace {

using Places = std::pair<std::optional<size_t>, std::optional<size_t>>;

Places places(const std::vector<InputTensor>& inputs) {
  const TokenInputs found = find_token_inputs(inputs);
  return {found.tokens, found.position};
}

TEST(TokenInputs, ShapesTellThemApart) {
  EXPECT_EQ(places({{"a", DType::i64, {1, 5}}, {"b", DType::i64, {5}}}), Places(0, 1));
  EXPECT_EQ(places({{"b", DType::i64, {}}, {"a", DType::i32, {1, 1}}}), Places(1, 0));
  EXPECT_EQ(places({{"mask", DType::f32, {1, 5}}, {"a", DType::i64, {1, 5}}}),
            Places(1, std::nullopt));
}

TEST(TokenInputs, NamesDecideWhereShapesDoNot) {
  EXPECT_EQ(places({{"position_ids", DType::i64, {1, 5}}, {"input_ids", DType::i64, {1, 5}}}),
            Places(1, 0));
  EXPECT_EQ(places({{"length", DType::i64, {1}},
                    {"cache_position", DType::i64, {5}},
                    {"tokens", DType::i64, {1, 5}}}),
            Places(2, 1));
}

TEST(TokenInputs, WhatCannotBeToldIsAbsent) {
  EXPECT_EQ(places({}), Places());
  EXPECT_EQ(places({{"x", DType::f32, {1, 5}}}), Places());
  EXPECT_EQ(places({{"a", DType::i64, {1, 5}}, {"b", DType::i64, {1, 5}}}), Places());
}

}  // namespace
}  // namespace layline

#include "ir/token_inputs.h"

#include <algorithm>
#include <array>

namespace layline {
namespace {

constexpr std::array<std::string_view, 4> kTokens = {"token", "input_ids", "inp_ids", "ids"};
constexpr std::array<std::string_view, 2> kPositions = {"pos", "place"};

bool is_called(const InputTensor& input, std::span<const std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return input.name.find(word) != std::string::npos; });
}

/// The only one of `candidates` for which `holds`.
template <typename Condition>
std::optional<size_t> only(const std::vector<size_t>& candidates, Condition holds) {
  std::optional<size_t> found;
  for (const size_t i : candidates) {
    if (!holds(i)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

TokenInputs find_token_inputs(std::span<const InputTensor> inputs) {
  std::vector<size_t> integers;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].dtype == DType::i64 || inputs[i].dtype == DType::i32) integers.push_back(i);

  TokenInputs result;
  result.tokens = only(integers, [&](size_t i) { return inputs[i].shape.size() == 2; });
  if (!result.tokens)
    result.tokens = only(integers, [&](size_t i) {
      return inputs[i].shape.size() == 2 && is_called(inputs[i], kTokens) &&
             !is_called(inputs[i], kPositions);
    });
  std::erase_if(integers, [&](size_t i) { return result.tokens == i; });
  result.position = only(integers, [](size_t) { return true; });
  if (!result.position)
    result.position = only(integers, [&](size_t i) { return is_called(inputs[i], kPositions); });
  return result;
}

}  // namespace layline

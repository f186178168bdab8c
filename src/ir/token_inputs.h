// Which inputs of a language model's method are the tokens, and where in the text they stand.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace layline {

/// An input as its caller sees it.
struct InputTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  ///< the largest sizes
};

struct TokenInputs {
  std::optional<size_t> tokens;    ///< [1, n]
  std::optional<size_t> position;  ///< that of each token, or that of the first
};

/// Both are integers. Tokens have two axes, a position usually has fewer. Names decide where shapes
/// leave a choice. What cannot be told apart is absent.
TokenInputs find_token_inputs(std::span<const InputTensor> inputs);

}  // namespace layline

// Tokens from a language model, on the ExecuTorch runtime:
//
//   layline::Generator generator = layline::Generator::from_file("model.pte");
//   layline::Generation text = generator.run(prompt, 64);
//
// Link layline::runtime. Errors are those of layline/error.h. docs/language-models.md says which
// programs this takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layline/error.h"

namespace layline {

struct GeneratorOptions {
  std::string tokens = {};    ///< the input of tokens; if empty, it is found by shape and name
  std::string position = {};  ///< the input of their position, likewise
  /// How many positions may be used. If 0, as many as the program's `get_max_context_len` says; a
  /// program that does not say it needs this.
  int64_t context = 0;
};

struct Generation {
  std::vector<int64_t> tokens;  ///< those after the prompt
  // Time in the program: for the prompt, and for all tokens but the first, which the prompt gives.
  double prefill_seconds = 0;
  double decode_seconds = 0;
};

/// A language model with a cache, loaded. It takes tokens and their position and gives logits, or
/// tokens. One thread at a time may use it.
class Generator {
 public:
  static Generator from_file(const std::string& path, const GeneratorOptions& options = {});
  /// Copies the bytes; `name` stands for the program in messages.
  static Generator from_bytes(std::span<const std::byte> bytes, const std::string& name,
                              const GeneratorOptions& options = {});
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  ~Generator();

  /// Reads a prompt, which begins at position 0, and goes on with the likeliest token `steps`
  /// times. It ends earlier after a token that the program's `get_eos_ids` names. A text that is
  /// longer than the cache is an error before anything runs.
  Generation run(std::span<const int64_t> prompt, int64_t steps);

 private:
  struct Contents;
  explicit Generator(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

}  // namespace layline

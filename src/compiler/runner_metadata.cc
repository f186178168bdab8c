#include "compiler/runner_metadata.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "compiler/cache_length.h"
#include "ir/bounds.h"
#include "ir/token_inputs.h"

namespace layline {
namespace {

/// What the shapes of the model say.
struct ModelFacts {
  bool has_states = false;
  std::optional<int64_t> longest_call;  // in tokens
  bool dynamic = false;                 // a call may have fewer
  std::optional<int64_t> cache;         // in positions
  std::optional<int64_t> vocabulary;
};

/// The methods that the runner calls: the first reads prompts.
std::vector<const Graph*> called_methods(std::span<const Graph> graphs) {
  const auto find = [&](std::string_view name) -> const Graph* {
    const auto found = std::ranges::find(graphs, name, &Graph::name);
    return found == graphs.end() ? nullptr : &*found;
  };
  const Graph* first = find("forward");
  if (first == nullptr) first = find("prefill");
  if (first == nullptr) {
    std::vector<std::string> names;
    for (const Graph& graph : graphs) names.push_back(graph.name());
    throw UserError(
        "--llm: the runner calls `forward`, or `prefill` and `decode`; the model has {}: name its "
        "method `forward`",
        fmt::join(names, ", "));
  }
  std::vector<const Graph*> methods = {first};
  if (const Graph* decode = find("decode")) methods.push_back(decode);
  return methods;
}

std::vector<InputTensor> inputs_of(const Graph& graph) {
  std::vector<InputTensor> inputs;
  for (const GraphInput& input : arguments(graph)) {
    InputTensor tensor{input.name, DType::boolean, {}};
    if (input.value != nullptr) {
      tensor.dtype = input.value->dtype();
      for (const Dim& dim : logical_shape(input.value->shape(), input.dim_order))
        tensor.shape.push_back(graph.symbol_table().greatest(dim));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Refuses what the runner would end the process for, or call with tensors that do not fit.
void check_callable(const Graph& graph) {
  const auto refuse = [&](const std::string& what) {
    throw UserError("--llm: the runner cannot call `{}`: {}", graph.name(), what);
  };
  const auto outputs = std::ranges::distance(results(graph));
  if (outputs != 1) refuse(fmt::format("it has {} outputs; return the logits alone", outputs));
  const std::vector<InputTensor> inputs = inputs_of(graph);
  const TokenInputs found = find_token_inputs(inputs);
  if (!found.tokens) return;  // told with what cannot be read
  const InputTensor& tokens = inputs[*found.tokens];
  if (found.tokens != 0u || inputs.size() > 2 || (inputs.size() == 2 && found.position != 1u))
    refuse("its inputs must be the tokens and their position, in this order, and nothing else");
  if (tokens.dtype != DType::i64 || tokens.shape[0] != 1)
    refuse(fmt::format("its tokens `{}` are {}[{}]; the runner gives i64[1, n]", tokens.name,
                       name(tokens.dtype), fmt::join(tokens.shape, ", ")));
  if (inputs.size() == 2 && (inputs[1].dtype != DType::i64 || inputs[1].shape.size() != 1))
    refuse(fmt::format("its position `{}` is {}[{}]; the runner gives i64[1], or i64[n]",
                       inputs[1].name, name(inputs[1].dtype), fmt::join(inputs[1].shape, ", ")));
  const bool dynamic = !(*arguments(graph).begin()).value->shape()[1].is_static();
  if (!dynamic && tokens.shape[1] != 1)
    refuse(fmt::format(
        "it takes exactly {} tokens; the runner gives one, or any number to a dynamic length",
        tokens.shape[1]));
}

ModelFacts read_facts(std::span<const Graph> graphs, const Graph& method) {
  ModelFacts facts;
  facts.has_states = std::ranges::any_of(method.inputs(), &GraphInput::is_state);
  facts.cache = cache_length(graphs);
  const std::vector<InputTensor> inputs = inputs_of(method);
  if (const std::optional<size_t> tokens = find_token_inputs(inputs).tokens) {
    const GraphInput& input =
        *std::ranges::next(arguments(method).begin(), static_cast<std::ptrdiff_t>(*tokens));
    facts.longest_call = inputs[*tokens].shape[1];
    facts.dynamic = !input.value->shape()[1].is_static();
  }
  const GraphOutput& logits = *results(method).begin();
  if (logits.value != nullptr && is_float(logits.value->dtype()) &&
      logits.value->shape().size() >= 2) {
    const Dim last = logical_shape(logits.value->shape(), logits.dim_order).back();
    if (last.is_static()) facts.vocabulary = last.value();
  }
  return facts;
}

class Metadata {
 public:
  explicit Metadata(ConstantMethods& constants) : constants_(constants) {}

  /// A number that the user may lower, if `is_most`, and else may only repeat.
  int64_t integer(const char* name, std::optional<int64_t> read, bool is_most,
                  std::string_view what, std::string_view missing) {
    const auto given = constants_.find(name);
    if (given == constants_.end()) {
      if (read)
        constants_[name] = {*read};
      else
        problems_.push_back(fmt::format("{}: add --constant {}=N", missing, name));
      return read.value_or(0);
    }
    const auto* value =
        given->second.size() == 1 ? std::get_if<int64_t>(&given->second[0]) : nullptr;
    if (value == nullptr || *value < 1) {
      problems_.push_back(fmt::format("{} is one positive integer", name));
      return read.value_or(0);
    }
    if (!read || (is_most ? *value <= *read : *value == *read)) return *value;
    problems_.push_back(fmt::format("{}={}, but {} {}", name, *value, what, *read));
    return *read;
  }

  /// A fact that the user may repeat.
  void boolean(const char* name, bool read, std::string_view why) {
    const auto given = constants_.try_emplace(name, std::vector<ConstantValue>{read}).first;
    if (given->second.size() != 1 || !std::holds_alternative<bool>(given->second[0]))
      problems_.push_back(fmt::format("{} is true or false", name));
    else if (std::get<bool>(given->second[0]) != read)
      problems_.push_back(fmt::format("{} must be {}: {}", name, read, why));
  }

  /// Tokens that only the user knows, if they are given at all.
  void ids(const char* name, size_t most, int64_t vocabulary) {
    const auto given = constants_.find(name);
    if (given == constants_.end()) return;
    if (given->second.size() > most) problems_.push_back(fmt::format("{} is one token", name));
    for (const ConstantValue& value : given->second) {
      const auto* id = std::get_if<int64_t>(&value);
      if (id == nullptr)
        problems_.push_back(fmt::format("{} takes integers", name));
      else if (*id < 0 || (vocabulary > 0 && *id >= vocabulary))
        problems_.push_back(
            fmt::format("{}={}, but tokens are 0 to {}", name, *id, vocabulary - 1));
    }
  }

  void refuse_problems() const {
    if (!problems_.empty()) throw UserError("--llm: {}", fmt::join(problems_, "; "));
  }

 private:
  ConstantMethods& constants_;
  std::vector<std::string> problems_;
};

}  // namespace

void add_runner_metadata(std::span<const Graph> graphs, ConstantMethods& constants) {
  const std::vector<const Graph*> methods = called_methods(graphs);
  for (const Graph* method : methods) check_callable(*method);
  const ModelFacts facts = read_facts(graphs, *methods[0]);

  // The runner checks positions only if get_max_seq_len is no less than get_max_context_len; else
  // it takes the cache for a ring. So a prompt that is read token by token may have the length of
  // the cache, and a length of up to one less than the cache, which is what torch.export makes of
  // transformers' models, is the context, too.
  std::optional<int64_t> context = facts.cache;
  if (context && facts.dynamic && facts.longest_call == *context - 1) {
    context = facts.longest_call;
    constants.try_emplace("get_max_context_len", std::vector<ConstantValue>{*context});
  }
  Metadata metadata(constants);
  const int64_t length =
      metadata.integer("get_max_context_len", facts.cache, true, "the cache's length is",
                       "the model has no state that attention looks over, such as a cache");
  std::optional<int64_t> longest = facts.longest_call;
  if (longest && length > 0) longest = facts.dynamic ? std::min(*longest, length) : length;
  metadata.integer("get_max_seq_len", longest, true, "a prompt may have",
                   "the model has no input of tokens, i64[1, n]");
  const int64_t vocabulary =
      metadata.integer("get_vocab_size", facts.vocabulary, false, "the logits' last size is",
                       "the model's output has no logits, f32[1, n, vocabulary]");
  metadata.boolean("enable_dynamic_shape", facts.dynamic,
                   facts.dynamic ? "the number of tokens is dynamic" : "it takes one token a call");
  metadata.boolean("use_kv_cache", facts.has_states,
                   facts.has_states ? "the model has states" : "the model has no states");
  constants.try_emplace("use_sdpa_with_kv_cache", std::vector<ConstantValue>{false});
  metadata.ids("get_bos_id", 1, vocabulary);
  metadata.ids("get_eos_ids", SIZE_MAX, vocabulary);
  metadata.refuse_problems();
}

}  // namespace layline

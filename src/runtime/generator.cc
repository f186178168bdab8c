#include "layline/generator.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "ir/tensor.h"
#include "ir/token_inputs.h"
#include "runtime/program.h"

namespace layline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kContext = "get_max_context_len";
constexpr const char* kStops = "get_eos_ids";

/// A method that reads tokens, and how it is called.
struct TokenMethod {
  std::string name;
  size_t tokens = 0, position = 0;  // among the inputs
  int64_t longest = 0;              // in tokens
  bool dynamic = false;             // fewer will do
  size_t output = 0;                // the logits, or the tokens that they are largest at
  int64_t vocabulary = 0;           // 0 if the output is tokens

  /// How many of `count` tokens one call reads.
  int64_t reads(int64_t count) const {
    if (dynamic) return std::min(count, longest);
    return longest <= count ? longest : 0;
  }
};

std::string describe(const std::vector<IoInfo>& ios) {
  std::vector<std::string> texts;
  for (const IoInfo& io : ios) texts.push_back(fmt::format("`{}` {}", io.name, describe(io)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// The input of this name, or the one that was found.
size_t choose_input(const LoadedProgram& program, const std::string& method,
                    const std::string& wanted, std::optional<size_t> found, std::string_view what) {
  const std::vector<IoInfo>& inputs = program.inputs();
  if (!wanted.empty()) {
    const auto named = std::ranges::find(inputs, wanted, &IoInfo::name);
    if (named == inputs.end())
      throw UserError("`{}` has no input '{}'; it takes {}", method, wanted, describe(inputs));
    found = static_cast<size_t>(named - inputs.begin());
  }
  if (!found)
    throw UserError("`{0}` takes {1}, and which is the {2}? Say it with --{2} NAME", method,
                    describe(inputs), what);
  const IoInfo& input = inputs[*found];
  if (input.kind != IoKind::tensor || (input.dtype != DType::i64 && input.dtype != DType::i32))
    throw UserError("the input `{}` of `{}` is {}; the {} must be i64 or i32", input.name, method,
                    describe(input), what);
  return *found;
}

TokenMethod describe_method(const LoadedProgram& program, const std::string& name,
                            const GeneratorOptions& options) {
  std::vector<InputTensor> inputs;
  for (const IoInfo& io : program.inputs())
    inputs.push_back({io.name, io.kind == IoKind::tensor ? io.dtype : DType::boolean, io.shape});
  const TokenInputs found = find_token_inputs(inputs);

  TokenMethod method;
  method.name = name;
  method.tokens = choose_input(program, name, options.tokens, found.tokens, "tokens");
  method.position = choose_input(program, name, options.position, found.position, "position");
  for (size_t i = 0; i < inputs.size(); ++i)
    if (program.inputs()[i].kind == IoKind::tensor && i != method.tokens && i != method.position)
      throw UserError("`{}` takes `{}` besides tokens and their position", name, inputs[i].name);
  const IoInfo& tokens = program.inputs()[method.tokens];
  if (method.tokens == method.position || tokens.shape.size() != 2 || tokens.shape[0] != 1)
    throw UserError("the tokens `{}` of `{}` are {}; they must be [1, n]", tokens.name, name,
                    describe(tokens));
  method.longest = tokens.shape[1];
  method.dynamic = tokens.dynamic;

  const std::vector<IoInfo>& outputs = program.outputs();
  const auto is_logits = [](const IoInfo& io) {
    return io.kind == IoKind::tensor && is_float(io.dtype) && io.shape.size() >= 2;
  };
  auto output = std::ranges::find_if(outputs, is_logits);
  if (output == outputs.end())
    output = std::ranges::find_if(outputs, [](const IoInfo& io) {
      return io.kind == IoKind::tensor && is_integer(io.dtype);
    });
  if (output == outputs.end())
    throw UserError("`{}` gives {}; expected logits [1, n, vocabulary], or tokens", name,
                    describe(outputs));
  method.output = static_cast<size_t>(output - outputs.begin());
  if (is_logits(*output)) method.vocabulary = output->shape.back();
  return method;
}

/// The program's methods that read tokens.
std::vector<std::string> token_methods(const std::vector<std::string>& all,
                                       const std::string& program) {
  std::vector<std::string> chosen;
  const auto has = [&](const char* name) { return std::ranges::find(all, name) != all.end(); };
  if (has("forward"))
    chosen.emplace_back("forward");
  else if (has("prefill"))
    chosen.emplace_back("prefill");
  if (has("decode")) chosen.emplace_back("decode");
  if (chosen.empty())
    throw UserError("{}: no method `forward`, `prefill` or `decode`; it has {}", program,
                    fmt::join(all, ", "));
  return chosen;
}

HostTensor integers(DType dtype, const std::vector<int64_t>& shape,
                    std::span<const int64_t> values) {
  Tensor tensor({dtype, Shape(shape.begin(), shape.end())});
  for (size_t i = 0; i < values.size(); ++i) tensor.set_int(static_cast<int64_t>(i), values[i]);
  return as_host(tensor);
}

}  // namespace

struct Generator::Contents {
  /// `load` loads the methods that it is given.
  template <typename Load>
  Contents(std::string program_name, std::vector<std::string> all_methods,
           const GeneratorOptions& options, Load load)
      : name(std::move(program_name)),
        all(std::move(all_methods)),
        program(load(needed_methods())) {
    for (const std::string& method : token_methods(all, name)) {
      program.use(method);
      methods.push_back(describe_method(program, method, options));
    }
    find_context(options.context);
    if (has(kStops)) stops = constants(kStops);
  }

  bool has(const char* method) const { return std::ranges::find(all, method) != all.end(); }

  std::vector<std::string> needed_methods() const {
    std::vector<std::string> needed = token_methods(all, name);
    for (const char* constant : {kContext, kStops})
      if (has(constant)) needed.emplace_back(constant);
    return needed;
  }

  std::vector<int64_t> constants(const char* method) {
    program.use(method);
    std::vector<int64_t> values;
    for (const IoInfo& output : program.outputs())
      if (output.kind != IoKind::integer)
        throw UserError("{}: `{}` gives {}, and not integers", name, method,
                        describe(program.outputs()));
    for (HostTensor& output : program.run({}))
      values.push_back(as_tensor(std::move(output)).get_int(0));
    return values;
  }

  void find_context(int64_t wanted) {
    const int64_t most = has(kContext) ? constants(kContext).at(0) : 0;
    if (most == 0 && wanted == 0)
      throw UserError(
          "{}: the program does not say how long its cache is; compile it with --llm or --constant "
          "{}=N, or say --context N",
          name, kContext);
    if (most > 0 && wanted > most)
      throw UserError("{}: a context of {} positions, but the cache has {}", name, wanted, most);
    context = wanted > 0 ? wanted : most;
  }

  void check(std::span<const int64_t> prompt, int64_t steps) const {
    if (prompt.empty()) throw UserError("the prompt is empty; give at least one token");
    if (steps < 1) throw UserError("{} steps; there is at least one", steps);
    const auto length = static_cast<int64_t>(prompt.size());
    if (length > context)
      throw UserError("the prompt has {} tokens, and the cache {} positions", length, context);
    // The last token is not read any more.
    if (steps > context - length + 1)
      throw UserError(
          "{} steps after a prompt of {} tokens, and the cache has {} positions: at "
          "most {} steps",
          steps, length, context, context - length + 1);
    const int64_t vocabulary = methods[0].vocabulary;
    for (const int64_t token : prompt)
      if (token < 0 || (vocabulary > 0 && token >= vocabulary))
        throw UserError("the prompt has the token {}; tokens are 0 to {}", token, vocabulary - 1);
  }

  /// The method that reads the most of `count` tokens; of two that read as many, the later one,
  /// which is `decode`.
  const TokenMethod& method_for(int64_t count) const {
    const TokenMethod* best = &methods[0];
    for (const TokenMethod& method : methods)
      if (method.reads(count) >= best->reads(count)) best = &method;
    if (best->reads(count) == 0)
      throw UserError(
          "{}: `{}` takes exactly {} tokens, and {} {} left; a method `decode` that takes one "
          "would read them",
          name, best->name, best->longest, count, count == 1 ? "is" : "are");
    return *best;
  }

  /// The shape of the position for a call with `count` tokens.
  std::vector<int64_t> position_shape(const TokenMethod& method, int64_t count) const {
    std::vector<std::optional<std::vector<int64_t>>> given(program.inputs().size());
    given[method.tokens] = {1, count};
    std::vector<int64_t> shape = program.complete_shapes(given)[method.position];
    const IoInfo& position = program.inputs()[method.position];
    // A program that layline did not compile does not say which sizes agree.
    if (position.dynamic && position.symbolic.empty())
      std::ranges::replace(shape, method.longest, count);
    return shape;
  }

  /// Reads the first tokens of `text`, which stand from position `start` on. Returns how many.
  int64_t call(std::span<const int64_t> text, int64_t start) {
    const TokenMethod& method = method_for(static_cast<int64_t>(text.size()));
    const int64_t count = method.reads(static_cast<int64_t>(text.size()));
    program.use(method.name);
    current = &method;
    const std::vector<IoInfo>& inputs = program.inputs();
    const std::vector<int64_t> shape = position_shape(method, count);
    int64_t places = 1;
    for (const int64_t size : shape) places *= size;
    if (places != 1 && places != count)
      throw UserError(
          "the position `{}` of `{}` is {}; expected one position, or one of each of "
          "{} tokens",
          inputs[method.position].name, method.name, describe(inputs[method.position]), count);
    std::vector<int64_t> positions(static_cast<size_t>(places));
    for (size_t i = 0; i < positions.size(); ++i) positions[i] = start + static_cast<int64_t>(i);
    std::vector<HostTensor> given(inputs.size());
    given[method.tokens] =
        integers(inputs[method.tokens].dtype, {1, count}, text.first(static_cast<size_t>(count)));
    given[method.position] = integers(inputs[method.position].dtype, shape, positions);
    program.set_inputs(given);
    program.execute();
    return count;
  }

  /// The token that the last call gives for its last position.
  int64_t next_token() {
    const IoInfo& io = program.outputs()[current->output];
    const uint64_t most = most_bytes(io);
    // Not initialised: it has room for the logits of all positions, and few may be there.
    if (memory_bytes < most) {
      memory = std::make_unique_for_overwrite<std::byte[]>(most);
      memory_bytes = most;
    }
    std::vector<int64_t> shape;
    program.get_output(current->output, {memory.get(), memory_bytes}, shape);
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const int64_t last = current->vocabulary > 0 ? current->vocabulary : 1;
    if (count < last) throw UserError("{}: `{}` gave no logits", name, current->name);
    const size_t size = byte_size(io.dtype);
    const std::byte* end = memory.get() + static_cast<size_t>(count) * size;
    const Tensor row({io.dtype, Shape{last}}, {end - static_cast<size_t>(last) * size, end});
    if (current->vocabulary == 0) return row.get_int(0);
    int64_t best = 0;
    for (int64_t i = 1; i < last; ++i)
      if (row.get(i) > row.get(best)) best = i;
    return best;
  }

  std::string name;
  std::vector<std::string> all;  // methods
  LoadedProgram program;
  std::vector<TokenMethod> methods;
  int64_t context = 0;
  std::vector<int64_t> stops;
  const TokenMethod* current = nullptr;  // the method that was called last
  std::unique_ptr<std::byte[]> memory;   // its output
  uint64_t memory_bytes = 0;
};

Generator::Generator(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

Generator Generator::from_file(const std::string& path, const GeneratorOptions& options) {
  return Generator(std::make_unique<Contents>(
      path, LoadedProgram::methods_of(MappedFile::open(path)->bytes(), path), options,
      [&](const Methods& methods) { return LoadedProgram::from_file(path, methods); }));
}

Generator Generator::from_bytes(std::span<const std::byte> bytes, const std::string& name,
                                const GeneratorOptions& options) {
  return Generator(std::make_unique<Contents>(
      name, LoadedProgram::methods_of(bytes, name), options,
      [&](const Methods& methods) { return LoadedProgram::from_bytes(bytes, name, methods); }));
}

Generation Generator::run(std::span<const int64_t> prompt, int64_t steps) {
  contents_->check(prompt, steps);
  Generation result;
  int64_t position = 0;
  const auto call = [&](std::span<const int64_t> text, double& seconds) {
    const Clock::time_point start = Clock::now();
    position += contents_->call(text, position);
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
  };
  while (position < static_cast<int64_t>(prompt.size()))
    call(prompt.subspan(static_cast<size_t>(position)), result.prefill_seconds);
  result.tokens.push_back(contents_->next_token());
  const std::vector<int64_t>& stops = contents_->stops;
  while (static_cast<int64_t>(result.tokens.size()) < steps &&
         std::ranges::find(stops, result.tokens.back()) == stops.end()) {
    const int64_t token = result.tokens.back();
    call({&token, 1}, result.decode_seconds);
    result.tokens.push_back(contents_->next_token());
  }
  return result;
}

}  // namespace layline

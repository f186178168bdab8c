#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "base/sink.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/runtime/commands.h"
#include "compiler/cache_length.h"
#include "compiler/compile.h"
#include "layline/generator.h"
#include "pte/writer.h"
#include "runtime/threads.h"

namespace layline {
namespace {

struct GenerateArguments {
  std::string program;
  std::string prompt;
  int64_t steps = 0;
  unsigned threads = 0;
  bool json = false;
  GeneratorOptions options;
};

std::vector<int64_t> parse_ids(std::string_view text) {
  std::vector<int64_t> ids;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int64_t id = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, id);
    if (error != std::errc() || stop != text.data() + end || begin == end)
      throw UserError("--prompt-ids takes tokens as numbers, such as 1,2,3, not '{}'", text);
    ids.push_back(id);
    begin = end + 1;
  }
  return ids;
}

/// Compiles a model in memory. The program tells the length of its cache.
std::vector<std::byte> compile_in_memory(const std::string& model) {
  constexpr const char* kContext = "get_max_context_len";
  const Progress progress(fmt::format("compiling {}", model));
  CompileOptions options;
  const std::vector<Graph> graphs = load_model(model, options).methods;
  const std::optional<int64_t> length = cache_length(graphs);
  if (length && std::ranges::find(graphs, kContext, &Graph::name) == graphs.end())
    options.for_target.constant_methods[kContext] = {*length};
  MemorySink sink;
  compile(model, options).program->write(sink);
  return sink.take();
}

Generator load(const GenerateArguments& arguments) {
  const std::string& path = arguments.program;
  if (pte::is_program(path, MappedFile::open(path)->bytes()))
    return Generator::from_file(path, arguments.options);
  return Generator::from_bytes(compile_in_memory(path), path, arguments.options);
}

/// A phase of generating: how many tokens it read, and in which time.
struct Phase {
  const char* name;
  size_t tokens;
  double seconds;

  double rate() const { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }
};

void run_generate(const GenerateArguments& arguments) {
  const std::vector<int64_t> prompt = parse_ids(arguments.prompt);
  set_threads(arguments.threads);
  const Generation result = load(arguments).run(prompt, arguments.steps);
  const Phase phases[] = {{"prefill", prompt.size(), result.prefill_seconds},
                          {"decode", result.tokens.size() - 1, result.decode_seconds}};
  if (arguments.json) {
    write_stdout(json_text([&](JsonWriter& json) {
      json.object([&] {
        json.key("tokens").numbers(result.tokens);
        for (const Phase& phase : phases)
          json.key(phase.name).object([&] {
            json.key("tokens").number(phase.tokens);
            json.key("seconds").number(phase.seconds, 6);
            json.key("tokens_per_second").number(phase.rate(), 2);
          });
      });
    }));
    return;
  }
  std::string text = fmt::format("{}\n", fmt::join(result.tokens, ","));
  for (const Phase& phase : phases)
    text += fmt::format("{}: {} token{} in {:.2f} ms, {:.1f} tokens/s\n", phase.name, phase.tokens,
                        phase.tokens == 1 ? "" : "s", phase.seconds * 1e3, phase.rate());
  write_stdout(text);
}

}  // namespace

void add_generate_command(CLI::App& app) {
  const auto arguments = std::make_shared<GenerateArguments>();
  CLI::App* command =
      app.add_subcommand("generate", "Generate tokens with a language model, and time it")
          ->group("Commands");
  command
      ->add_option("PROGRAM", arguments->program,
                   "A .pte file, or a model, which is compiled in memory")
      ->type_name("")
      ->required();
  command->add_option("--prompt-ids", arguments->prompt, "The tokens of the prompt")
      ->option_text("1,2,3")
      ->required();
  command->add_option("--steps", arguments->steps, "How many tokens to generate, at most")
      ->option_text("N")
      ->required()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  command
      ->add_option("--context", arguments->options.context,
                   "How many positions the cache has, for a program without\n"
                   "get_max_context_len; or fewer, to use no more")
      ->option_text("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  command->add_option("--tokens", arguments->options.tokens, "The input of tokens, if not found")
      ->option_text("NAME");
  command
      ->add_option("--position", arguments->options.position,
                   "The input of the tokens' position, if not found")
      ->option_text("NAME");
  command->add_option("--threads", arguments->threads, "Without it, one per core")
      ->option_text("N")
      ->check(CLI::Range(1u, std::numeric_limits<unsigned>::max()));
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer(
      "The prompt is read in as few calls as the program allows, then every token is the\n"
      "likeliest. Times are those in the program.\n"
      "\n"
      "Example:\n"
      "  layline generate model.pte --prompt-ids 1,2,3 --steps 64");
  command->callback([arguments] { run_generate(*arguments); });
}

}  // namespace layline

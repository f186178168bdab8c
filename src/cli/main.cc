// layline COMMAND ...: see command.h for the commands. Exit status: 0; 1 for an error of the
// user's, with one line on stderr; 2 for one of ours, with a reproducer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/truncated_map.h"
#include "cli/color.h"
#include "cli/command.h"
#include "cli/reproducer.h"
#include "layline/version.h"

namespace layline {
namespace {

constexpr int kUserError = 1;
constexpr int kInternalError = 2;

/// Prints one line, whatever is in it: messages quote models and file names, which may hold
/// anything.
void print_error(std::string_view message) {
  constexpr size_t kMostBytes = 4000;  // as much as somebody may read
  const bool cut = message.size() > kMostBytes;
  if (cut) message = message.substr(0, kMostBytes);
  std::string line = paint(Color::red, "layline:", Stream::error) + " ";
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  line += cut ? " ...\n" : "\n";
  std::fputs(line.c_str(), stderr);
}

int fail_with_reproducer(std::span<char* const> arguments, std::string_view what) {
  const auto file = write_reproducer(arguments, what);
  print_error(fmt::format("internal error: {}; please report it; {}", what,
                          file ? fmt::format("reproducer written to {}", *file)
                               : "no reproducer could be written to the current directory"));
  return kInternalError;
}

/// The command line is wrong: says how, and where to read on.
int fail_to_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (app.get_subcommands().empty()) {
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      commands.push_back(command->get_name());
    }
    const std::vector<std::string> unknown = app.remaining();
    print_error(fmt::format(
        "{}; there are {}; see 'layline --help'",
        unknown.empty() ? "no command is given" : fmt::format("no command '{}'", unknown.front()),
        fmt::join(commands, ", ")));
  } else {
    print_error(fmt::format("{}; see 'layline {} --help'", error.what(),
                            app.get_subcommands().front()->get_name()));
  }
  return kUserError;
}

/// Refuses options given as "". They would look like ones not given, and be dropped without a word.
void refuse_empty_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_items_expected_max() == 0) continue;  // a flag
      option->check([](const std::string& value) {
        return value.empty() ? std::string("an empty value is not possible") : std::string();
      });
    }
  }
}

int dispatch(int argc, char** argv) {
  CLI::App app(
      "Compiles neural networks for devices: models of torch.export (.pt2) and ONNX become "
      "ExecuTorch programs (.pte).",
      "layline");
  app.set_version_flag("--version", "layline " LAYLINE_VERSION);
  app.add_option_function<std::string>(
         "--color", [](const std::string& when) { set_color(when); },
         "Colour: auto (on terminals, unless NO_COLOR is set), always or never")
      ->option_text("WHEN")
      ->trigger_on_parse();
  app.require_subcommand(1);
  app.get_formatter()->label("REQUIRED", "");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND ...");
  app.footer(
      "Example:\n"
      "  layline compile model.pt2                   # writes model.pte\n"
      "  layline run model.pte --input x=image.npy   # runs it, shows its outputs\n"
      "  layline generate llm.pte --prompt-ids 1,2 --steps 9   # its next tokens\n"
      "  layline bench model.pte other.pte           # which one is faster?\n"
      "  layline explain model.pt2                   # why is each permute there?\n"
      "  layline verify model.pt2                    # is every pass right?\n"
      "\n"
      "'layline COMMAND --help' explains a command.");
  add_compile_command(app);
  add_runtime_commands(app);
  add_explain_command(app);
  add_diff_command(app);
  add_completion_command(app);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    write_stdout(app.help());
  } catch (const CLI::CallForVersion& version) {
    write_stdout(fmt::format("{}\n", version.what()));
  } catch (const CLI::ParseError& error) {
    return fail_to_parse(app, error);
  }
  return 0;
}

}  // namespace
}  // namespace layline

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<size_t>(argc));
  layline::exit_on_truncated_map();
  // A write beyond the limit of file sizes is then an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    layline::hand_over(arguments);
    return layline::dispatch(argc, argv);
  } catch (const layline::UserError& error) {
    layline::print_error(error.what());
    return layline::kUserError;
  } catch (const std::bad_alloc&) {
    layline::print_error("not enough memory");
    return layline::kUserError;
  } catch (const std::exception& error) {
    return layline::fail_with_reproducer(arguments, error.what());
  } catch (...) {
    return layline::fail_with_reproducer(arguments, "unknown exception");
  }
}

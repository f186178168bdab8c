// layline completion: a script for the shell that completes commands, options and files. It is made
// from the commands themselves, so it knows what they know.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/command.h"

namespace layline {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// "-o" and "--report", without positional arguments.
std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string bash(const CLI::App& app) {
  std::string cases;
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) {
    names.push_back(command->get_name());
    cases += fmt::format("    {}) options='{}' ;;\n", command->get_name(),
                         fmt::join(options_of(*command), " "));
  }
  return fmt::format(
      R"(# Completion of layline for bash:  source <(layline completion bash)
_layline() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '{} {}' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _layline layline
)",
      fmt::join(names, " "), fmt::join(options_of(app), " "), cases);
}

std::string zsh(const CLI::App& app) {
  return "# Completion of layline for zsh:  source <(layline completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash(app);
}

/// A string for fish: within single quotes only \ and ' are special.
std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "'";
}

std::string fish(const CLI::App& app) {
  std::string text = "# Completion of layline for fish:  layline completion fish | source\n";
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("complete -c layline -n __fish_use_subcommand -f -a {} -d {}\n",
                        command->get_name(), fish_quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      std::string names;
      for (const std::string& name : option->get_snames()) names += " -s " + name;
      for (const std::string& name : option->get_lnames()) names += " -l " + name;
      if (names.empty()) continue;
      text +=
          fmt::format("complete -c layline -n '__fish_seen_subcommand_from {}'{}{} -d {}\n",
                      command->get_name(), names, option->get_items_expected_max() > 0 ? " -r" : "",
                      fish_quoted(option->get_description()));
    }
  }
  return text;
}

void run_completion(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return write_stdout(bash(app));
  if (shell == "zsh") return write_stdout(zsh(app));
  if (shell == "fish") return write_stdout(fish(app));
  throw UserError("no completion for '{}'; there are bash, zsh and fish", shell);
}

}  // namespace

void add_completion_command(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print a script that completes commands in a shell")
          ->group("Commands");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->type_name("")->required();
  command->footer(
      "Example:\n"
      "  source <(layline completion bash)");
  command->callback([&app, shell] { run_completion(app, *shell); });
}

}  // namespace layline

#include "cli/target_options.h"

#include <fmt/ranges.h>

namespace layline {

void add_target_options(CLI::App& command, std::string_view heading,
                        std::string_view Target::*about, CompileOptions& options) {
  std::string help(heading);
  for (const Target* target : all_targets())
    help += fmt::format("\n{}: {}", target->name, target->*about);
  command.add_option("--target", options.target, help)->option_text("TARGET");
  for (const Target* target : all_targets())
    for (const TargetOption& option : target->options)
      command
          .add_option(std::string(option.name), options.for_target.*option.member,
                      std::string(option.help))
          ->option_text(std::string(option.value));
}

void add_prove_option(CLI::App& command, CompileOptions& options) {
  command
      .add_option("--prove", options.prove_seconds,
                  "Look about so long for fewer and cheaper permutes, or for a proof that there\n"
                  "are none, where the usual milliseconds are not enough; 0 by default")
      ->option_text("SECONDS")
      ->check(CLI::Range(0.0, 1e6));
}

std::string of_all_targets(std::string_view Target::*what) {
  std::vector<std::string_view> texts;
  for (const Target* target : all_targets()) texts.push_back(target->*what);
  return fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace layline

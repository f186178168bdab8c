// layline explain: the ledger of a compilation. Where the permutes went, why the rest is there,
// that fewer are not possible, and what became of a node.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/import_options.h"
#include "cli/target_options.h"
#include "compiler/explain.h"

namespace layline {
namespace {

struct ExplainArguments {
  std::string model;
  CompileOptions options;
  ImportArguments import_arguments;
  std::string why;
  bool log = false;
};

void explain(const ExplainArguments& arguments) {
  CompileOptions options = arguments.options;
  options.explain = true;
  options.import_options = read_import_options(arguments.import_arguments);
  const Compiled compiled = compile(arguments.model, options);
  if (!arguments.why.empty()) return write_stdout(explain_node(compiled, arguments.why));
  if (arguments.log) return write_stdout(explain_log(compiled));
  write_stdout(explain_all(compiled));
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command =
      app.add_subcommand("explain", "Tell why each permute is there, and what is not delegated")
          ->group("Commands");
  command
      ->add_option("MODEL", arguments->model, "a .pt2 archive, an .onnx file, or a graph as text")
      ->required();
  add_target_options(*command, "What the program is for:", &Target::programs, arguments->options);
  add_import_options(*command, arguments->import_arguments);
  add_prove_option(*command, arguments->options);
  command->add_option("--why", arguments->why,
                      "the story of one NODE, named as in the model or in compile --emit");
  command->add_flag("--log", arguments->log, "every decision of every pass, one a line")
      ->excludes("--why");
  command->footer(
      "Example:\n"
      "  layline explain model.pt2\n"
      "  layline explain model.pt2 --why conv2d_3");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace layline

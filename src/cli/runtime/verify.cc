#include "compiler/verify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cli/command.h"
#include "cli/import_options.h"
#include "cli/progress.h"
#include "cli/runtime/commands.h"
#include "cli/runtime/reference_model.h"
#include "cli/target_options.h"
#include "runtime/program.h"
#include "runtime/tensor_file.h"

namespace layline {
namespace {

struct VerifyArguments {
  std::string model;
  CompileOptions options;
  ImportArguments import_arguments;
  std::string inputs;
};

std::map<std::string, Tensor> read_inputs(const std::string& path) {
  std::map<std::string, Tensor> inputs;
  if (path.empty()) return inputs;
  for (auto& [name, tensor] : read_tensors(path)) inputs.emplace(name, as_tensor(tensor));
  return inputs;
}

RunMethod load_in_executorch(std::span<const std::byte> program, const std::string& method) {
  auto loaded = std::make_shared<LoadedProgram>(
      LoadedProgram::from_compiled(program, "the program", {method}));
  return [loaded](std::span<const Tensor> arguments) {
    std::vector<HostTensor> given;
    size_t next = 0;
    for (const IoInfo& input : loaded->inputs())
      given.push_back(input.kind == IoKind::tensor ? as_host(arguments[next++]) : HostTensor{});
    std::vector<HostTensor> outputs = loaded->run(given);
    std::vector<Tensor> results;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (loaded->outputs()[i].kind == IoKind::tensor)
        results.push_back(as_tensor(std::move(outputs[i])));
    return results;
  };
}

/// What runs programs of each format.
struct Runner {
  std::string_view extension;
  LoadMethod (*find)();
};
constexpr Runner kRunners[] = {
    {".pte", [] { return LoadMethod(load_in_executorch); }},
    {".tosa", load_in_reference_model},
};

LoadMethod find_runner(const std::string& target) {
  const auto* const runner =
      std::ranges::find(kRunners, find_target(target).extension, &Runner::extension);
  LAYLINE_ASSERT(runner != std::end(kRunners), "nothing runs programs for {}", target);
  return runner->find();
}

std::string told(const VerifiedMethod& method) {
  std::string text = fmt::format(
      "{}: {} changes by passes and {} results of the program in {} run{} agree with the "
      "reference evaluator",
      method.name, method.passes, method.results, method.steps, method.steps == 1 ? "" : "s");
  if (method.op_by_op) text += ", op by op, but for a unit of rounding";
  if (method.units == 1) text += ", but for a unit of rounding";
  if (method.units > 1)
    text += fmt::format(": no op is off by more than it may be, and the results by {} units",
                        method.units);
  return text + "\n";
}

void verify_command(const VerifyArguments& arguments) {
  const std::map<std::string, Tensor> inputs = read_inputs(arguments.inputs);
  std::vector<VerifiedMethod> methods;
  {
    const Progress progress(fmt::format("verifying {}", arguments.model));
    CompileOptions options = arguments.options;
    options.import_options = read_import_options(arguments.import_arguments);
    methods = verify_model(arguments.model, options, inputs, find_runner(arguments.options.target));
  }
  std::string text;
  for (const VerifiedMethod& method : methods) text += told(method);
  write_stdout(text);
}

}  // namespace

void add_verify_command(CLI::App& app) {
  const auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand("verify",
                                         "Check every pass, and the program on the runtime, "
                                         "against the reference evaluator")
                          ->group("Commands");
  command->add_option("MODEL", arguments->model, "A .pt2 archive, an .onnx file, or graphs as text")
      ->type_name("")
      ->required();
  add_target_options(*command, "What the program is for, and where it runs:", &Target::verified,
                     arguments->options);
  add_import_options(*command, arguments->import_arguments);
  command
      ->add_option(
          "--inputs", arguments->inputs,
          "Inputs by their names in the model, in logical shape: an .npz file, or a directory\n"
          "of NAME.npy. What is not there is made up, the same every time")
      ->option_text("FILE.npz|DIR");
  command->footer(
      "Exit status 0 if all agrees. A difference is a bug of layline's: status 2, the pass or the\n"
      "program that is wrong, and the first node. The evaluator is slow: seconds to minutes.\n"
      "\n"
      "Example:\n"
      "  layline verify model.pt2 --inputs samples.npz\n"
      "  layline verify model.pt2 --target tosa");
  command->callback([arguments] { verify_command(*arguments); });
}

}  // namespace layline

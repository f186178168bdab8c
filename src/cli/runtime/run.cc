#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/npy.h"
#include "cli/command.h"
#include "cli/runtime/commands.h"
#include "cli/runtime/program_source.h"
#include "ir/npy_types.h"
#include "ir/tensor.h"
#include "runtime/program.h"
#include "runtime/random_input.h"
#include "runtime/tensor_file.h"
#include "runtime/threads.h"

namespace layline {
namespace {

constexpr uint64_t kSeed = 0;

struct RunArguments {
  std::string program;
  std::string method = "forward";
  std::vector<std::string> inputs;
  std::string inputs_file;
  std::string output_dir;
  unsigned threads = 0;
  int64_t steps = 0;  // 0: one run, nothing stacked
};

size_t find_input(const std::vector<IoInfo>& inputs, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name != name) {
      names.push_back(inputs[i].name);
      continue;
    }
    if (inputs[i].kind != IoKind::tensor) {
      throw UserError(
          "input '{}' takes no file; its value was fixed when the model was exported: {}", name,
          describe(inputs[i]));
    }
    return i;
  }
  if (names.empty()) throw UserError("no input '{}'; the program has none", name);
  throw UserError("no input '{}'; there are {}", name, fmt::join(names, ", "));
}

struct GivenInput {
  HostTensor tensor;
  std::string file;
};

/// What the user gave for each input.
std::vector<std::optional<GivenInput>> read_inputs(const std::vector<IoInfo>& inputs,
                                                   const RunArguments& arguments) {
  std::vector<std::optional<GivenInput>> given(inputs.size());
  if (!arguments.inputs_file.empty())
    for (auto& [name, tensor] : read_tensors(arguments.inputs_file))
      given[find_input(inputs, name)] = {std::move(tensor), arguments.inputs_file};
  for (const std::string& text : arguments.inputs) {
    const Assignment assignment = parse_assignment("--input", text);
    std::optional<GivenInput>& input = given[find_input(inputs, assignment.name)];
    if (input) throw UserError("input '{}' is given twice", assignment.name);
    input = {read_tensor(assignment.value), assignment.value};
  }
  return given;
}

/// The tensors that the user gave and random ones for the rest, and a line about each.
std::vector<HostTensor> gather_inputs(const LoadedProgram& program, const RunArguments& arguments,
                                      std::string& log) {
  const std::vector<IoInfo>& inputs = program.inputs();
  std::vector<std::optional<GivenInput>> given = read_inputs(inputs, arguments);
  std::vector<std::optional<std::vector<int64_t>>> shapes(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (given[i]) shapes[i] = given[i]->tensor.shape;
  std::vector<IoInfo> missing = inputs;
  const std::vector<std::vector<int64_t>> complete = program.complete_shapes(shapes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    missing[i].shape = complete[i];
    if (given[i]) missing[i].kind = IoKind::none;  // nothing to make up
  }
  std::vector<HostTensor> tensors = random_inputs(missing, kSeed);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given[i]) tensors[i] = std::move(given[i]->tensor);
    std::string origin = given[i]                        ? given[i]->file
                         : may_be_index(inputs[i].dtype) ? "all 0"
                                                         : fmt::format("random, seed {}", kSeed);
    if (inputs[i].kind != IoKind::tensor) origin = "fixed";
    log += fmt::format("input {}: {} ({})\n", inputs[i].name, describe(inputs[i]), origin);
  }
  return tensors;
}

/// The part of an input that a step gets: its own, if the file holds one for each step, or else the
/// whole.
HostTensor part_of_step(const IoInfo& input, const HostTensor& given, int64_t step, int64_t steps) {
  if (steps == 0 || given.shape.size() != input.shape.size() + 1) return given;
  if (given.shape[0] != steps)
    throw UserError("input '{}': the file holds {} steps, --steps is {}", input.name,
                    given.shape[0], steps);
  HostTensor part{given.dtype, {given.shape.begin() + 1, given.shape.end()}, {}};
  const auto size = static_cast<std::ptrdiff_t>(given.bytes.size()) / steps;
  part.bytes.assign(given.bytes.begin() + step * size, given.bytes.begin() + (step + 1) * size);
  return part;
}

/// The outputs of all steps, stacked along a new leading axis.
void stack(std::vector<HostTensor>& all, std::vector<HostTensor> step, int64_t steps,
           const std::vector<IoInfo>& outputs) {
  if (all.empty()) {
    all = std::move(step);
    for (HostTensor& output : all) output.shape.insert(output.shape.begin(), steps);
    return;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!std::equal(step[i].shape.begin(), step[i].shape.end(), all[i].shape.begin() + 1,
                    all[i].shape.end()))
      throw UserError("output `{}` changes its shape from step to step: run them one by one",
                      outputs[i].name);
    all[i].bytes.insert(all[i].bytes.end(), step[i].bytes.begin(), step[i].bytes.end());
  }
}

/// `min -1.2, max 3.4, mean 0.5`, NaNs left out and counted.
std::string statistics(const Tensor& tensor) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0;
  int64_t numbers = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = tensor.get(i);
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    ++numbers;
  }
  if (tensor.count() == 0) return "empty";
  if (tensor.count() == 1) return fmt::format("value {:.6g}", tensor.get(0));
  if (numbers == 0) return "all nan";
  std::string text = fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}", low, high,
                                 sum / static_cast<double>(numbers));
  if (numbers < tensor.count()) text += fmt::format(", {} nan", tensor.count() - numbers);
  return text;
}

void create_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw UserError("cannot create directory '{}': {}", path, error.message());
}

void run_program(const RunArguments& arguments) {
  set_threads(arguments.threads);
  const ProgramSource source(arguments.program);
  LoadedProgram program = source.load(arguments.method);
  std::string log;
  const std::vector<HostTensor> inputs = gather_inputs(program, arguments, log);
  std::vector<HostTensor> outputs;
  std::chrono::duration<double, std::milli> elapsed{0};
  for (int64_t step = 0; step < std::max<int64_t>(arguments.steps, 1); ++step) {
    std::vector<HostTensor> given;
    for (size_t i = 0; i < inputs.size(); ++i)
      given.push_back(part_of_step(program.inputs()[i], inputs[i], step, arguments.steps));
    program.set_inputs(given);
    const auto start = std::chrono::steady_clock::now();
    program.execute();
    elapsed += std::chrono::steady_clock::now() - start;
    if (arguments.steps == 0)
      outputs = program.get_outputs();
    else
      stack(outputs, program.get_outputs(), arguments.steps, program.outputs());
  }

  if (!arguments.output_dir.empty()) create_directory(arguments.output_dir);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const IoInfo& info = program.outputs()[i];
    if (info.kind == IoKind::none || info.kind == IoKind::string) {
      log += fmt::format("output {}: {}, not a tensor\n", info.name, describe(info));
      continue;
    }
    const Tensor tensor = as_tensor(std::move(outputs[i]));
    const std::vector<int64_t>& shape = tensor.dims();
    log += fmt::format("output {}: {}[{}] {}\n", info.name, name(tensor.dtype()),
                       fmt::join(shape, ", "), statistics(tensor));
    if (arguments.output_dir.empty()) continue;
    const std::string path =
        std::filesystem::path(arguments.output_dir) / fmt::format("{}.npy", info.name);
    write_npy(path, npy_type(tensor.dtype()), shape, tensor.bytes());
  }
  write_stdout(fmt::format("{}ran in {:.3f} ms\n", log, elapsed.count()));
}

}  // namespace

void add_run_command(CLI::App& app) {
  const auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Run a program on the ExecuTorch runtime")->group("Commands");
  command
      ->add_option("PROGRAM", arguments->program,
                   "A .pte file, or a model, which is compiled in memory")
      ->type_name("")
      ->required();
  command
      ->add_option("--input", arguments->inputs,
                   "An input, by its name in the model, in its logical shape; repeatable.\n"
                   "What is not given is random, the same every time; integers that may be\n"
                   "indices are 0")
      ->option_text("NAME=FILE.npy ...")
      ->allow_extra_args(false);
  command
      ->add_option("--inputs", arguments->inputs_file,
                   "The same for many: an .npz file, or a directory of NAME.npy")
      ->option_text("FILE.npz|DIR");
  command
      ->add_option("--output-dir", arguments->output_dir,
                   "Write each output to DIR/NAME.npy (bfloat16 as two raw bytes each)")
      ->option_text("DIR");
  command->add_option("--method", arguments->method, "The method to run; without it, forward")
      ->option_text("NAME");
  command
      ->add_option("--steps", arguments->steps,
                   "Run N times; states go on from run to run. An input file may hold one tensor\n"
                   "for each step, stacked along a new first axis; outputs are stacked so")
      ->option_text("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32));
  command->add_option("--threads", arguments->threads, "Without it, one per core")
      ->option_text("N")
      ->check(CLI::Range(1u, std::numeric_limits<unsigned>::max()));
  command->footer(
      "Example:\n"
      "  layline run mobilenet_v2.pte --input x=image.npy --output-dir outputs\n"
      "  layline run mobilenet_v2.pt2     # compiled on the fly, on a random image");
  command->callback([arguments] { run_program(*arguments); });
}

}  // namespace layline

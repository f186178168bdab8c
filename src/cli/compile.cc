#include "compiler/compile.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/file_sink.h"
#include "base/output_file.h"
#include "cli/color.h"
#include "cli/command.h"
#include "cli/constants.h"
#include "cli/import_options.h"
#include "cli/progress.h"
#include "cli/target_options.h"
#include "report/html.h"
#include "report/model_explorer.h"

namespace layline {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct CompileArguments {
  std::string model;
  std::string output;
  std::string report;
  std::string proof;
  std::string emit;
  std::vector<std::string> input_orders;
  std::vector<std::string> output_orders;
  std::vector<std::string> constants;
  ImportArguments import_arguments;
  bool sync = false;
  CompileOptions options;  // those that need no reading
};

void check_known(std::string_view what, const std::string& name,
                 const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UserError("no {} '{}'; there are {}", what, name, fmt::join(known, ", "));
}

std::vector<BoundaryOrder> parse_orders(std::string_view option,
                                        const std::vector<std::string>& texts) {
  std::vector<BoundaryOrder> orders;
  for (const std::string& text : texts) {
    const auto [name, order] = parse_assignment(option, text);
    for (const BoundaryOrder& other : orders) {
      if (other.name == name) throw UserError("{} is given twice for '{}'", option, name);
    }
    orders.push_back({name, order});
  }
  return orders;
}

CompileOptions parse_options(const CompileArguments& arguments) {
  if (!arguments.report.empty() && !arguments.report.ends_with(".html") &&
      !arguments.report.ends_with(".json"))
    throw UserError("--report {}: a report is FILE.json or FILE.html", arguments.report);
  // Here and not only by the pipeline, which `--emit import` never reaches.
  CompileOptions options = arguments.options;
  for (const std::string& pass : options.disabled_passes) {
    check_known("pass", pass, disableable());
  }
  options.import_options = read_import_options(arguments.import_arguments);
  options.input_orders = parse_orders("--input-order", arguments.input_orders);
  options.output_orders = parse_orders("--output-order", arguments.output_orders);
  options.for_target.constant_methods = parse_constants(arguments.constants);
  options.draw = !arguments.report.empty();
  options.proof = !arguments.proof.empty();
  if (!arguments.emit.empty()) {
    check_known("stage", arguments.emit, stages());
    if (!arguments.report.empty()) {
      throw UserError("--report tells about a whole compilation; --emit stops before its end");
    }
    if (!arguments.proof.empty())
      throw UserError("--proof is of a whole program; --emit stops before its end");
    options.emit = arguments.emit;
  }
  return options;
}

void check_paths(const CompileArguments& arguments, const std::string& output) {
  const std::pair<std::string, std::string_view> written[] = {
      {output, "program"}, {arguments.report, "report"}, {arguments.proof, "proof"}};
  for (size_t i = 0; i < std::size(written); ++i) {
    const auto& [path, what] = written[i];
    check_stays(arguments.model, "model", path);
    check_stays(arguments.options.for_target.profile, "profile", path);
    for (size_t j = 0; j < i && !path.empty(); ++j)
      if (same_file(written[j].first, path))
        throw UserError("'{}' cannot be both the {} and the {}", written[j].first,
                        written[j].second, what);
  }
}

std::string default_output(const std::string& model, const std::string& target) {
  return fs::path(model).filename().replace_extension(find_target(target).extension);
}

void emit_text(const std::string& text, const std::string& output) {
  if (output.empty()) {
    write_stdout(text);
    return;
  }
  OutputFile file(output);
  file.write(text);
  file.commit();
}

void write_report_file(OutputFile& file, const std::string& path, const Compiled& compiled) {
  const TextSink sink = [&](std::string_view text) { file.write(text); };
  if (path.ends_with(".html")) {
    write_page(sink, compiled.report, compiled.pictures);
    return;
  }
  JsonWriter json(sink);
  write_report(json, compiled.report, compiled.pictures);
  sink("\n");
}

/// A program that is written to a file, with a sum (FNV-1a) of its bytes.
class SummedSink : public ByteSink {
 public:
  explicit SummedSink(ByteSink& sink) : sink_(sink) {}
  void expect(uint64_t bytes) override { sink_.expect(bytes); }
  void write(std::span<const std::byte> bytes) override {
    add(bytes);
    sink_.write(bytes);
  }
  void lend(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) override {
    add(bytes);
    sink_.lend(bytes, owner);
  }
  uint64_t sum() const { return sum_; }

 private:
  void add(std::span<const std::byte> bytes) {
    for (std::byte byte : bytes) sum_ = (sum_ ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  }

  ByteSink& sink_;
  uint64_t sum_ = 0xcbf29ce484222325;
};

/// The program that a proof is about, and the proof of each method's placement (docs/proof.md).
void write_proof_file(OutputFile& file, const Compiled& compiled, uint64_t bytes, uint64_t sum) {
  file.write(fmt::format("layline-proof 1\nprogram {} {:016x}\nmethods {}\n", bytes, sum,
                         compiled.proofs.size()));
  for (const std::string& proof : compiled.proofs) file.write(proof);
}

/// A file beside the program, if it was asked for.
struct Beside {
  const std::string& path;
  std::optional<OutputFile> file = {};

  explicit Beside(const std::string& wanted) : path(wanted) {
    if (!path.empty()) file.emplace(path);
  }
};

/// Commits all files or none.
void commit(OutputFile& program, std::span<Beside> others, bool sync) {
  if (sync) program.sync();
  for (Beside& other : others)
    if (sync && other.file) other.file->sync();
  std::vector<std::string> committed;
  try {
    for (Beside& other : others) {
      if (!other.file) continue;
      other.file->commit();
      committed.push_back(other.path);
    }
    program.commit();
  } catch (const UserError&) {
    std::error_code ignored;
    for (const std::string& path : committed) fs::remove(path, ignored);
    throw;
  }
}

std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string summary(const Report& report, const std::string& output, uint64_t bytes) {
  int64_t portable_ops = 0;
  for (const PortableOp& portable : report.portable_ops) portable_ops += portable.count;
  return fmt::format("{}: {:.2f} MB in {:.1f} ms{}\n{}, {}, {}, {} of {} left\n", output,
                     static_cast<double>(bytes) / 1e6, report.compile_ms,
                     report.profile.empty() ? "" : fmt::format(" for {}", report.profile),
                     counted(report.ops, "op"), counted(report.delegates, "delegate"),
                     counted(portable_ops, "portable op"),
                     paint(Color::bold, fmt::format("{}", report.permutes.final)),
                     counted(report.permutes.source + report.permutes.implied, "permute"));
}

void run_compile(const CompileArguments& arguments) {
  const CompileOptions options = parse_options(arguments);
  const std::string output = !arguments.output.empty() || options.emit
                                 ? arguments.output
                                 : default_output(arguments.model, options.target);
  const Clock::time_point start = Clock::now();
  std::optional<Progress> progress(fmt::format("compiling {}", arguments.model));
  Compiled compiled = compile(arguments.model, options);
  // Only now: of a program given as a model, whose default output it is itself, or of a model that
  // is not there, compiling says what is wrong. Nothing has been written yet.
  check_paths(arguments, output);
  if (options.emit) {
    progress.reset();
    emit_text(compiled.text, output);
    return;
  }

  OutputFile program(output);
  Beside others[] = {Beside(arguments.report), Beside(arguments.proof)};
  auto& [report, proof] = others;
  FileSink file(program);
  SummedSink summed(file);
  compiled.program->write(proof.file ? static_cast<ByteSink&>(summed) : file);
  // Writing is part of compiling: weights get their final order on the way into the file.
  compiled.report.compile_ms =
      std::chrono::duration<double, std::milli>(Clock::now() - start).count() -
      compiled.report.report_ms;
  const uint64_t bytes = program.position();
  if (report.file) write_report_file(*report.file, arguments.report, compiled);
  if (proof.file) write_proof_file(*proof.file, compiled, bytes, summed.sum());
  commit(program, others, arguments.sync);
  progress.reset();
  for (const std::string& note : compiled.report.notes)
    fmt::print(stderr, "layline: note: {}\n", note);
  write_stdout(summary(compiled.report, output, bytes));
}

}  // namespace

void add_compile_command(CLI::App& app) {
  const auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand("compile", "Compile a model into a program for a device")
                          ->group("Commands");
  command
      ->add_option("MODEL", arguments->model,
                   "A .pt2 file of torch.export, an .onnx file, or a graph as text")
      ->type_name("")
      ->required();
  command
      ->add_option("-o", arguments->output,
                   fmt::format("The program to write; without it, MODEL's name ending in {},\n"
                               "in the current directory",
                               of_all_targets(&Target::extension)))
      ->option_text("OUT");
  add_target_options(*command, "What the program is for:", &Target::programs, arguments->options);
  command
      ->add_option("--report", arguments->report,
                   "Write what was done to FILE.json, which Model Explorer opens too, or to\n"
                   "FILE.html as a page to look at")
      ->option_text("FILE");
  command
      ->add_option("--proof", arguments->proof,
                   "Write out why no choice of loop orders moves less data, for\n"
                   "layline-check-proof to check")
      ->option_text("FILE");
  command
      ->add_option("--emit", arguments->emit,
                   "Stop after STAGE and print its graph as text, into OUT if given")
      ->option_text("STAGE");
  command
      ->add_option("--disable", arguments->options.disabled_passes, "Leave out a pass; repeatable")
      ->option_text("PASS ...")
      ->allow_extra_args(false);
  command->add_flag("--strip", arguments->options.for_target.strip,
                    "Keep no source lines of the model in the program; debug handles stay");
  command->add_flag("--sync", arguments->sync,
                    "Wait until the program is on the disk before it replaces an older one");
  add_prove_option(*command, arguments->options);
  command->add_flag("--verify", arguments->options.verify,
                    "Check every pass against the reference evaluator");
  add_import_options(*command, arguments->import_arguments);
  command
      ->add_option("--input-order", arguments->input_orders,
                   "How an input lies in memory: nchw or nhwc (its shape stays the\n"
                   "model's); repeatable")
      ->option_text("NAME=nhwc ...")
      ->allow_extra_args(false);
  command->add_option("--output-order", arguments->output_orders, "The same for an output")
      ->option_text("NAME=nhwc ...")
      ->allow_extra_args(false);
  command
      ->add_option("--constant", arguments->constants,
                   "Add a method that takes nothing and returns VALUE: an integer, a float,\n"
                   "true, false or a list such as 1,2; repeatable")
      ->option_text("NAME=VALUE ...")
      ->allow_extra_args(false);
  command->add_flag("--llm", arguments->options.llm,
                    "Add the constants that ExecuTorch's runner of language models asks for,\n"
                    "from the model's shapes, as far as --constant does not give them");
  std::string passes;
  for (const Pass& pass : all_passes()) {
    passes += fmt::format("  {:<20} {}\n", pass.name, pass.summary);
  }
  for (const Target* target : all_targets())
    if (!target->delegates.empty())
      passes += fmt::format("  {:<20} {}\n", "delegate", target->delegates);
  command->footer(
      fmt::format("Stages for --emit: {}\n\nPasses for --disable:\n{}\n"
                  "Example:\n"
                  "  layline compile mobilenet_v2.pt2 -o mobilenet_v2.pte --report report.json\n"
                  "  layline compile mobilenet_v2.pt2 --emit import | less",
                  fmt::join(stages(), ", "), passes));
  command->callback([arguments] { run_compile(*arguments); });
}

}  // namespace layline

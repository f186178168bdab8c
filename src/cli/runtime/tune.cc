// Times the runtime's own kernels for moving data and for products, and fits the cost model to them
// (layout/cost.h).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/runtime/commands.h"
#include "cli/runtime/tune_cases.h"
#include "runtime/bench.h"
#include "targets/xnnpack/profile.h"

namespace layline::tune {
namespace {

constexpr int64_t kNodesOfChain = 9;
constexpr int64_t kPieces[] = {4, 8, 16, 32, 64};
constexpr int kFitRounds = 1000;

/// Measures the least time of each case, by turns.
void measure(const std::vector<Case*>& cases, const BenchOptions& options) {
  std::vector<BenchSubject> subjects;
  for (const Case* one : cases)
    subjects.push_back(
        {one->name, [one] { return LoadedProgram::from_compiled(one->program, one->name); }});
  const BenchReport report = bench(subjects, options);
  for (size_t i = 0; i < cases.size(); ++i)
    cases[i]->measured_ps = report.programs[i].latency_ms.min * 1e9;
}

/// The cost of doing nothing.
struct Overheads {
  double border_ps;  // entering a delegate, and running a program at all
  double node_ps;
  double program_ps;  // running a program without a delegate
  double kernel_ps;   // calling a kernel outside delegates
};

Overheads measure_overheads(const BenchOptions& options) {
  Case cases[] = {chain(1, true), chain(kNodesOfChain, true), chain(1, false),
                  chain(kNodesOfChain, false)};
  measure({&cases[0], &cases[1], &cases[2], &cases[3]}, options);
  const auto each = [](const Case& one, const Case& many) {
    return (many.measured_ps - one.measured_ps) / (kNodesOfChain - 1);
  };
  const double node_ps = each(cases[0], cases[1]), kernel_ps = each(cases[2], cases[3]);
  return {cases[0].measured_ps - node_ps, node_ps, cases[2].measured_ps - kernel_ps, kernel_ps};
}

/// Visits the cases that have a prediction.
template <typename Visit>
void each(MoveCases& all, Visit visit) {
  for (Case& one : all.transposes) visit(one);
  for (IntegerCase& one : all.byte_transposes) visit(one.of);
  for (auto* group : {&all.permutes, &all.slices, &all.concats})
    for (RunCase& run : *group) visit(run.of);
  for (Case& one : all.checks) visit(one);
}

/// Leaves the time that the node itself takes.
void subtract_quantising(IntegerCase& one) {
  one.of.measured_ps = std::max(one.of.measured_ps - one.quantising.measured_ps, 1.0);
}

void measure_moves(MoveCases& all, const Overheads& overheads, const BenchOptions& options) {
  std::vector<Case*> cases;
  each(all, [&](Case& one) { cases.push_back(&one); });
  for (IntegerCase& one : all.byte_transposes) cases.push_back(&one.quantising);
  measure(cases, options);
  // Entering and leaving the delegate is no part of any node, nor is what stands before it.
  for (Case* one : cases) one->measured_ps = std::max(one->measured_ps - overheads.border_ps, 1.0);
  for (IntegerCase& one : all.byte_transposes) subtract_quantising(one);
}

/// The costs of products in convolutions, and others that no choice depends on but people ask for.
struct Kernels {
  ProductCosts products;
  double window5_fs, matmul_fs;
  double softmax_ps, layer_norm_ps;  // for an element
};

Kernels measure_kernels(BenchOptions options) {
  // Depthwise windows have kernels of 25 places at most: one of 7x7 has none.
  constexpr std::array<Convolution, 2> kKinds[] = {
      {{{"3x3 window", 28, 128, 3, 128, 1}, {"3x3 window", 14, 256, 3, 256, 1}}},
      {{{"pointwise", 28, 128, 1, 9 * 128, 1}, {"pointwise", 14, 256, 1, 9 * 256, 1}}},
      {{{"depthwise 5x5", 28, 192, 5, 192, 192}, {"depthwise 5x5", 14, 384, 5, 384, 384}}},
      {{{"depthwise 7x7", 28, 192, 7, 192, 192}, {"depthwise 7x7", 14, 384, 7, 384, 384}}},
      {{{"5x5 window", 28, 64, 5, 64, 1}, {"5x5 window", 14, 128, 5, 128, 1}}}};
  constexpr Convolution kIntegers[] = {{"depthwise 3x3 of integers", 28, 192, 3, 192, 192},
                                       {"depthwise 5x5 of integers", 28, 192, 5, 192, 192}};
  constexpr int64_t kMatrix = 256, kRows = 197, kColumns = 192;
  options.iterations = std::max<size_t>(options.iterations / 20, 1);
  std::vector<Case> cases;
  for (const auto& kind : kKinds)
    for (const Convolution& one : kind) cases.push_back(convolution(one));
  cases.push_back(matmul(kMatrix));
  cases.push_back(softmax(kRows, kColumns));
  cases.push_back(layer_norm(kRows, kColumns));
  std::vector<IntegerCase> on_integers;
  for (const Convolution& one : kIntegers) on_integers.push_back(integer_convolution(one));
  std::vector<Case*> all;
  for (Case& one : cases) all.push_back(&one);
  for (IntegerCase& one : on_integers) all.insert(all.end(), {&one.of, &one.quantising});
  measure(all, options);
  for (IntegerCase& one : on_integers) subtract_quantising(one);
  const auto integer_fs = [&](size_t kind) {
    return std::llround(on_integers[kind].of.measured_ps * 1e3 / kIntegers[kind].products());
  };
  const auto mean_fs = [&](size_t kind) {
    double sum = 0;
    for (size_t i = 0; i < kKinds[kind].size(); ++i)
      sum += cases[kind * kKinds[kind].size() + i].measured_ps * 1e3 / kKinds[kind][i].products();
    return sum / static_cast<double>(kKinds[kind].size());
  };
  const Case* rest = &cases[std::size(kKinds) * 2];
  constexpr double kElements = kRows * kColumns;
  return {{.window_fs = std::llround(mean_fs(0)),
           .pointwise_fs = std::llround(mean_fs(1)),
           .depthwise_fs = std::llround(mean_fs(2)),
           .grouped_fs = std::llround(mean_fs(3)),
           .integer_depthwise9_fs = integer_fs(0),
           .integer_depthwise25_fs = integer_fs(1),
           .convert_fs =
               std::llround(on_integers[0].quantising.measured_ps * 1e3 / kIntegers[0].inputs())},
          mean_fs(4),
          rest[0].measured_ps * 1e3 / std::pow(kMatrix, 3),
          rest[1].measured_ps / kElements,
          rest[2].measured_ps / kElements};
}

/// The model's own counts: pieces read and written, matrices, calls.
using Work = std::array<double, 4>;

Work work_of(const Case& transpose, int64_t piece) {
  Work work;
  for (size_t i = 0; i < work.size(); ++i) {
    MoveCosts costs;
    costs.transpose = costs.transpose_bytes = {piece, i == 0, i == 1, i == 2};
    costs.call_ps = i == 3;
    work[i] = static_cast<double>(transpose.predict_ps(costs));
  }
  return work;
}

double dot(const Work& a, const Work& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// The non-negative rates with the least sum of squares of `work * rates - 1`, by coordinate
/// descent.
Work least_squares(const std::vector<Work>& work) {
  Work rates = {};
  for (int round = 0; round < kFitRounds; ++round) {
    for (size_t i = 0; i < rates.size(); ++i) {
      rates[i] = 0;
      double along = 0, square = 0;
      for (const Work& one : work) {
        along += one[i] * (1 - dot(one, rates));
        square += one[i] * one[i];
      }
      rates[i] = std::max(along / square, 0.0);
    }
  }
  return rates;
}

struct TransposeFit {
  TransposeCosts costs;
  int64_t call_ps;
};

/// The fit with the least sum of squares of relative errors.
TransposeFit fit_transposes(const std::vector<const Case*>& cases) {
  TransposeFit fit;
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t piece : kPieces) {
    std::vector<Work> work;  // for each unit of measured time
    for (const Case* one : cases) {
      work.push_back(work_of(*one, piece));
      for (double& count : work.back()) count /= one->measured_ps;
    }
    const Work rates = least_squares(work);
    double squares = 0;
    for (const Work& one : work) squares += std::pow(dot(one, rates) - 1, 2);
    if (squares >= least) continue;
    least = squares;
    fit = {{piece, std::llround(rates[0]), std::llround(rates[1]), std::llround(rates[2])},
           std::llround(rates[3])};
  }
  return fit;
}

RunCosts fit_runs(const std::vector<RunCase>& cases, int64_t call_ps) {
  RunCosts runs;
  runs.points.clear();
  int64_t least = 0;  // a longer run is no cheaper: anything else is noise
  for (const auto& [bytes, of] : cases) {
    const double moved_ps = of.measured_ps - static_cast<double>(call_ps);
    const double run_ps = moved_ps * static_cast<double>(bytes) / kRunTestBytes;
    least = std::max<int64_t>(least, std::llround(run_ps));
    runs.points.push_back({bytes, least});
  }
  return runs;
}

/// Two standard deviations of the permutes that the fit cannot meet exactly: a difference of less
/// may as well be the model's error.
int64_t margin_ps(const std::vector<Case>& cases, const MoveCosts& costs) {
  double squares = 0;
  for (const Case& one : cases)
    squares += std::pow(static_cast<double>(one.predict_ps(costs)) - one.measured_ps, 2);
  return std::llround(2 * std::sqrt(squares / static_cast<double>(cases.size())));
}

MoveCosts fit(const MoveCases& all) {
  std::vector<const Case*> words, bytes;
  for (const Case& one : all.transposes) words.push_back(&one);
  for (const IntegerCase& one : all.byte_transposes) bytes.push_back(&one.of);
  MoveCosts costs;
  const TransposeFit transposes = fit_transposes(words);
  costs.transpose = transposes.costs;
  costs.call_ps = transposes.call_ps;
  costs.transpose_bytes = fit_transposes(bytes).costs;
  costs.permute = fit_runs(all.permutes, costs.call_ps);
  costs.slice = fit_runs(all.slices, costs.call_ps);
  costs.concat = fit_runs(all.concats, costs.call_ps);
  costs.margin_ps = margin_ps(all.transposes, costs);
  return costs;
}

std::string table(MoveCases& all, MoveCosts costs) {
  costs.margin_ps = 0;  // what is expected of a kernel
  size_t width = 0;
  each(all, [&](const Case& one) { width = std::max(width, one.name.size()); });
  std::string text =
      fmt::format("{:<{}}  {:>11}  {:>8}  {:>6}\n", "", width, "measured us", "model us", "ratio");
  each(all, [&](const Case& one) {
    const auto predicted_ps = static_cast<double>(one.predict_ps(costs));
    text += fmt::format("{:<{}}  {:>11.2f}  {:>8.2f}  {:>6.2f}\n", one.name, width,
                        one.measured_ps / 1e6, predicted_ps / 1e6, predicted_ps / one.measured_ps);
  });
  return text;
}

std::string told(const Kernels& kernels, const Overheads& overheads) {
  const auto ps = [](auto fs) { return static_cast<double>(fs) / 1e3; };
  return fmt::format(
      "a multiply-add: {:.1f} ps in a 3x3 convolution, {:.1f} in a 5x5 one, {:.1f} in a pointwise "
      "one, {:.1f} in a depthwise 5x5 one, {:.1f} in a depthwise 7x7 one, {:.1f} in a product of "
      "two inputs\n"
      "of integers: {:.1f} ps in a depthwise 3x3 convolution, {:.1f} in a 5x5 one\n"
      "an element: {:.2f} ns in a softmax, {:.2f} in a layer norm, {:.2f} to quantise\n"
      "a node of a delegate: {:.2f} us; a kernel outside: {:.2f} us; a delegate: {:.2f} us more "
      "than none\n",
      ps(kernels.products.window_fs), ps(kernels.window5_fs), ps(kernels.products.pointwise_fs),
      ps(kernels.products.depthwise_fs), ps(kernels.products.grouped_fs), ps(kernels.matmul_fs),
      ps(kernels.products.integer_depthwise9_fs), ps(kernels.products.integer_depthwise25_fs),
      kernels.softmax_ps / 1e3, kernels.layer_norm_ps / 1e3, ps(kernels.products.convert_fs) / 1e3,
      overheads.node_ps / 1e6, overheads.kernel_ps / 1e6,
      (overheads.border_ps - overheads.program_ps) / 1e6);
}

/// The name of the CPU, as Linux has it.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

struct TuneArguments {
  std::string output = "profile.json";
  unsigned threads = 1;
  size_t iterations = 1000;
};

void run_tune(const TuneArguments& arguments) {
  OutputFile file(arguments.output);  // first: a wrong path is better known before the measuring
  BenchOptions options;
  options.threads = arguments.threads;
  options.iterations = arguments.iterations;
  const Overheads overheads = measure_overheads(options);
  MoveCases moves = move_cases();
  measure_moves(moves, overheads, options);
  const Kernels kernels = measure_kernels(options);
  const xnnpack::Profile profile = {.name = std::filesystem::path(arguments.output).stem(),
                                    .cpu = cpu_name(),
                                    .runtime = "executorch " LAYLINE_EXECUTORCH_VERSION,
                                    .moves = fit(moves),
                                    .products = kernels.products};
  file.write(xnnpack::to_json(profile));
  file.commit();
  write_stdout(table(moves, profile.moves) + told(kernels, overheads) +
               fmt::format("{}: what 'layline compile --profile' takes\n", arguments.output));
}

}  // namespace
}  // namespace layline::tune

namespace layline {

void add_tune_command(CLI::App& app) {
  const auto arguments = std::make_shared<tune::TuneArguments>();
  CLI::App* command =
      app.add_subcommand("tune", "Measure what moving data and multiplying costs on this machine")
          ->group("Commands");
  command
      ->add_option("-o", arguments->output, "The cost profile to write; without it, profile.json")
      ->option_text("FILE");
  command
      ->add_option("--threads", arguments->threads,
                   "Without it, 1: kernels that move data gain alike from more")
      ->option_text("N")
      ->check(CLI::Range(1u, std::numeric_limits<unsigned>::max()));
  command
      ->add_option("--iterations", arguments->iterations,
                   "Timed runs of each kernel; without it, 1000")
      ->option_text("N")
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}));
  command->footer(
      "Times the runtime's permutes, slices, concats and convolutions, and fits the costs by\n"
      "which 'compile' chooses layouts and kernels. The table shows how well they fit; what other\n"
      "kernels cost is printed below it. Run it on the device that is compiled for, while that\n"
      "does nothing else.\n"
      "\n"
      "Example:\n"
      "  layline tune -o phone.json\n"
      "  layline compile model.pt2 --profile phone.json");
  command->callback([arguments] { tune::run_tune(*arguments); });
}

}  // namespace layline

// Times the runtime's own kernels for moving data and for products, and fits the cost model to them
// (layout/cost.h).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>

#include "base/output_file.h"
#include "cli/command.h"
#include "ir/builder.h"
#include "pte/sink.h"
#include "pte/writer.h"
#include "runtime/bench.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/profile.h"

namespace layline {
namespace {

constexpr int64_t kElement = 4;                // everything is measured in f32
constexpr int64_t kRunTestBytes = 256 * 1024;  // source and result fit the second-level cache
constexpr int64_t kNodesOfChain = 9;
constexpr int64_t kRunBytes[] = {4, 8, 16, 32, 64, 128, 256, 1024, 4096};
constexpr int64_t kPieces[] = {4, 8, 16, 32};
constexpr int kFitRounds = 1000;

using Prediction = std::function<int64_t(const MoveCosts&)>;

/// A program of one node, or a chain of them, and what the model says that they cost.
struct Case {
  std::string name;
  std::vector<std::byte> program;
  Prediction predict_ps;
  double measured_ps = 0;
};

Case make_case(std::string name, Graph graph, Prediction predict_ps) {
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  Report report;
  MemorySink sink;
  pte::write_program(xnnpack::lower(graphs, report), sink);
  return {std::move(name), sink.take(), std::move(predict_ps)};
}

Builder builder(Graph& graph) { return Builder(graph, OriginRef()); }

Value* input(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.add_input(name, {DType::f32, shape});
}

/// Nodes that have next to nothing to do.
Case chain(int64_t nodes) {
  Graph graph("forward");
  Value* x = input(graph, "x", {4, 4});
  for (int64_t i = 0; i < nodes; ++i) x = builder(graph).add(Op::neg, {x});
  graph.add_output("y", x);
  return make_case("nodes", std::move(graph), nullptr);
}

Case permute(std::string name, const Shape& from, const std::vector<int>& order) {
  Graph graph("forward");
  const Relayout relayout = Relayout::permute(from, order);
  graph.add_output("y", builder(graph).relayout(input(graph, "x", from), relayout));
  return make_case(fmt::format("{} {}", name, to_string(from)), std::move(graph),
                   [relayout](const MoveCosts& costs) {
                     return move_cost(costs, relayout, DType::f32).time_ps;
                   });
}

/// The second half of each row.
Case slice(int64_t rows, int64_t columns) {
  Graph graph("forward");
  Value* x = input(graph, "x", {rows, 2 * columns});
  graph.add_output("y", builder(graph).slice(x, 1, columns, columns));
  return make_case(fmt::format("slice [{0},{2}] to [{0},{1}]", rows, columns, 2 * columns),
                   std::move(graph), [=](const MoveCosts& costs) {
                     return costs.call_ps +
                            costs.slice.copy_ps(rows * columns * kElement, columns * kElement);
                   });
}

/// Two halves of each row. A node of the runtime, but two copies.
Case concat(int64_t rows, int64_t columns) {
  Graph graph("forward");
  Value* a = input(graph, "a", {rows, columns});
  Value* b = input(graph, "b", {rows, columns});
  graph.add_output("y", builder(graph).concat({a, b}, 1));
  return make_case(fmt::format("concat 2 x [{},{}]", rows, columns), std::move(graph),
                   [=](const MoveCosts& costs) {
                     return costs.call_ps +
                            2 * costs.concat.copy_ps(rows * columns * kElement, columns * kElement);
                   });
}

/// A convolution that keeps the size of its image.
struct Convolution {
  const char* kind;
  int64_t side, channels, width, outputs, groups;

  double products() const {
    return static_cast<double>(side * side * width * width) *
           static_cast<double>(outputs * channels / groups);
  }
};

Case convolution(const Convolution& of) {
  Graph graph("forward");
  const Shape shape = {of.outputs, of.width, of.width, of.channels / of.groups};
  const auto bytes = static_cast<size_t>(element_count(shape).value() * kElement);
  Value* x = input(graph, "x", {1, of.side, of.side, of.channels});
  Value* weight =
      builder(graph).constant(Constant::owned(DType::f32, shape, std::vector<std::byte>(bytes)));
  const Ints padding = {of.width / 2, of.width / 2};
  graph.add_output("y",
                   builder(graph).add(Op::conv, {x, weight},
                                      ConvAttrs{{1, 1}, {1, 1}, padding, padding, of.groups, {}}));
  return make_case(fmt::format("{} [{},{},{}]", of.kind, of.side, of.side, of.channels),
                   std::move(graph), nullptr);
}

/// Matrices whose elements travel alone, as they occur in networks.
struct Transpose {
  const char* name;
  Shape from;
  std::vector<int> order;
};

std::vector<Transpose> transposes() {
  std::vector<Transpose> all;
  const std::pair<int64_t, int64_t> images[] = {
      {3, 224 * 224}, {3, 112 * 112}, {16, 112 * 112}, {24, 56 * 56}, {58, 28 * 28},  {64, 56 * 56},
      {32, 7 * 7},    {16, 7 * 7},    {64, 4 * 4},     {96, 28 * 28}, {256, 14 * 14}, {512, 7 * 7}};
  for (const auto& [channels, pixels] : images) {
    all.push_back({"to channels-last", {channels, pixels}, {1, 0}});
    all.push_back({"from channels-last", {pixels, channels}, {1, 0}});
  }
  const std::tuple<int64_t, int64_t, int64_t> shuffles[] = {
      {784, 2, 58}, {196, 2, 116}, {49, 2, 232}, {784, 3, 80}};
  for (const auto& [pixels, groups, channels] : shuffles) {
    all.push_back({"channel shuffle", {pixels, groups, channels}, {0, 2, 1}});
    all.push_back({"channel shuffle", {pixels, channels, groups}, {0, 2, 1}});
  }
  all.push_back({"pixel shuffle", {16, 2, 2, 28, 28}, {0, 3, 1, 4, 2}});
  all.push_back({"pixel unshuffle", {16, 28, 2, 28, 2}, {0, 2, 4, 1, 3}});
  all.push_back({"attention keys", {3, 197, 64}, {0, 2, 1}});
  all.push_back({"six small dims", {4, 6, 4, 6, 4, 6}, {5, 3, 1, 0, 2, 4}});
  return all;
}

/// How many pieces are read and written, how many matrices, how many calls: the model's own count.
using Work = std::array<double, 4>;

Work work_of(const Case& transpose, int64_t piece) {
  MoveCosts costs;
  costs.piece = piece;
  Work work;
  for (size_t i = 0; i < work.size(); ++i) {
    costs.read_ps = i == 0;
    costs.write_ps = i == 1;
    costs.matrix_ps = i == 2;
    costs.call_ps = i == 3;
    work[i] = static_cast<double>(transpose.predict_ps(costs));
  }
  return work;
}

/// kRunTestBytes moved in runs.
struct RunCase {
  int64_t bytes;  // of one run
  Case of;
};

struct Measurements {
  Case one_node = chain(1);
  Case many_nodes = chain(kNodesOfChain);
  std::vector<Case> transposes;
  std::vector<RunCase> permutes, slices, concats;
  std::vector<Case> checks;  // not fitted

  template <typename Visit>
  void each(Visit visit) {
    for (Case& one : transposes) visit(one);
    for (auto* group : {&permutes, &slices, &concats})
      for (RunCase& run : *group) visit(run.of);
    for (Case& one : checks) visit(one);
  }
};

Measurements plan() {
  Measurements all;
  for (const Transpose& one : transposes())
    all.transposes.push_back(permute(one.name, one.from, one.order));
  for (const int64_t bytes : kRunBytes) {
    const int64_t run = bytes / kElement;
    const int64_t runs = kRunTestBytes / bytes;
    if (run > 1) all.permutes.push_back({bytes, permute("runs", {runs / 16, 16, run}, {1, 0, 2})});
    all.slices.push_back({bytes, slice(runs, run)});
    all.concats.push_back({bytes, concat(runs / 2, run)});
  }
  all.checks.push_back(permute("split heads", {197, 3, 64}, {1, 0, 2}));
  all.checks.push_back(permute("split heads", {49, 12, 32}, {1, 0, 2}));
  all.checks.push_back(permute("split q, k, v", {197, 3, 3, 64}, {1, 2, 0, 3}));
  all.checks.push_back(permute("window partition", {4, 7, 4, 7, 192}, {0, 2, 1, 3, 4}));
  all.checks.push_back(permute("window partition", {8, 7, 8, 7, 96}, {0, 2, 1, 3, 4}));
  all.checks.push_back(permute("focus", {112, 2, 112, 2, 3}, {0, 2, 3, 1, 4}));
  for (const auto& [pixels, channels] :
       {std::pair<int64_t, int64_t>{784, 58}, {196, 116}, {1, 9216}}) {
    all.checks.push_back(slice(pixels, channels));
    all.checks.push_back(concat(pixels, channels));
  }
  all.checks.push_back(slice(784 * 58, 1));
  all.checks.push_back(concat(784 * 58, 1));
  return all;
}

/// The least time of each case, by turns.
void measure(const std::vector<Case*>& cases, const BenchOptions& options) {
  std::vector<BenchSubject> subjects;
  for (const Case* one : cases)
    subjects.push_back(
        {one->name, [one] { return LoadedProgram::from_compiled(one->program, one->name); }});
  const BenchReport report = bench(subjects, options);
  for (size_t i = 0; i < cases.size(); ++i)
    cases[i]->measured_ps = report.programs[i].latency_ms.min * 1e9;
}

void measure_moves(Measurements& all, const BenchOptions& options) {
  std::vector<Case*> cases = {&all.one_node, &all.many_nodes};
  all.each([&](Case& one) { cases.push_back(&one); });
  measure(cases, options);
  // Entering and leaving the delegate is no part of any node.
  const double node_ps =
      (all.many_nodes.measured_ps - all.one_node.measured_ps) / (kNodesOfChain - 1);
  const double border_ps = all.one_node.measured_ps - node_ps;
  for (Case* one : cases) one->measured_ps = std::max(one->measured_ps - border_ps, 1.0);
}

/// Femtoseconds for a multiply-add in each kind of convolution: the mean over two sizes.
ProductCosts measure_products(BenchOptions options) {
  // Depthwise windows have kernels of 25 places at most: one of 7x7 has none.
  constexpr std::array<Convolution, 2> kKinds[] = {
      {{{"3x3 window", 28, 128, 3, 128, 1}, {"3x3 window", 14, 256, 3, 256, 1}}},
      {{{"pointwise", 28, 128, 1, 9 * 128, 1}, {"pointwise", 14, 256, 1, 9 * 256, 1}}},
      {{{"depthwise 5x5", 28, 192, 5, 192, 192}, {"depthwise 5x5", 14, 384, 5, 384, 384}}},
      {{{"depthwise 7x7", 28, 192, 7, 192, 192}, {"depthwise 7x7", 14, 384, 7, 384, 384}}}};
  options.iterations = std::max<size_t>(options.iterations / 20, 1);
  std::vector<Case> cases;
  for (const auto& kind : kKinds)
    for (const Convolution& one : kind) cases.push_back(convolution(one));
  std::vector<Case*> all;
  for (Case& one : cases) all.push_back(&one);
  measure(all, options);
  ProductCosts costs;
  int64_t* const fs[] = {&costs.window_fs, &costs.pointwise_fs, &costs.depthwise_fs,
                         &costs.grouped_fs};
  for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
    double sum = 0;
    for (size_t i = 0; i < kKinds[kind].size(); ++i)
      sum += cases[kind * kKinds[kind].size() + i].measured_ps * 1e3 / kKinds[kind][i].products();
    *fs[kind] = std::llround(sum / static_cast<double>(kKinds[kind].size()));
  }
  return costs;
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

/// The transposes' part of the model, with the least sum of squares of relative errors.
void fit_transposes(const std::vector<Case>& cases, MoveCosts& costs) {
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t piece : kPieces) {
    std::vector<Work> work;  // for each unit of measured time
    for (const Case& one : cases) {
      work.push_back(work_of(one, piece));
      for (double& count : work.back()) count /= one.measured_ps;
    }
    const Work rates = least_squares(work);
    double squares = 0;
    for (const Work& one : work) squares += std::pow(dot(one, rates) - 1, 2);
    if (squares >= least) continue;
    least = squares;
    costs.piece = piece;
    costs.read_ps = std::llround(rates[0]);
    costs.write_ps = std::llround(rates[1]);
    costs.matrix_ps = std::llround(rates[2]);
    costs.call_ps = std::llround(rates[3]);
  }
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

MoveCosts fit(const Measurements& all) {
  MoveCosts costs;
  fit_transposes(all.transposes, costs);
  costs.permute = fit_runs(all.permutes, costs.call_ps);
  costs.slice = fit_runs(all.slices, costs.call_ps);
  costs.concat = fit_runs(all.concats, costs.call_ps);
  return costs;
}

/// Two standard deviations of the permutes that the fit cannot meet exactly: a difference of less
/// may as well be the model's error.
int64_t margin_ps(const std::vector<Case>& cases, const MoveCosts& costs) {
  double squares = 0;
  for (const Case& one : cases)
    squares += std::pow(static_cast<double>(one.predict_ps(costs)) - one.measured_ps, 2);
  return std::llround(2 * std::sqrt(squares / static_cast<double>(cases.size())));
}

std::string table(Measurements& all, const MoveCosts& costs) {
  size_t width = 0;
  all.each([&](const Case& one) { width = std::max(width, one.name.size()); });
  std::string text =
      fmt::format("{:<{}}  {:>11}  {:>8}  {:>6}\n", "", width, "measured us", "model us", "ratio");
  all.each([&](const Case& one) {
    const auto predicted_ps = static_cast<double>(one.predict_ps(costs));
    text += fmt::format("{:<{}}  {:>11.2f}  {:>8.2f}  {:>6.2f}\n", one.name, width,
                        one.measured_ps / 1e6, predicted_ps / 1e6, predicted_ps / one.measured_ps);
  });
  return text;
}

/// As Linux names it.
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
  Measurements all = plan();
  BenchOptions options;
  options.threads = arguments.threads;
  options.iterations = arguments.iterations;
  measure_moves(all, options);
  MoveCosts costs = fit(all);
  costs.margin_ps = margin_ps(all.transposes, costs);
  const xnnpack::Profile profile = {.name = std::filesystem::path(arguments.output).stem(),
                                    .cpu = cpu_name(),
                                    .runtime = "executorch " LAYLINE_EXECUTORCH_VERSION,
                                    .moves = costs,
                                    .products = measure_products(options)};
  file.write(xnnpack::to_json(profile));
  file.commit();
  costs.margin_ps = 0;  // the table shows what is expected of a kernel
  write_stdout(
      table(all, costs) +
      fmt::format("a multiply-add: {} fs in a 3x3 convolution, {} fs in a pointwise one, {} fs "
                  "in a depthwise 5x5 one, {} fs in a depthwise 7x7 one\n"
                  "{}: what 'layline compile --profile' takes\n",
                  profile.products.window_fs, profile.products.pointwise_fs,
                  profile.products.depthwise_fs, profile.products.grouped_fs, arguments.output));
}

}  // namespace

void add_tune_command(CLI::App& app) {
  const auto arguments = std::make_shared<TuneArguments>();
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
      "Times permutes, slices, concats and convolutions of the runtime and fits the costs by\n"
      "which 'compile' chooses layouts and kernels. The table shows how well they fit. Run it on "
      "the device\n"
      "that is compiled for, while it does nothing else.\n"
      "\n"
      "Example:\n"
      "  layline tune -o phone.json\n"
      "  layline compile model.pt2 --profile phone.json");
  command->callback([arguments] { run_tune(*arguments); });
}

}  // namespace layline

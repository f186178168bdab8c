#include "runtime/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/json_text.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/runtime/commands.h"
#include "cli/runtime/program_source.h"
#include "ir/graph.h"
#include "report/model_explorer.h"

namespace layline {
namespace {

constexpr size_t kMaxIterations = 1'000'000'000;

struct BenchArguments {
  std::vector<std::string> programs;
  std::string method = "forward";
  unsigned threads = 0;
  size_t iterations = 0;
  bool per_op = false;
  std::string node_data;
  bool json = false;
};

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string table(const BenchReport& report) {
  size_t width = std::string_view("program").size();
  for (const BenchResult& result : report.programs) width = std::max(width, result.name.size());
  std::string text =
      fmt::format("{:<{}}  {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}\n", "program", width, "min ms",
                  "median ms", "p90 ms", "load ms", "speed-up", "memory MB");
  for (const BenchResult& result : report.programs) {
    text += fmt::format("{:<{}}  {:>9.3f} {:>9.3f} {:>9.3f} {:>9.2f} {:>8.2f}x {:>10.1f}\n",
                        result.name, width, result.latency_ms.min, result.latency_ms.median,
                        result.latency_ms.p90, result.load_ms, result.speedup,
                        megabytes(result.memory_bytes));
  }
  return text +
         fmt::format("{} iterations of each, by turns; peak memory of the process {:.1f} MB\n",
                     report.iterations, megabytes(report.peak_memory_bytes));
}

json::Text result_json(const BenchResult& result) {
  const Latency& latency = result.latency_ms;
  return json::object({{"program", json::string(result.name)},
                       {"load_ms", json::number(result.load_ms, 4)},
                       {"latency_ms", json::object({{"min", json::number(latency.min, 4)},
                                                    {"median", json::number(latency.median, 4)},
                                                    {"mean", json::number(latency.mean, 4)},
                                                    {"p90", json::number(latency.p90, 4)},
                                                    {"stddev", json::number(latency.stddev, 4)}})},
                       {"speedup", json::number(result.speedup, 4)},
                       {"memory_bytes", json::number(static_cast<int64_t>(result.memory_bytes))}});
}

std::string report_json(const BenchReport& report, unsigned threads) {
  return json::object(
             {{"iterations", json::number(static_cast<int64_t>(report.iterations))},
              {"threads", threads > 0 ? json::number(int64_t{threads}) : "null"},
              {"peak_memory_bytes", json::number(static_cast<int64_t>(report.peak_memory_bytes))},
              {"programs", json::list_of(report.programs, result_json)}}) +
         "\n";
}

/// An op, and where in the model it comes from; null if that is not known.
struct PlacedOp {
  const OpTime* time;
  const SourcePlace* place;
};

std::vector<PlacedOp> placed(const std::vector<OpTime>& ops, const ProgramSources& sources) {
  std::map<size_t, std::vector<std::string>> delegated;  // by instruction, in the order they run
  for (const OpTime& op : ops)
    if (op.delegated) delegated[op.instruction].push_back(op.op);
  std::map<size_t, std::vector<uint32_t>> handles;
  for (const auto& [instruction, names] : delegated)
    handles[instruction] = sources.operators(instruction, names);
  std::map<size_t, size_t> next;
  std::vector<PlacedOp> result;
  for (const OpTime& op : ops) {
    const uint32_t handle = op.delegated ? handles[op.instruction][next[op.instruction]++]
                                         : sources.kernel(op.instruction);
    result.push_back({&op, handle == 0 ? nullptr : &sources.places()[handle - 1]});
  }
  return result;
}

std::string described(const SourcePlace& place) {
  if (place.node.empty()) return place.value;
  return describe(Origin{place.node, place.source, place.module});
}

std::string op_table(const std::string& name, const OpReport& report,
                     const std::vector<PlacedOp>& ops) {
  const auto share = [&](double ms) { return 100 * ms / report.total_ms; };
  double named_ms = 0;
  size_t width = 0;
  for (const OpTime& op : report.ops) {
    named_ms += op.ms;
    width = std::max(width, op.op.size());
  }
  std::string text = fmt::format(
      "{}: {:.3f} ms, the mean of {} executions that were watched\n{:>9} {:>6} {:>6}  {}\n", name,
      report.total_ms, report.iterations, "ms", "share", "calls", "ops of a kind");
  for (const KindTime& kind : by_kind(report.ops))
    text += fmt::format("{:>9.3f} {:>5.1f}% {:>6}  {}\n", kind.ms, share(kind.ms), kind.calls,
                        kind.kind);
  const double rest = std::max(report.total_ms - named_ms, 0.0);
  text += fmt::format("{:>9.3f} {:>5.1f}% {:>6}  {}\n", rest, share(rest), "",
                      "outside of ops: dispatch, entering delegates");

  std::vector<PlacedOp> slowest_first = ops;
  std::ranges::stable_sort(slowest_first, std::greater<>(),
                           [](const PlacedOp& op) { return op.time->ms; });
  text += fmt::format("{:>9} {:>6}  {:<{}}  {}\n", "ms", "share", "op", width, "from");
  for (const PlacedOp& op : slowest_first)
    text += fmt::format("{:>9.3f} {:>5.1f}%  {:<{}}  {}\n", op.time->ms, share(op.time->ms),
                        op.time->op, width, op.place == nullptr ? "-" : described(*op.place));
  return text;
}

json::Text kind_json(const KindTime& kind) {
  return json::object({{"op", json::string(kind.kind)},
                       {"calls", json::number(static_cast<int64_t>(kind.calls))},
                       {"ms", json::number(kind.ms, 4)}});
}

json::Text operator_json(const PlacedOp& op) {
  std::vector<std::pair<std::string_view, json::Text>> members = {
      {"op", json::string(op.time->op)},
      {"instruction", json::number(static_cast<int64_t>(op.time->instruction))},
      {"ms", json::number(op.time->ms, 4)}};
  if (op.place != nullptr) {
    members.emplace_back("value", json::string(op.place->value));
    members.emplace_back("node", json::string(op.place->node));
    members.emplace_back("source", json::string(op.place->source));
    members.emplace_back("module", json::string(op.place->module));
  }
  return json::object(members);
}

/// The time of every node of the final graph, for Model Explorer.
void write_node_data(const std::string& path, const std::string& method,
                     const std::vector<PlacedOp>& ops) {
  std::map<std::string, double> times;
  for (const PlacedOp& op : ops)
    if (op.place != nullptr) times[op.place->value] += op.time->ms;
  std::map<std::string, json::Text> values;
  for (const auto& [value, ms] : times) values.emplace(value, json::number(ms, 4));
  const std::string graph = graph_after(method);
  OutputFile file(path);
  file.write(json::object({{graph, node_data("latency, ms", values)}}) + "\n");
  file.commit();
}

void run_per_op(const BenchArguments& arguments, const BenchOptions& options) {
  if (!arguments.node_data.empty() && arguments.programs.size() > 1)
    throw UserError("--node-data is of one program; {} are given", arguments.programs.size());
  std::string text;
  std::vector<json::Text> programs;
  for (const std::string& path : arguments.programs) {
    check_stays(path, "program", arguments.node_data);
    const ProgramSource source(path);
    const OpReport report =
        time_ops([&](OpTimer* timer) { return source.load(arguments.method, timer); }, options);
    const ProgramSources sources = source.sources(arguments.method);
    const std::vector<PlacedOp> ops = placed(report.ops, sources);
    text += op_table(path, report, ops);
    if (!arguments.node_data.empty()) write_node_data(arguments.node_data, arguments.method, ops);
    programs.push_back(
        json::object({{"program", json::string(path)},
                      {"iterations", json::number(static_cast<int64_t>(report.iterations))},
                      {"total_ms", json::number(report.total_ms, 4)},
                      {"ops", json::list_of(by_kind(report.ops), kind_json)},
                      {"operators", json::list_of(ops, operator_json)}}));
  }
  write_stdout(arguments.json ? json::object({{"programs", json::list(programs)}}) + "\n" : text);
}

void run_bench(const BenchArguments& arguments) {
  BenchOptions options;
  options.threads = arguments.threads;
  options.iterations = arguments.iterations;
  if (arguments.per_op) return run_per_op(arguments, options);
  if (!arguments.node_data.empty()) throw UserError("--node-data needs --per-op");
  std::vector<BenchSubject> subjects;
  for (const std::string& path : arguments.programs) {
    // Models are compiled here, once, so that load_ms is the time to load and nothing else.
    const auto source = std::make_shared<ProgramSource>(path);
    subjects.push_back(
        {path, [source, method = arguments.method] { return source->load(method); }});
  }
  const BenchReport report = bench(subjects, options);
  write_stdout(arguments.json ? report_json(report, arguments.threads) : table(report));
}

}  // namespace

void add_bench_command(CLI::App& app) {
  const auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command =
      app.add_subcommand("bench", "Compare the speed of programs on the ExecuTorch runtime")
          ->group("Commands");
  command
      ->add_option("PROGRAM", arguments->programs,
                   "The .pte files or models to time; each is compared with the first")
      ->type_name("")
      ->required();
  command->add_option("--method", arguments->method, "The method to time; without it, forward")
      ->option_text("NAME");
  command->add_option("--threads", arguments->threads, "Without it, one per core")
      ->option_text("N")
      ->check(CLI::Range(1u, std::numeric_limits<unsigned>::max()));
  command
      ->add_option("--iterations", arguments->iterations,
                   "Timed runs of each program; without it, about two seconds of them")
      ->option_text("N")
      ->check(CLI::Range(size_t{1}, kMaxIterations));
  command->add_flag("--per-op", arguments->per_op,
                    "Tell where the time of each program goes, op by op, and from which line\n"
                    "of the model each op comes");
  command
      ->add_option("--node-data", arguments->node_data,
                   "With --per-op: write the times as node data for Model Explorer, which\n"
                   "shows them on the graph of 'compile --report FILE.json'")
      ->option_text("FILE");
  command->add_flag("--json", arguments->json, "Print JSON instead of a table");
  command->footer(
      "Programs run by turns on the same random inputs, so that what disturbs the machine\n"
      "disturbs them all. Speed-up is over the first program; memory is what loading and the\n"
      "first run of a program added.\n"
      "\n"
      "Example:\n"
      "  layline bench mobilenet_v2.executorch.pte mobilenet_v2.pte --threads 2");
  command->callback([arguments] { run_bench(*arguments); });
}

}  // namespace layline

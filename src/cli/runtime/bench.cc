#include "runtime/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/runtime/commands.h"
#include "cli/runtime/huge_pages.h"
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
  bool huge_pages = false;
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

void write(JsonWriter& json, const BenchResult& result) {
  const Latency& latency = result.latency_ms;
  json.object([&] {
    json.key("program").string(result.name);
    json.key("load_ms").number(result.load_ms, 4);
    json.key("latency_ms").object([&] {
      json.key("min").number(latency.min, 4);
      json.key("median").number(latency.median, 4);
      json.key("mean").number(latency.mean, 4);
      json.key("p90").number(latency.p90, 4);
      json.key("stddev").number(latency.stddev, 4);
    });
    json.key("speedup").number(result.speedup, 4);
    json.key("memory_bytes").number(result.memory_bytes);
  });
}

void write(JsonWriter& json, const BenchReport& report, const BenchArguments& arguments) {
  json.object([&] {
    json.key("iterations").number(report.iterations);
    json.key("threads");
    if (arguments.threads > 0) {
      json.number(arguments.threads);
    } else {
      json.null();
    }
    json.key("huge_pages").boolean(arguments.huge_pages);
    json.key("peak_memory_bytes").number(report.peak_memory_bytes);
    json.key("programs").list_of(report.programs, [&](const BenchResult& result) {
      write(json, result);
    });
  });
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

void write(JsonWriter& json, const KindTime& kind) {
  json.object([&] {
    json.key("op").string(kind.kind);
    json.key("calls").number(kind.calls);
    json.key("ms").number(kind.ms, 4);
  });
}

void write(JsonWriter& json, const PlacedOp& op) {
  json.object([&] {
    json.key("op").string(op.time->op);
    json.key("instruction").number(op.time->instruction);
    json.key("ms").number(op.time->ms, 4);
    if (op.place == nullptr) return;
    json.key("value").string(op.place->value);
    json.key("node").string(op.place->node);
    json.key("source").string(op.place->source);
    json.key("module").string(op.place->module);
  });
}

void write(JsonWriter& json, const std::string& path, const OpReport& report,
           const std::vector<PlacedOp>& ops) {
  json.object([&] {
    json.key("program").string(path);
    json.key("iterations").number(report.iterations);
    json.key("total_ms").number(report.total_ms, 4);
    json.key("ops").list_of(by_kind(report.ops), [&](const KindTime& kind) { write(json, kind); });
    json.key("operators").list_of(ops, [&](const PlacedOp& op) { write(json, op); });
  });
}

/// The time of every node of the final graph, for Model Explorer.
void write_times(const std::string& path, const std::string& method,
                 const std::vector<PlacedOp>& ops) {
  std::map<std::string, double> times;
  for (const PlacedOp& op : ops)
    if (op.place != nullptr) times[op.place->value] += op.time->ms;
  OutputFile file(path);
  file.write(json_text([&](JsonWriter& json) {
    json.object([&] { write_node_data(json.key(graph_after(method)), "latency, ms", times, 4); });
  }));
  file.commit();
}

void run_per_op(const BenchArguments& arguments, const BenchOptions& options) {
  if (!arguments.node_data.empty() && arguments.programs.size() > 1)
    throw UserError("--node-data is of one program; {} are given", arguments.programs.size());
  std::string tables;
  const auto run = [&](JsonWriter& json, const std::string& path) {
    check_stays(path, "program", arguments.node_data);
    const ProgramSource source(path);
    const OpReport report =
        time_ops([&](OpTimer* timer) { return source.load(arguments.method, timer); }, options);
    const ProgramSources sources = source.sources(arguments.method);
    const std::vector<PlacedOp> ops = placed(report.ops, sources);
    tables += op_table(path, report, ops);
    if (!arguments.node_data.empty()) write_times(arguments.node_data, arguments.method, ops);
    write(json, path, report, ops);
  };
  const std::string text = json_text([&](JsonWriter& json) {
    json.object([&] {
      json.key("programs").list_of(arguments.programs, [&](const std::string& path) {
        run(json, path);
      });
    });
  });
  write_stdout(arguments.json ? text : tables);
}

void run_bench(const BenchArguments& arguments) {
  if (arguments.huge_pages) allocate_in_huge_pages();
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
  write_stdout(arguments.json ? json_text([&](JsonWriter& json) { write(json, report, arguments); })
                              : table(report));
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
  command->add_flag("--huge-pages", arguments->huge_pages,
                    "Allocate in huge pages, as servers can and most devices cannot");
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

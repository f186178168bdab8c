#include "runtime/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/error.h"
#include "runtime/random_input.h"
#include "runtime/resident_memory.h"
#include "runtime/threads.h"

namespace layline {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

constexpr double kDefaultBudgetMs = 2000;
constexpr size_t kMinIterations = 10;
constexpr size_t kMaxIterations = 2000;
constexpr size_t kRounds = 10;   // at least, so that turns are many
constexpr size_t kMaxTurn = 10;  // executions in a row of one program
constexpr double kWarmUpMs = 100;
constexpr size_t kMaxWarmUp = 20;

/// Shows a line on a terminal, from the second second on.
class Progress {
 public:
  Progress() : visible_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), shown_(start_) {}
  ~Progress() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(size_t done, size_t total) {
    if (!visible_ || ms_since(start_) < 1000 || ms_since(shown_) < 100) return;
    fmt::print(stderr, "\rmeasuring: {:3}%", done * 100 / total);
    std::fflush(stderr);
    shown_ = Clock::now();
    drawn_ = true;
  }

 private:
  bool visible_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point shown_;
};

double time_execution(LoadedProgram& program) {
  const Clock::time_point start = Clock::now();
  program.execute();
  return ms_since(start);
}

double median_of(std::vector<double> values) {
  const size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(half), values.end());
  if (values.size() % 2 == 1) return values[half];
  return (values[half] +
          *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(half))) /
         2;
}

struct Contestant {
  LoadedProgram program;
  BenchResult result;
  double estimate_ms;            ///< for one warm execution
  std::vector<double> times_ms;  ///< one for every timed execution
  std::vector<double> round_ms;  ///< the median of each round
};

/// Loads a program once before anything is measured. The first one ever loaded pays for the start
/// of the runtime: its thread pool, its choice of kernels for this machine, the pages of its
/// libraries. That is nobody's merit or fault.
void start_runtime(const BenchSubject& subject, uint64_t seed) {
  {
    LoadedProgram program = subject.load();
    program.set_inputs(random_inputs(program.inputs(), seed));
    program.execute();
  }
  return_free_memory();  // else the next program would seem to need less memory
}

Contestant prepare(const BenchSubject& subject, uint64_t seed, uint64_t& process_peak) {
  process_peak = std::max(process_peak, peak_resident_bytes());
  const uint64_t before = resident_bytes();
  const bool peak_is_ours = reset_peak_resident();
  const Clock::time_point start = Clock::now();
  LoadedProgram program = subject.load();
  BenchResult result;
  result.name = subject.name;
  result.load_ms = ms_since(start);
  program.set_inputs(random_inputs(program.inputs(), seed));
  double estimate_ms = time_execution(program);
  const uint64_t peak = peak_is_ours ? peak_resident_bytes() : resident_bytes();
  result.memory_bytes = peak > before ? peak - before : 0;
  const Clock::time_point warm_up = Clock::now();
  for (size_t i = 0; i < kMaxWarmUp && ms_since(warm_up) < kWarmUpMs; ++i) {
    estimate_ms = std::min(estimate_ms, time_execution(program));
  }
  return {std::move(program), std::move(result), estimate_ms, {}, {}};
}

size_t choose_iterations(const std::vector<Contestant>& contestants) {
  double slowest_ms = 1e-3;
  for (const Contestant& one : contestants) slowest_ms = std::max(slowest_ms, one.estimate_ms);
  const double wanted = kDefaultBudgetMs / slowest_ms;
  return static_cast<size_t>(std::clamp(wanted, double{kMinIterations}, double{kMaxIterations}));
}

/// One turn: the first execution, which finds the caches full of another program, is not counted.
void take_turn(Contestant& one, size_t executions) {
  one.program.execute();
  std::vector<double> times;
  for (size_t i = 0; i < executions; ++i) times.push_back(time_execution(one.program));
  one.times_ms.insert(one.times_ms.end(), times.begin(), times.end());
  one.round_ms.push_back(median_of(std::move(times)));
}

double speedup_over(const Contestant& first, const Contestant& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < first.round_ms.size(); ++i) {
    ratios.push_back(first.round_ms[i] / other.round_ms[i]);
  }
  return median_of(std::move(ratios));
}

}  // namespace

OpReport time_ops(const std::function<LoadedProgram(OpTimer*)>& load, const BenchOptions& options) {
  constexpr size_t kDefaultIterations = 20;
  set_threads(options.threads);
  OpTimer timer;
  LoadedProgram program = load(&timer);
  program.set_inputs(random_inputs(program.inputs(), options.seed));
  program.execute();
  timer.clear();
  OpReport report;
  report.iterations = options.iterations > 0 ? options.iterations : kDefaultIterations;
  const auto runs = static_cast<double>(report.iterations);
  for (size_t i = 0; i < report.iterations; ++i) report.total_ms += time_execution(program) / runs;
  report.ops = timer.ops();
  for (OpTime& op : report.ops) op.ms /= runs;
  return report;
}

Latency summarise(std::vector<double> times_ms) {
  LAYLINE_ASSERT(!times_ms.empty(), "no times to summarise");
  std::sort(times_ms.begin(), times_ms.end());
  const double count = static_cast<double>(times_ms.size());
  Latency latency;
  latency.min = times_ms.front();
  latency.median = median_of(times_ms);
  latency.mean = std::accumulate(times_ms.begin(), times_ms.end(), 0.0) / count;
  latency.p90 = times_ms[(times_ms.size() * 9 + 9) / 10 - 1];  // nearest rank
  double squares = 0;
  for (const double time : times_ms) squares += (time - latency.mean) * (time - latency.mean);
  latency.stddev = times_ms.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  return latency;
}

BenchReport bench(const std::vector<BenchSubject>& subjects, const BenchOptions& options) {
  LAYLINE_ASSERT(!subjects.empty(), "nothing to measure");
  set_threads(options.threads);
  Progress progress;
  BenchReport report;
  std::vector<Contestant> contestants;
  start_runtime(subjects.front(), options.seed);
  for (const BenchSubject& subject : subjects) {
    contestants.push_back(prepare(subject, options.seed, report.peak_memory_bytes));
  }
  report.iterations = options.iterations > 0 ? options.iterations : choose_iterations(contestants);
  const size_t turn = std::clamp<size_t>(report.iterations / kRounds, 1, kMaxTurn);
  size_t first = 0;  // who begins changes from round to round
  for (size_t done = 0; done < report.iterations; done += turn, ++first) {
    const size_t executions = std::min(turn, report.iterations - done);
    for (size_t i = 0; i < contestants.size(); ++i) {
      progress.show(done * contestants.size() + i * executions,
                    report.iterations * contestants.size());
      take_turn(contestants[(first + i) % contestants.size()], executions);
    }
  }
  report.peak_memory_bytes = std::max(report.peak_memory_bytes, peak_resident_bytes());
  for (Contestant& one : contestants) {
    one.result.latency_ms = summarise(one.times_ms);
    one.result.speedup = speedup_over(contestants.front(), one);
    report.programs.push_back(one.result);
  }
  return report;
}

}  // namespace layline

// Latency of several programs, measured fairly: in one process, by turns, so that what disturbs
// the machine disturbs them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/op_times.h"
#include "runtime/program.h"

namespace layline {

struct BenchSubject {
  std::string name;
  std::function<LoadedProgram()> load;
};

struct BenchOptions {
  unsigned threads = 0;   ///< as set_threads takes them
  size_t iterations = 0;  ///< timed executions per program; 0: enough for about two seconds each
  uint64_t seed = 0;      ///< for the random inputs
};

/// Milliseconds, over all timed executions of one program.
struct Latency {
  double min = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;
  double stddev = 0;
};

struct BenchResult {
  std::string name;
  double load_ms = 0;
  Latency latency_ms;
  /// How many times as fast as the first program: the median, over the rounds, of the ratio of
  /// the two programs' times in the same round.
  double speedup = 1;
  /// The most by which loading and the first execution raised resident memory.
  uint64_t memory_bytes = 0;
};

struct BenchReport {
  std::vector<BenchResult> programs;  ///< in the order of the subjects
  size_t iterations = 0;
  uint64_t peak_memory_bytes = 0;  ///< the whole process's
};

/// Loads every program, warms up and times `LoadedProgram::execute` on random inputs. If this
/// takes over a second and stderr is a terminal, progress is shown there. No LoadedProgram may
/// exist (see set_threads).
BenchReport bench(const std::vector<BenchSubject>& subjects, const BenchOptions& options);

/// Where the time of one program goes.
struct OpReport {
  std::vector<OpTime> ops;  ///< in the order in which they run; the mean of all executions
  double total_ms = 0;      ///< includes what has no name: dispatch, and entering delegates
  size_t iterations = 0;
};

/// Executes a program on random inputs; `load` gives the program the timer. The first execution
/// does not count. Timing ops makes a program slower: compare latencies with bench.
OpReport time_ops(const std::function<LoadedProgram(OpTimer*)>& load, const BenchOptions& options);

/// Statistics of at least one time.
Latency summarise(std::vector<double> times_ms);

}  // namespace layline

// Random graphs through the whole compiler into the real runtime, compared with what the reference
// evaluator makes of the graph before any pass.
//
// LAYLINE_SEED gives the first seed and LAYLINE_GRAPHS how many there are: `make fuzz-graphs`.
#include <gtest/gtest.h>

#include <cmath>

#include "../random_graph.h"
#include "../seeds.h"
#include "base/error.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "pte/writer.h"
#include "runtime/program.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/rules.h"
#include "transforms/pipeline.h"

namespace layline {
namespace {

constexpr int kFewestOps = 5, kMostOps = 60;
constexpr double kTolerance = 1e-4;

int ops_of(uint32_t seed) {
  return kFewestOps + static_cast<int>(seed % (kMostOps - kFewestOps + 1));
}

pte::Program compiled(Graph& graph, std::vector<std::string> disabled) {
  run_pipeline(graph, {.target = xnnpack::rules(), .disabled = std::move(disabled)});
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  Report report;
  return xnnpack::lower(graphs, report);
}

void expect_near(const HostTensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype, expected.dtype());
  ASSERT_EQ(actual.shape, expected.dims());
  const Tensor a({actual.dtype, expected.type().shape}, actual.bytes);
  double largest = 1;
  for (int64_t i = 0; i < expected.count(); ++i)
    largest = std::max(largest, std::abs(expected.get(i)));
  const double tolerance = is_float(actual.dtype) ? kTolerance * largest : 0;
  for (int64_t i = 0; i < expected.count(); ++i)
    ASSERT_LE(std::abs(a.get(i) - expected.get(i)), tolerance)
        << "element " << i << " is " << a.get(i) << " instead of " << expected.get(i);
}

/// Whether the graph ran; the runtime has no kernel for everything.
bool expect_runs_as_evaluated(uint32_t seed) {
  RandomGraph random(seed, ops_of(seed));
  const std::vector<Tensor> inputs = random.inputs();
  const std::vector<Tensor> expected = evaluate(random.graph(), inputs);
  pte::Program program;
  try {
    program = compiled(random.graph(), {});
  } catch (const UserError& error) {
    // The engine must not be the reason.
    RandomGraph again(seed, ops_of(seed));
    EXPECT_THROW(compiled(again.graph(), {"place_layouts"}), UserError) << error.what();
    return false;
  }
  MemorySink sink;
  write_program(program, sink);
  LoadedProgram loaded =
      LoadedProgram::from_compiled(sink.bytes(), "the graph", {program.methods[0].name});
  std::vector<HostTensor> given;
  for (const Tensor& input : inputs) given.push_back(as_host(input));
  const std::vector<HostTensor> outputs = loaded.run(given);
  EXPECT_EQ(outputs.size(), expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    SCOPED_TRACE(fmt::format("output {}", i));
    expect_near(outputs[i], expected[i]);
  }
  return true;
}

TEST(RandomGraphs, RunAsEvaluated) {
  const uint32_t first = first_seed();
  const uint32_t count = graph_count(400);
  uint32_t ran = 0;
  for (uint32_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("to repeat: LAYLINE_SEED={} LAYLINE_GRAPHS=1", seed));
    try {
      ran += expect_runs_as_evaluated(seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure())
      std::cout << print(RandomGraph(seed, ops_of(seed)).graph(), {.elide_constants = true});
  }
  EXPECT_TRUE(count < 10 || ran >= count * 9 / 10) << ran << " of " << count << " ran";
}

}  // namespace
}  // namespace layline

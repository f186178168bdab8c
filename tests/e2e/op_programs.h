// One op as a program on the runtime: for tests that walk every core op.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "pte/writer.h"
#include "runtime/program.h"
#include "targets/kernel_rules.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/pipeline.h"

namespace layline {

inline std::vector<Op> every_op() {
  std::vector<Op> result;
  for (const OpInfo& row : all_ops()) result.push_back(row.op);
  return result;
}

/// The program of a graph, or without `delegate` the one that has the runtime's own kernels alone.
/// Nothing if it is refused. The graph is used up.
inline std::optional<pte::Program> program_of(Graph& graph, bool delegate) {
  try {
    TargetRules target = xnnpack::rules();
    if (!delegate) target.legalise = [](Graph& g, PassContext&) { return legalise_for_kernels(g); };
    run_pipeline(graph, {.target = target});
    std::vector<Graph> graphs;
    graphs.push_back(std::move(graph));
    Report report;
    return xnnpack::lower(graphs, report, {.delegate = delegate});
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// What the program of one method gives for its inputs: its first output.
inline HostTensor first_output(const pte::Program& program, const std::vector<Tensor>& operands) {
  MemorySink sink;
  write_program(program, sink);
  LoadedProgram loaded =
      LoadedProgram::from_compiled(sink.bytes(), "the graph", {program.methods[0].name});
  std::vector<HostTensor> inputs;
  for (const Tensor& x : operands) inputs.push_back(as_host(x));
  return loaded.run(inputs)[0];
}

}  // namespace layline

// How placement scales: a network of convolutions, elementwise ops and residuals, channels-first as
// front ends write it, of up to 100,000 nodes.
#include <benchmark/benchmark.h>

#include "ir/builder.h"
#include "layout/placement.h"
#include "targets/xnnpack/xnnpack_rules.h"

namespace layline {
namespace {

Graph chain_with_residuals(int64_t nodes) {
  Graph graph("chain");
  const auto origin = std::make_shared<const Origin>(Origin{"n", "", ""});
  const Builder build(graph, origin);
  Value* x = graph.add_input("x", {DType::f32, {1, 8, 14, 14}});
  Value* weight = build.constant(
      Constant::owned(DType::f32, {8, 1, 1, 8}, std::vector<std::byte>(8 * 8 * sizeof(float))));
  ConvAttrs conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, {}};
  while (static_cast<int64_t>(graph.node_count()) < nodes) {
    Value* residual = x;
    x = build.from_channels_last(build.add(Op::conv, {build.to_channels_last(x), weight}, conv));
    x = build.clamp(x, 0, 6);
    x = build.add(Op::sigmoid, {build.add(Op::add, {x, residual})});
    x = build.add(Op::mul, {x, residual});
  }
  graph.add_output("y", x);
  return graph;
}

void place_chain(benchmark::State& state) {
  const TargetOrders& target = xnnpack::rules().orders;
  for (auto _ : state) {
    state.PauseTiming();
    Graph graph = chain_with_residuals(state.range(0));
    state.ResumeTiming();
    const Placement placement = place(graph, target, true);
    apply_placement(graph, placement);
    state.counters["optimal"] = placement.certificate.optimal() ? 1 : 0;
    state.counters["permutes"] = static_cast<double>(placement.certificate.cost.permutes);
    state.PauseTiming();
    graph = Graph("empty");
    state.ResumeTiming();
  }
  state.SetComplexityN(state.range(0));
}

BENCHMARK(place_chain)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

}  // namespace
}  // namespace layline

BENCHMARK_MAIN();

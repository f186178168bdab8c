#include "cli/runtime/tune_cases.h"

#include <fmt/format.h>

#include <utility>

#include "base/sink.h"
#include "ir/builder.h"
#include "pte/writer.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/pipeline.h"

namespace layline::tune {
namespace {

constexpr int64_t kElement = 4;  // f32, but for transposes of bytes
constexpr int64_t kRunBytes[] = {4, 8, 16, 32, 64, 128, 256, 1024, 4096};

std::vector<std::byte> program_of(Graph graph, bool delegate = true) {
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  Report report;
  MemorySink sink;
  pte::write_program(xnnpack::lower(graphs, report, {.delegate = delegate}), sink);
  return sink.take();
}

Builder builder(Graph& graph) { return Builder(graph, OriginRef()); }

Value* input(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.add_input(name, {DType::f32, shape});
}

/// A quantisation to 8-bit integers; its scale does not matter.
Quantisation numbers() {
  Quantisation numbers;
  numbers.scales = {0.01f};
  return numbers;
}

Value* quantised(Graph& graph, const Shape& shape) {
  return builder(graph).add(Op::quantize, {input(graph, "x", shape)}, QuantisationAttrs{numbers()});
}

Value* zeros(Graph& graph, const Shape& shape, DType dtype, QuantisationRef quantisation) {
  const size_t bytes = byte_count({dtype, shape});
  return builder(graph).constant(Constant::owned(dtype, shape, std::vector<std::byte>(bytes)),
                                 std::move(quantisation));
}

ConvAttrs attributes_of(const Convolution& of, QuantisationRef quantisation) {
  const Ints padding = {of.width / 2, of.width / 2};
  ConvAttrs attrs = {{1, 1}, {1, 1}, padding, padding, of.groups, {}};
  attrs.quantisation = std::move(quantisation);
  return attrs;
}

Case permute(std::string_view name, const Shape& from, const std::vector<int>& order) {
  Graph graph("forward");
  const Relayout relayout = Relayout::permute(from, order);
  graph.add_output("y", builder(graph).relayout(input(graph, "x", from), relayout));
  return {fmt::format("{} {}", name, to_string(from)), program_of(std::move(graph)),
          [relayout](const MoveCosts& costs) {
            return move_cost(costs, relayout, DType::f32).time_ps;
          }};
}

IntegerCase permute_bytes(std::string_view name, const Shape& from, const std::vector<int>& order) {
  Graph moved("forward"), kept("forward");
  const Relayout relayout = Relayout::permute(from, order);
  moved.add_output("y", builder(moved).relayout(quantised(moved, from), relayout));
  kept.add_output("y", quantised(kept, from));
  return {{fmt::format("{} of bytes {}", name, to_string(from)), program_of(std::move(moved)),
           [relayout](const MoveCosts& costs) {
             return move_cost(costs, relayout, DType::i8).time_ps;
           }},
          {"quantising", program_of(std::move(kept))}};
}

/// A slice: the second half of each row.
Case slice(int64_t rows, int64_t columns) {
  Graph graph("forward");
  Value* x = input(graph, "x", {rows, 2 * columns});
  graph.add_output("y", builder(graph).slice(x, 1, columns, columns));
  return {fmt::format("slice [{0},{2}] to [{0},{1}]", rows, columns, 2 * columns),
          program_of(std::move(graph)), [=](const MoveCosts& costs) {
            return costs.call_ps +
                   costs.slice.copy_ps(rows * columns * kElement, columns * kElement);
          }};
}

/// A concatenation of two halves of each row. It is one node of the runtime, but two copies.
Case concat(int64_t rows, int64_t columns) {
  Graph graph("forward");
  Value* a = input(graph, "a", {rows, columns});
  Value* b = input(graph, "b", {rows, columns});
  graph.add_output("y", builder(graph).concat({a, b}, 1));
  return {fmt::format("concat 2 x [{},{}]", rows, columns), program_of(std::move(graph)),
          [=](const MoveCosts& costs) {
            return costs.call_ps +
                   2 * costs.concat.copy_ps(rows * columns * kElement, columns * kElement);
          }};
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

}  // namespace

MoveCases move_cases() {
  MoveCases all;
  for (const Transpose& one : transposes()) {
    all.transposes.push_back(permute(one.name, one.from, one.order));
    all.byte_transposes.push_back(permute_bytes(one.name, one.from, one.order));
  }
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

Case chain(int64_t nodes, bool delegate) {
  Graph graph("forward");
  Value* x = input(graph, "x", {4, 4});
  for (int64_t i = 0; i < nodes; ++i) x = builder(graph).add(Op::neg, {x});
  graph.add_output("y", x);
  return {"nodes", program_of(std::move(graph), delegate)};
}

Case convolution(const Convolution& of) {
  Graph graph("forward");
  Value* x = input(graph, "x", {1, of.side, of.side, of.channels});
  Value* weight = zeros(graph, of.weight_shape(), DType::f32, {});
  graph.add_output("y", builder(graph).add(Op::conv, {x, weight}, attributes_of(of, {})));
  return {of.kind, program_of(std::move(graph))};
}

IntegerCase integer_convolution(const Convolution& of) {
  Graph computed("forward"), kept("forward");
  const Shape shape = {1, of.side, of.side, of.channels};
  Quantisation weights = numbers();
  weights.dims = {of.outputs, 1, 1, 1};
  weights.scales.resize(static_cast<size_t>(of.outputs), weights.scales[0]);
  Value* weight = zeros(computed, of.weight_shape(), DType::i8, weights);
  computed.add_output("y", builder(computed).add(Op::conv, {quantised(computed, shape), weight},
                                                 attributes_of(of, numbers())));
  kept.add_output("y", quantised(kept, shape));
  return {{of.kind, program_of(std::move(computed))}, {"quantising", program_of(std::move(kept))}};
}

Case matmul(int64_t size) {
  Graph graph("forward");
  Value* a = input(graph, "a", {1, size, size});
  Value* b = input(graph, "b", {1, size, size});
  graph.add_output("y", builder(graph).add(Op::matmul, {a, b}, MatmulAttrs{.transpose_b = true}));
  return {"product", program_of(std::move(graph))};
}

Case softmax(int64_t rows, int64_t columns) {
  Graph graph("forward");
  graph.add_output(
      "y", builder(graph).add(Op::softmax, {input(graph, "x", {rows, columns})}, AxisAttrs{1}));
  return {"softmax", program_of(std::move(graph))};
}

Case layer_norm(int64_t rows, int64_t columns) {
  Graph graph("forward");
  graph.add_output("y", builder(graph).add(Op::normalize, {input(graph, "x", {rows, columns})},
                                           NormalizeAttrs{.axes = {1}, .eps = 1e-5}));
  run_pipeline(graph, {.target = xnnpack::rules()});  // XNNPACK has no such node
  return {"layer norm", program_of(std::move(graph))};
}

}  // namespace layline::tune

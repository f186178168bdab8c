// Quantised models in the real runtime: within one unit in the last place an op of what torch and
// the reference evaluator compute.
//
// LAYLINE_SEED gives the first seed of the random graphs and LAYLINE_GRAPHS how many there are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "../fixture_runs.h"
#include "../seeds.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "fixture.h"
#include "frontend/pt2/import.h"
#include "ir/builder.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "pte/writer.h"
#include "runtime/program.h"
#include "runtime/tensor_file.h"
#include "targets/xnnpack/lower.h"
#include "targets/xnnpack/xnnpack_rules.h"
#include "transforms/pipeline.h"

namespace layline {
namespace {

struct Ran {
  std::vector<Tensor> outputs;
  Report report;
};

Ran compile_and_run(Graph graph, const std::vector<Tensor>& inputs) {
  Ran ran;
  run_pipeline(graph, {.target = xnnpack::rules(), .validate = true});
  std::vector<Graph> graphs;
  graphs.push_back(std::move(graph));
  const pte::Program program = xnnpack::lower(graphs, ran.report);
  MemorySink sink;
  write_program(program, sink);
  LoadedProgram loaded =
      LoadedProgram::from_compiled(sink.bytes(), "the model", {program.methods[0].name});
  std::vector<HostTensor> given;
  for (const Tensor& input : inputs) given.push_back(as_host(input));
  for (const HostTensor& output : loaded.run(given)) ran.outputs.push_back(as_tensor(output));
  return ran;
}

/// The step between neighbouring numbers of an output that was quantised: its scale, or 1 for
/// integers; 0 for real numbers.
double step_of(const Value* value) {
  if (!is_float(value->dtype())) return 1;
  while (value->def() && value->def()->is(Op::relayout)) value = value->def()->operand(0);
  if (value->def() == nullptr || !value->def()->is(Op::dequantize)) return 0;
  return static_cast<double>(value->def()->operand(0)->type().quantisation->scale());
}

struct Difference {
  double greatest = 0, mean = 0, largest = 0;
};

Difference difference(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(to_string(actual.type()), to_string(expected.type()));
  Difference result;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double error = std::abs(actual.get(i) - expected.get(i));
    result.greatest = std::max(result.greatest, error);
    result.mean += error / static_cast<double>(expected.count());
    result.largest = std::max(result.largest, std::abs(expected.get(i)));
  }
  return result;
}

/// An output as the model has it, whatever its order in memory.
Tensor in_logical_order(const Tensor& stored, const std::vector<int>& dim_order) {
  std::vector<int> back(dim_order.size());
  for (size_t i = 0; i < back.size(); ++i)
    back[static_cast<size_t>(dim_order[i])] = static_cast<int>(i);
  return evaluate_op(Op::relayout, {&stored, 1},
                     RelayoutAttrs{Relayout::permute(stored.type().shape, back)});
}

Tensor in_stored_order(const Tensor& logical, const std::vector<int>& dim_order) {
  return evaluate_op(Op::relayout, {&logical, 1},
                     RelayoutAttrs{Relayout::permute(logical.type().shape, dim_order)});
}

// ---- Fixtures ----

struct Model {
  Graph graph;
  std::vector<Tensor> inputs, outputs;
};

Model load(const std::string& name) {
  Model model{std::move(pt2::import_archive(MappedFile::open(model_of(name)))[0].graph), {}, {}};
  const NpzArchive arrays = arrays_of(name);
  auto read = [&](std::string_view kind, size_t i) {
    return as_tensor(as_host(arrays.read(fmt::format("{}_{}", kind, i))));
  };
  for (size_t i = 0; i < model.graph.inputs().size(); ++i) model.inputs.push_back(read("input", i));
  for (size_t i = 0; i < model.graph.outputs().size(); ++i)
    model.outputs.push_back(read("output", i));
  return model;
}

std::vector<std::string> fixtures(std::string_view prefix) {
  std::vector<std::string> names = all_fixtures();
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix); });
  EXPECT_FALSE(names.empty());
  return names;
}

void expect_one_delegate(const Report& report, const std::string& name) {
  EXPECT_EQ(report.delegates, 1) << name;
  // Integers that cross the model's boundary are copied to where XNNPACK reads and writes them.
  for (const PortableOp& op : report.portable_ops) EXPECT_EQ(op.op, "reinterpret") << name;
}

TEST(QuantisedFixtures, TheEvaluatorComputesWhatTorchDoes) {
  for (const std::string& name : fixtures("quantised_")) {
    SCOPED_TRACE(name);
    // What is run step by step is compared on the runtime only.
    if (runs_of(arrays_of(name), "forward").size() > 1) continue;
    Model model = load(name);
    for (size_t i = 0; i < model.inputs.size(); ++i)
      model.inputs[i] = in_stored_order(model.inputs[i], model.graph.inputs()[i].dim_order);
    std::vector<Tensor> outputs = evaluate(model.graph, model.inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = in_logical_order(outputs[i], model.graph.outputs()[i].dim_order);
      const double step = step_of(model.graph.outputs()[i].value);
      const Difference error = difference(outputs[i], model.outputs[i]);
      // A real number that float errors move over a half is rounded the other way.
      EXPECT_LE(error.mean, std::max(0.01 * step, 1e-3 * error.largest)) << "output " << i;
      EXPECT_LE(error.greatest,
                std::max(1.001 * step, quantised_tolerance(name).relative * error.largest))
          << "output " << i;
    }
  }
}

TEST(QuantisedFixtures, StaticWithinOneUnit) {
  for (const std::string_view prefix : {"quantised_static_", "quantised_pt2e_static"}) {
    for (const std::string& name : fixtures(prefix)) {
      SCOPED_TRACE(name);
      Model model = load(name);
      std::vector<double> steps;
      for (const GraphOutput& output : model.graph.outputs())
        steps.push_back(step_of(output.value));
      const Ran ran = compile_and_run(std::move(model.graph), model.inputs);
      expect_one_delegate(ran.report, name);
      for (size_t i = 0; i < ran.outputs.size(); ++i) {
        const Difference error = difference(ran.outputs[i], model.outputs[i]);
        EXPECT_LE(error.greatest, std::max(1.001 * steps[i], 1e-5 * error.largest));
        EXPECT_LE(error.mean, std::max(0.05 * steps[i], 1e-5 * error.largest));
      }
    }
  }
}

TEST(QuantisedFixtures, WeightOnly) {
  for (const std::string& name : fixtures("quantised_weight_only")) {
    SCOPED_TRACE(name);
    Model model = load(name);
    const Ran ran = compile_and_run(std::move(model.graph), model.inputs);
    expect_one_delegate(ran.report, name);
    for (size_t i = 0; i < ran.outputs.size(); ++i) {
      const Difference error = difference(ran.outputs[i], model.outputs[i]);
      EXPECT_LE(error.greatest, 1e-5 * error.largest) << "output " << i;
    }
  }
}

/// The model with its activations left real: what quantising them is an error against.
Graph with_real_activations(const Graph& graph) {
  Graph twin = parse_graph(print(graph), "the model");
  for (Node* node : twin) {
    if (!node->is(Op::dequantize) && !node->is(Op::dequantize_by)) continue;
    const Node* from = node->operand(0)->def();
    while (from && from->is(Op::reinterpret)) from = from->operand(0)->def();
    if (from && (from->is(Op::quantize) || from->is(Op::quantize_by)))
      twin.replace_all_uses(node->result(), from->operand(0));
  }
  return twin;
}

TEST(QuantisedFixtures, DynamicAsEvaluatedAndNoWorseThanTorch) {
  double error_of_torch = 0, error_of_ours = 0;
  for (const std::string_view prefix :
       {"quantised_dynamic_", "quantised_pt2e_dynamic", "quantised_torchao_"}) {
    for (const std::string& name : fixtures(prefix)) {
      SCOPED_TRACE(name);
      Model model = load(name);
      const std::vector<Tensor> real = evaluate(with_real_activations(model.graph), model.inputs);
      // What the kernels' granularity gives, by the evaluator.
      Graph dynamic = parse_graph(print(model.graph), name);
      run_pipeline(dynamic, {.stop_after = "quantise_dynamically"});
      for (const Node* node : dynamic) EXPECT_FALSE(node->is(Op::quantize_by)) << name;
      const std::vector<Tensor> expected = evaluate(dynamic, model.inputs);
      std::vector<std::vector<int>> orders;
      for (const GraphOutput& output : model.graph.outputs()) orders.push_back(output.dim_order);
      const Ran ran = compile_and_run(std::move(model.graph), model.inputs);
      expect_one_delegate(ran.report, name);
      for (size_t i = 0; i < ran.outputs.size(); ++i) {
        const Difference error =
            difference(ran.outputs[i], in_logical_order(expected[i], orders[i]));
        // A number that float errors move over a half is one step of an activation off.
        EXPECT_LE(error.greatest, 5e-3 * error.largest) << "output " << i;
        EXPECT_LE(error.mean, 5e-4 * error.largest) << "output " << i;
        const Tensor exact = in_logical_order(real[i], orders[i]);
        error_of_torch += difference(model.outputs[i], exact).mean / error.largest;
        error_of_ours += difference(ran.outputs[i], exact).mean / error.largest;
      }
    }
  }
  EXPECT_LE(error_of_ours, error_of_torch);
}

// Scales and zero points move with the data, so quantised numbers are moved where real ones are.
/// Scales and zero points that XNNPACK refuses to load: what has them runs otherwise.
TEST(QuantisedScales, TheOddestRun) {
  struct Case {
    const char *x, *weight, *y;
  };
  for (const Case& c : {
           Case{"scale f32[] (0.03) zero i32[] (4)", "0.02", "scale f32[] (1e-10)"},
           Case{"scale f32[] (0.03) zero i32[] (4)", "0.02", "scale f32[] (1e+10)"},
           Case{"scale f32[] (1e-20)", "1e-20", "scale f32[] (1e-37)"},
           Case{"scale f32[] (1e-37)", "1e-3", "scale f32[] (1e-37)"},
           Case{"scale f32[] (0.03) zero i32[] (-129)", "0.02", "scale f32[] (0.05)"},
           Case{"scale f32[] (0.03)", "0.02", "scale f32[] (0.05) zero i32[] (2147483647)"},
       }) {
    const std::string text = fmt::format(
        "graph \"forward\" {{\ninput \"x\" %x : f32[1,4,4,2]\n"
        "%q = quantize(%x) {{ quantisation = i8 in [-128,127] {0} }}\n%d = dequantize(%q)\n"
        "%w = constant() {{ data = i8[3,1,1,2] (1, -2, 30, 4, 50, -60), quantisation = "
        "i8 in [-127,127] scale f32[3,1,1,1] ({1}, 0.02, {1}) }}\n%wd = dequantize(%w)\n"
        "%c = conv(%d, %wd) {{ stride = [1,1], dilation = [1,1], low = [0,0], high = [0,0] }}\n"
        "%qc = quantize(%c) {{ quantisation = i8 in [-128,127] {2} }}\n%y = dequantize(%qc)\n"
        "%m = mul(%d, %d)\n%qm = quantize(%m) {{ quantisation = i8 in [-128,127] {2} }}\n"
        "%z = dequantize(%qm)\noutput \"y\" %y\noutput \"z\" %z\n}}\n",
        c.x, c.weight, c.y);
    SCOPED_TRACE(text);
    Tensor x({DType::f32, {1, 4, 4, 2}});
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(i) / 8 - 2);
    const Graph graph = parse_graph(text, "text");
    const std::vector<Tensor> expected = evaluate(graph, std::vector{x});
    const Ran ran = compile_and_run(parse_graph(text, "text"), {x});
    for (size_t o = 0; o < expected.size(); ++o) {
      const double step = step_of(graph.outputs()[o].value);
      for (int64_t i = 0; i < expected[o].count(); ++i)
        ASSERT_NEAR(ran.outputs[o].get(i), expected[o].get(i), 1.01 * step)
            << "output " << o << ", element " << i;
    }
  }
}

TEST(QuantisedFixtures, NoMorePermutesThanWithRealActivations) {
  int64_t all = 0;
  for (const std::string_view prefix :
       {"quantised_static_", "quantised_dynamic_", "quantised_pt2e_", "quantised_torchao_"}) {
    for (const std::string& name : fixtures(prefix)) {
      Model model = load(name);
      Graph twin = with_real_activations(model.graph);
      const Ran real = compile_and_run(std::move(twin), model.inputs);
      const Ran ran = compile_and_run(std::move(model.graph), model.inputs);
      EXPECT_LE(ran.report.permutes.final, real.report.permutes.final) << name;
      EXPECT_LE(ran.report.permutes.bytes, real.report.permutes.bytes) << name;
      EXPECT_EQ(ran.report.delegates, real.report.delegates) << name;
      all += real.report.permutes.final;
    }
  }
  EXPECT_GT(all, 0);
}

// ---- Random graphs ----

/// A few quantised ops on one or two images, written as a front end writes them: dequantize, op,
/// quantize, everything channels-first. Scales are chosen when the model runs now and then, and
/// some values are also read as real numbers. The result of every op is an output.
class RandomQuantised {
 public:
  explicit RandomQuantised(uint32_t seed)
      : random_(seed), graph_("random"), build_(graph_, nullptr) {
    shape_ = {number(1, 2), 2 * number(1, 4), number(3, 8), number(3, 8)};
    for (int64_t i = number(1, 2); i > 0; --i) {
      Value* x = graph_.add_input(fmt::format("x{}", i), {DType::f32, shape_});
      show(round_trip(x, quantisation(2)), 0);
    }
    for (int64_t i = number(2, 6); i > 0; --i) add_op();
  }

  Graph& graph() { return graph_; }
  /// How far an output may be off besides one step, computed from the same operands.
  double slack(size_t output) const { return slack_[output]; }

  std::vector<Tensor> inputs() {
    std::vector<Tensor> result;
    for (const GraphInput& input : graph_.inputs()) {
      Tensor& x = result.emplace_back(input.value->type());
      std::normal_distribution<double> normal;
      for (int64_t i = 0; i < x.count(); ++i) x.set(i, normal(random_));
    }
    return result;
  }

 private:
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  float real(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }

  void show(Value* value, double slack) {
    graph_.add_output(fmt::format("y{}", graph_.outputs().size()), value);
    slack_.push_back(slack);
    if (value->def()->is(Op::dequantize)) values_.push_back(value);
  }

  /// For numbers of about `size`; the zero point anywhere.
  Quantisation quantisation(float size) {
    const bool is_unsigned = number(0, 5) == 0;
    const auto zero_point = static_cast<int32_t>(number(-60, 60) + (is_unsigned ? 128 : 0));
    return per_tensor(is_unsigned ? DType::u8 : DType::i8, real(0.7f, 1.3f) * size / 60,
                      zero_point);
  }

  Value* round_trip(Value* x, const Quantisation& by) {
    Value* integers = build_.add(Op::quantize, {x}, QuantisationAttrs{by});
    Value* plain = build_.add(Op::reinterpret, {integers}, QuantisationAttrs{});
    Value* back = build_.add(Op::reinterpret, {plain}, QuantisationAttrs{by});
    return build_.add(Op::dequantize, {back});
  }

  /// Integers, with a scale for each output channel.
  Tensor weight_tensor(Shape shape) {
    Tensor integers({DType::i8, shape});
    for (int64_t i = 0; i < integers.count(); ++i) integers.set_int(i, number(-127, 127));
    Quantisation by{DType::i8, -127, 127, std::vector<int64_t>(shape.size(), 1), {}, {}};
    by.dims[0] = shape[0].value();
    const double inputs = static_cast<double>(integers.count()) / static_cast<double>(by.dims[0]);
    for (int64_t i = 0; i < by.dims[0]; ++i)
      by.scales.push_back(real(0.5f, 1.5f) / (70 * static_cast<float>(std::sqrt(inputs))));
    return Tensor({DType::i8, shape, std::move(by)},
                  {integers.bytes().begin(), integers.bytes().end()});
  }
  Value* weight(Shape shape) { return build_.constant(weight_tensor(std::move(shape))); }
  /// Stored in any order of its axes: the outputs, which have the scales, are any of them.
  Value* real_weight(Shape shape) {
    std::vector<int> order(shape.size()), back(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    for (size_t i = 0; i < order.size(); ++i)
      back[static_cast<size_t>(order[i])] = static_cast<int>(i);
    const Tensor logical = weight_tensor(shape);
    const RelayoutAttrs to_stored{Relayout::permute(shape, order)};
    const Tensor stored = evaluate_op(Op::relayout, {&logical, 1}, to_stored);
    Value* real = build_.add(Op::dequantize, {build_.constant(stored)});
    return build_.relayout(real, Relayout::permute(stored.type().shape, back));
  }
  Value* bias(int64_t outputs) {
    Tensor values({DType::f32, {outputs}});
    for (int64_t i = 0; i < outputs; ++i) values.set(i, static_cast<double>(real(-0.5f, 0.5f)));
    return build_.constant(values);
  }

  Value* conv(Value* x) {
    const int64_t channels = x->shape()[1].value();
    const bool even = channels % 2 == 0;
    const int64_t groups = number(0, 2) == 0 ? channels : even && number(0, 2) == 0 ? 2 : 1;
    constexpr int64_t kKernels[] = {1, 3, 7};
    const int64_t outputs = groups * number(1, 3),
                  kernel = kKernels[number(0, groups == channels ? 2 : 1)];
    ConvAttrs attrs{{1, 1}, {1, 1}, {kernel / 2, kernel / 2}, {kernel / 2, kernel / 2}, groups, {}};
    Value* w = real_weight({outputs, kernel, kernel, channels / groups});
    Value* y = build_.add(Op::conv, {build_.to_channels_last(x), w, bias(outputs)}, attrs);
    return build_.from_channels_last(y);
  }
  Value* transposed_conv(Value* x) {
    const int64_t outputs = number(1, 5), stride = number(1, 2);
    ConvTransposeAttrs attrs;
    attrs.stride = {stride, stride};
    attrs.dilation = {1, 1};
    attrs.low = attrs.high = attrs.extra = {0, 0};
    attrs.groups = 1;
    Value* w = real_weight({outputs, 2, 2, x->shape()[1]});
    Value* y =
        build_.add(Op::conv_transpose, {build_.to_channels_last(x), w, bias(outputs)}, attrs);
    return build_.from_channels_last(y);
  }
  Value* linear(Value* x) {
    const int64_t outputs = number(1, 9);
    Value* y = build_.add(
        Op::linear,
        {build_.to_channels_last(x), real_weight({outputs, x->shape()[1]}), bias(outputs)},
        LinearAttrs{});
    return build_.from_channels_last(y);
  }

  /// With scales for x that are chosen when the model runs. Numbers that lie between two integers
  /// may be rounded to either, so every one of a sum may be a step of x off.
  Value* dynamic(Value* x, double& slack) {
    const int64_t outputs = number(1, 9);
    const bool is_linear = number(0, 1) == 0;
    Value* w =
        is_linear ? weight({outputs, x->shape()[1]}) : weight({outputs, 3, 3, x->shape()[1]});
    Attributes attributes = LinearAttrs{{}, {}, true};
    if (!is_linear) {
      ConvAttrs attrs{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}};
      attrs.dynamic = true;
      attributes = attrs;
    }
    const Quantisation& by = *w->type().quantisation;
    const double terms =
        static_cast<double>(element_count(w->shape()).value()) / static_cast<double>(outputs);
    const double greatest =
        static_cast<double>(by.max) * static_cast<double>(*std::ranges::max_element(by.scales));
    slack = terms * greatest * static_cast<double>(quantisation_of(x).scale());
    Value* y = build_.add(is_linear ? Op::linear : Op::conv,
                          {build_.to_channels_last(x), w, bias(outputs)}, std::move(attributes));
    return build_.from_channels_last(y);
  }

  static const Quantisation& quantisation_of(const Value* dequantised) {
    return *dequantised->def()->operand(0)->type().quantisation;
  }
  Value* pick() { return values_[static_cast<size_t>(number(0, std::ssize(values_) - 1))]; }

  void add_op() {
    Value* x = pick();
    Quantisation by = quantisation(2);
    Value* y = nullptr;
    double slack = 0;
    switch (number(0, 10)) {
      case 0:
      case 1:
        y = conv(x);
        break;
      case 2:
        y = linear(x);
        break;
      case 3:
      case 4: {
        Value* other = pick();
        if (other->shape() != x->shape()) return;
        constexpr Op kOps[] = {Op::add, Op::sub, Op::mul};
        y = build_.add(kOps[number(0, 2)], {x, other});
        break;
      }
      case 5: {  // the same scale before and after
        by = quantisation_of(x);
        PoolAttrs attrs{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, {}};
        if (x->shape()[2].value() < 2 || x->shape()[3].value() < 2) return;
        y = build_.from_channels_last(
            build_.add(Op::max_pool, {build_.to_channels_last(x)}, attrs));
        break;
      }
      case 6:
        by = quantisation_of(x);
        y = number(0, 1) ? build_.concat({x, x}, number(1, 3)) : build_.slice(x, 1, 0, 1);
        break;
      case 7:
        y = transposed_conv(x);
        break;
      case 8:
        y = dynamic(x, slack);
        break;
      case 9: {
        by = quantisation_of(x);
        PadAttrs attrs{{0, 0, number(0, 2), 1}, {0, number(0, 1), 0, 2}, PadMode::constant, 0};
        y = build_.add(Op::pad, {x}, attrs);
        break;
      }
      default:
        y = build_.add(number(0, 1) ? Op::tanh : Op::hardswish, {x});
        if (number(0, 1)) return show(y, 0);  // real, beside what reads the integers
    }
    if (number(0, 2) == 0) y = build_.clamp(y, 0, number(0, 1) ? 1.3 : 1e30);
    show(slack > 0 && number(0, 1) ? y : round_trip(y, by), slack);
  }

  std::mt19937 random_;
  Graph graph_;
  Builder build_;
  Shape shape_;
  std::vector<Value*> values_;  // dequantised
  std::vector<double> slack_;   // of each output
};

/// The graph with every output given as an input to all that read it: so each is computed by one
/// op, from values that are given.
Graph op_by_op(const Graph& graph) {
  Graph apart = parse_graph(print(graph), "the ops");
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    Value* shown = apart.outputs()[i].value;
    Value* given = apart.add_input(fmt::format("given{}", i), shown->type());
    while (!shown->uses().empty()) {
      const Use use = shown->uses().front();
      apart.set_operand(use.user, use.operand, given);
    }
  }
  return apart;
}

// Every op is compared on the operands that the program itself computed. A bound for whole graphs
// would have to count how ops amplify: one step of an operand is several of a product, if the other
// operand is large.
TEST(RandomQuantisedGraphs, EveryOpWithinOneUnit) {
  const uint32_t first = first_seed();
  const uint32_t count = graph_count(300);
  double elements = 0, off = 0;
  for (uint32_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("to repeat: LAYLINE_SEED={} LAYLINE_GRAPHS=1", seed));
    RandomQuantised random(seed);
    std::vector<Tensor> inputs = random.inputs();
    const Graph ops = op_by_op(random.graph());
    std::vector<double> steps;
    for (const GraphOutput& output : random.graph().outputs())
      steps.push_back(step_of(output.value));
    const std::string text = print(random.graph(), {.elide_constants = true});
    try {
      const Ran ran = compile_and_run(std::move(random.graph()), inputs);
      EXPECT_EQ(ran.report.delegates, 1);
      EXPECT_TRUE(ran.report.portable_ops.empty());
      inputs.insert(inputs.end(), ran.outputs.begin(), ran.outputs.end());
      const std::vector<Tensor> expected = evaluate(ops, inputs);
      for (size_t i = 0; i < expected.size(); ++i) {
        const Difference error = difference(ran.outputs[i], expected[i]);
        EXPECT_LE(error.greatest, 1.001 * steps[i] + random.slack(i) + 1e-5 * error.largest)
            << "output " << i;
        const double close = std::max(0.5 * steps[i], 1e-4 * error.largest);
        for (int64_t k = 0; k < expected[i].count(); ++k, ++elements)
          off += std::abs(ran.outputs[i].get(k) - expected[i].get(k)) > close;
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure()) std::cout << text;
  }
  // Nearly all numbers are the evaluator's own.
  EXPECT_LE(off, 0.02 * elements);
  RecordProperty("off", fmt::format("{} of {}", off, elements));
}

}  // namespace
}  // namespace layline

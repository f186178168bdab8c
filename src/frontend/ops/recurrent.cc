#include "frontend/ops/recurrent.h"

#include <limits>

#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

constexpr int64_t kMostSteps = 1 << 16;  // over all layers: ten to twenty ops each

Value* linear(const Builder& build, Value* x, Value* weight, Value* bias) {
  std::vector<Value*> operands = {x, weight};
  if (bias != nullptr) operands.push_back(bias);
  return build.add(Op::linear, std::move(operands), LinearAttrs{});
}

Value* gate(const Builder& build, Value* gates, int64_t index, int64_t count) {
  const auto parts = divide(gates->shape().back(), count);
  if (!parts || !parts->is_static())
    build.fail("a weight has {} rows, expected {} gates of equal size",
               to_string(gates->shape().back()), count);
  const int64_t size = parts->value();
  return build.slice(gates, gates->type().rank() - 1, index * size, size);
}

Value* sigmoid(const Builder& build, Value* x) { return build.add(Op::sigmoid, {x}); }
Value* tanh(const Builder& build, Value* x) { return build.add(Op::tanh, {x}); }

/// A kind of layer: the part of its gates that the input makes, for all steps at once, and the step
/// from one state to the next.
struct Kind {
  bool has_cell;
  bool separate_biases;  // the hidden bias is added inside the step, and not with the input's
  RecurrentState (*step)(const Builder& build, Value* from_input, const RecurrentState& before,
                         const RecurrentWeights& weights);
};

RecurrentState lstm_step(const Builder& build, Value* from_input, const RecurrentState& before,
                         const RecurrentWeights& weights) {
  Value* gates =
      build.add(Op::add, {from_input, linear(build, before.hidden, weights.hidden, nullptr)});
  Value* input = sigmoid(build, gate(build, gates, 0, 4));
  Value* forget = sigmoid(build, gate(build, gates, 1, 4));
  Value* update = tanh(build, gate(build, gates, 2, 4));
  Value* output = sigmoid(build, gate(build, gates, 3, 4));
  Value* cell = build.add(
      Op::add, {build.add(Op::mul, {forget, before.cell}), build.add(Op::mul, {input, update})});
  Value* hidden = build.add(Op::mul, {output, tanh(build, cell)});
  if (weights.projection != nullptr) hidden = linear(build, hidden, weights.projection, nullptr);
  return {hidden, cell};
}

/// The reset gate multiplies what the hidden state contributes to the new one, its bias included.
RecurrentState gru_step(const Builder& build, Value* from_input, const RecurrentState& before,
                        const RecurrentWeights& weights) {
  Value* from_hidden = linear(build, before.hidden, weights.hidden, weights.hidden_bias);
  auto sum = [&](int64_t index) {
    return build.add(Op::add,
                     {gate(build, from_input, index, 3), gate(build, from_hidden, index, 3)});
  };
  Value* reset = sigmoid(build, sum(0));
  Value* keep = sigmoid(build, sum(1));
  Value* update = tanh(
      build, build.add(Op::add, {gate(build, from_input, 2, 3),
                                 build.add(Op::mul, {reset, gate(build, from_hidden, 2, 3)})}));
  Value* difference = build.add(Op::sub, {before.hidden, update});
  return {build.add(Op::add, {update, build.add(Op::mul, {keep, difference})}), nullptr};
}

Value* rnn_sum(const Builder& build, Value* from_input, const RecurrentState& before,
               const RecurrentWeights& weights) {
  return build.add(Op::add, {from_input, linear(build, before.hidden, weights.hidden, nullptr)});
}

RecurrentState rnn_tanh_step(const Builder& build, Value* from_input, const RecurrentState& before,
                             const RecurrentWeights& weights) {
  return {tanh(build, rnn_sum(build, from_input, before, weights)), nullptr};
}

RecurrentState rnn_relu_step(const Builder& build, Value* from_input, const RecurrentState& before,
                             const RecurrentWeights& weights) {
  Value* sum = rnn_sum(build, from_input, before, weights);
  return {build.clamp(sum, 0, std::numeric_limits<double>::infinity()), nullptr};
}

/// The kinds, in the order of Recurrence.
constexpr Kind kKinds[] = {
    {true, false, lstm_step},
    {false, true, gru_step},
    {false, false, rnn_tanh_step},
    {false, false, rnn_relu_step},
};

const Kind& kind_of(Recurrence recurrence) { return kKinds[static_cast<size_t>(recurrence)]; }

Value* input_part(const Builder& build, const Kind& kind, Value* x,
                  const RecurrentWeights& weights) {
  Value* bias = weights.input_bias;
  if (bias != nullptr && !kind.separate_biases)
    bias = build.add(Op::add, {bias, weights.hidden_bias});
  return linear(build, x, weights.input, bias);
}

/// Row `index` of a state [layers * directions, batch, hidden].
Value* row(const Builder& build, Value* states, int64_t index) {
  return without_axes(build, build.slice(states, 0, index, 1), {0});
}

Value* stacked(const Builder& build, const std::vector<Value*>& rows) {
  std::vector<Value*> parts;
  for (Value* value : rows) parts.push_back(with_axis(build, value, 0));
  return build.concat(std::move(parts), 0);
}

/// A value that is computed from constants alone, in another graph.
Value* copied(const Builder& build, const Builder& body, Value* value) {
  if (value == nullptr) return nullptr;
  const Node* node = value->def();
  if (node == nullptr)
    build.fail("the weights are not constant, but the number of steps is dynamic");
  std::vector<Value*> operands;
  for (Value* operand : node->operands()) operands.push_back(copied(build, body, operand));
  return body.add(node->op(), std::move(operands), node->attributes());
}

/// The steps of one layer as a loop over [steps, batch, gates * hidden]; `state` becomes the last.
Value* loop(const Builder& build, const Kind& kind, Value* parts, const RecurrentWeights& weights,
            bool backwards, RecurrentState& state) {
  auto graph = std::make_shared<Graph>("step");
  const Builder body(*graph, build.origin());
  TensorType part = parts->type();
  part.shape.erase(part.shape.begin());
  Value* x = graph->add_input("x", std::move(part));
  RecurrentState before{graph->add_input("hidden", state.hidden->type())};
  if (kind.has_cell) before.cell = graph->add_input("cell", state.cell->type());
  RecurrentWeights own;
  own.hidden = copied(build, body, weights.hidden);
  if (kind.separate_biases) own.hidden_bias = copied(build, body, weights.hidden_bias);
  own.projection = copied(build, body, weights.projection);
  const RecurrentState after = kind.step(body, x, before, own);
  graph->add_output("output", after.hidden);
  graph->add_write(1, after.hidden);
  if (kind.has_cell) graph->add_write(2, after.cell);

  std::vector<Value*> operands = {parts, state.hidden};
  if (kind.has_cell) operands.push_back(state.cell);
  const BodyRef ref{std::move(graph)};
  const auto result = [&](int64_t output) {
    return build.add(Op::scan, operands, ScanAttrs{ref, output, backwards});
  };
  Value* outputs = result(0);
  state = {result(1), kind.has_cell ? result(2) : nullptr};
  return outputs;
}

/// [batch, steps, features] from [steps, batch, features], and back.
Value* transposed(const Builder& build, Value* x) {
  static constexpr int kOrder[] = {1, 0, 2};
  return build.permute(x, kOrder);
}

/// One layer in one direction; `state` becomes the last one.
Value* run(const Builder& build, const Kind& kind, Value* x, const RecurrentWeights& weights,
           int64_t time_axis, bool backwards, RecurrentState& state) {
  Value* parts = input_part(build, kind, x, weights);
  const auto time = static_cast<size_t>(time_axis);
  if (!x->shape()[time].is_static()) {
    if (time_axis == 1) parts = transposed(build, parts);
    Value* outputs = loop(build, kind, parts, weights, backwards, state);
    return time_axis == 1 ? transposed(build, outputs) : outputs;
  }
  const int64_t steps = x->shape()[time].value();
  std::vector<Value*> outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backwards ? steps - 1 - i : i;
    Value* part = without_axes(build, build.slice(parts, time_axis, t, 1), {time_axis});
    state = kind.step(build, part, state, weights);
    outputs[static_cast<size_t>(t)] = with_axis(build, state.hidden, time_axis);
  }
  return build.concat(std::move(outputs), time_axis);
}

}  // namespace

void check_sequence(const Builder& build, const Value* x, const RecurrentState& initial,
                    int64_t rows, int64_t time_axis) {
  if (x->shape().size() != 3)
    build.fail("packed sequences are not supported; give a padded tensor with three axes");
  for (const Value* states : {initial.hidden, initial.cell})
    if (states != nullptr && (states->shape().size() != 3 || states->shape()[0] != Dim(rows)))
      build.fail("the initial state is {}, expected {} rows", to_string(states->type()), rows);
  const Dim steps = x->shape()[static_cast<size_t>(time_axis)];
  if (!steps.is_static()) {
    if (!x->shape()[static_cast<size_t>(1 - time_axis)].is_static())
      build.fail("both the number of steps and the batch are dynamic, which is not supported");
    return;
  }
  if (steps.value() > kMostSteps / rows)
    build.fail("{} steps are too many to unroll; run shorter pieces and carry the state over",
               steps.value());
  if (steps.is_zero()) build.fail("there are no steps");
}

RecurrentResults recurrent(const Builder& build, const RecurrentLayers& layers, Value* x,
                           const RecurrentState& initial) {
  check_sequence(build, x, initial, std::ssize(layers.weights), layers.time_axis);
  const Kind& kind = kind_of(layers.kind);
  std::vector<Value*> hidden, cells;
  for (size_t first = 0; first < layers.weights.size();
       first += static_cast<size_t>(layers.directions)) {
    std::vector<Value*> outputs;
    for (int64_t direction = 0; direction < layers.directions; ++direction) {
      const size_t index = first + static_cast<size_t>(direction);
      const auto place = static_cast<int64_t>(index);
      RecurrentState state{row(build, initial.hidden, place),
                           kind.has_cell ? row(build, initial.cell, place) : nullptr};
      outputs.push_back(
          run(build, kind, x, layers.weights[index], layers.time_axis, direction == 1, state));
      hidden.push_back(state.hidden);
      cells.push_back(state.cell);
    }
    x = build.concat(std::move(outputs), 2);
  }
  Value* last = stacked(build, hidden);
  return {x, {last, kind.has_cell ? stacked(build, cells) : nullptr}};
}

RecurrentState recurrent_step(const Builder& build, Recurrence recurrence, Value* x,
                              const RecurrentState& before, const RecurrentWeights& weights) {
  const Kind& kind = kind_of(recurrence);
  return kind.step(build, input_part(build, kind, x, weights), before, weights);
}

}  // namespace layline::ops

#include "frontend/ops/recurrent.h"

#include <algorithm>
#include <limits>
#include <span>

#include "frontend/ops/creation.h"
#include "frontend/ops/loop.h"
#include "frontend/ops/shapes.h"

namespace layline::ops {
namespace {

constexpr int64_t kMostSteps = 1 << 16;  // over all layers: ten to twenty ops each

Value* linear(const Builder& build, Value* x, Value* weight, Value* bias) {
  std::vector<Value*> operands = {x, weight};
  if (bias != nullptr) operands.push_back(bias);
  return build.add(Op::linear, std::move(operands), LinearAttrs{});
}

/// The size of each of so many gates.
int64_t gate_size(const Builder& build, const Dim& all, int64_t count) {
  const auto size = divide(all, count);
  if (!size || !size->is_static())
    build.fail("a weight has {} rows, expected {} gates of equal size", to_string(all), count);
  return size->value();
}

Value* gate(const Builder& build, Value* gates, int64_t index, int64_t count) {
  const int64_t size = gate_size(build, gates->shape().back(), count);
  return build.slice(gates, gates->type().rank() - 1, index * size, size);
}

Value* sigmoid(const Builder& build, Value* x) { return build.add(Op::sigmoid, {x}); }
Value* tanh(const Builder& build, Value* x) { return build.add(Op::tanh, {x}); }
Value* relu(const Builder& build, Value* x) {
  return build.clamp(x, 0, std::numeric_limits<double>::infinity());
}

/// One layer in one direction: how it computes, and with which weights.
struct Direction {
  const RecurrentLayers& layers;
  const RecurrentWeights& weights;

  Value* apply(const Builder& build, const Activation& given,
               Value* (*otherwise)(const Builder& build, Value* x), Value* x) const {
    if (layers.clip < std::numeric_limits<double>::infinity())
      x = build.clamp(x, -layers.clip, layers.clip);
    return given ? given(build, x) : otherwise(build, x);
  }
  Value* gate(const Builder& build, Value* x) const {
    return apply(build, weights.functions.gate, sigmoid, x);
  }
  Value* update(const Builder& build, Value* x) const {
    return apply(build, weights.functions.update, layers.kind == Recurrence::rnn_relu ? relu : tanh,
                 x);
  }
};

/// What the input contributes to the gates: one tensor, or for a GRU two, of which the second has
/// the gate that the reset acts on.
using Parts = std::span<Value* const>;

/// A kind of layer: the part of its gates that the input makes, for all steps at once, and the step
/// from one state to the next.
struct Kind {
  bool has_cell;
  /// A reset gate acts on what the hidden state contributes to the last gate. The hidden bias is
  /// then added inside the step, and not with the input's.
  bool has_reset;
  RecurrentState (*step)(const Builder& build, Parts from_input, const RecurrentState& before,
                         const Direction& direction);
};

RecurrentState lstm_step(const Builder& build, Parts from_input, const RecurrentState& before,
                         const Direction& direction) {
  const RecurrentWeights& weights = direction.weights;
  Value* gates =
      build.add(Op::add, {from_input[0], linear(build, before.hidden, weights.hidden, nullptr)});
  auto part = [&](int64_t index, int64_t peephole, Value* cell) {
    Value* sum = gate(build, gates, index, 4);
    if (weights.peepholes == nullptr) return sum;
    Value* factor = gate(build, weights.peepholes, peephole, 3);
    return build.add(Op::add, {sum, build.add(Op::mul, {factor, cell})});
  };
  Value* input = direction.gate(build, part(0, 0, before.cell));
  Value* forget = direction.layers.coupled
                      ? build.add(Op::sub, {build.scalar(input->dtype(), 1), input})
                      : direction.gate(build, part(1, 1, before.cell));
  Value* update = direction.update(build, gate(build, gates, 2, 4));
  Value* cell = build.add(
      Op::add, {build.add(Op::mul, {forget, before.cell}), build.add(Op::mul, {input, update})});
  Value* output = direction.gate(build, part(3, 2, cell));
  const Activation& function = weights.functions.output;
  Value* hidden =
      build.add(Op::mul, {output, function ? function(build, cell) : tanh(build, cell)});
  if (weights.projection != nullptr) hidden = linear(build, hidden, weights.projection, nullptr);
  return {hidden, cell};
}

/// The last gate of a weight or bias of three, or the first two.
Value* rows(const Builder& build, Value* gates, bool last) {
  if (gates == nullptr) return nullptr;
  const int64_t size = gate_size(build, gates->shape()[0], 3);
  return last ? build.slice(gates, 0, 2 * size, size) : build.slice(gates, 0, 0, 2 * size);
}

/// The reset gate multiplies what the hidden state contributes to the new one, its bias included,
/// or the hidden state itself.
RecurrentState gru_step(const Builder& build, Parts from_input, const RecurrentState& before,
                        const Direction& direction) {
  const RecurrentWeights& weights = direction.weights;
  auto from_hidden = [&](Value* hidden, bool last) {
    Value* weight = rows(build, weights.hidden, last);
    return linear(build, hidden, weight, rows(build, weights.hidden_bias, last));
  };
  Value* sums = build.add(Op::add, {from_input[0], from_hidden(before.hidden, false)});
  Value* gates = direction.gate(build, sums);
  Value* reset = gate(build, gates, 0, 2);
  Value* keep = gate(build, gates, 1, 2);
  Value* to_update = direction.layers.reset_first
                         ? from_hidden(build.add(Op::mul, {reset, before.hidden}), true)
                         : build.add(Op::mul, {reset, from_hidden(before.hidden, true)});
  Value* update = direction.update(build, build.add(Op::add, {from_input[1], to_update}));
  Value* difference = build.add(Op::sub, {before.hidden, update});
  return {build.add(Op::add, {update, build.add(Op::mul, {keep, difference})}), nullptr};
}

RecurrentState rnn_step(const Builder& build, Parts from_input, const RecurrentState& before,
                        const Direction& direction) {
  Value* from_hidden = linear(build, before.hidden, direction.weights.hidden, nullptr);
  return {direction.update(build, build.add(Op::add, {from_input[0], from_hidden})), nullptr};
}

/// The kinds, in the order of Recurrence.
constexpr Kind kKinds[] = {
    {true, false, lstm_step},
    {false, true, gru_step},
    {false, false, rnn_step},
    {false, false, rnn_step},
};

const Kind& kind_of(Recurrence recurrence) { return kKinds[static_cast<size_t>(recurrence)]; }

/// What the input contributes to all gates.
Value* input_part(const Builder& build, const Kind& kind, Value* x,
                  const RecurrentWeights& weights) {
  Value* bias = weights.input_bias;
  if (bias != nullptr && !kind.has_reset) bias = build.add(Op::add, {bias, weights.hidden_bias});
  return linear(build, x, weights.input, bias);
}

/// The same in the parts that a step takes.
std::vector<Value*> divided(const Builder& build, const Kind& kind, Value* all) {
  if (!kind.has_reset) return {all};
  const int64_t size = gate_size(build, all->shape().back(), 3);
  const int64_t axis = all->type().rank() - 1;
  return {build.slice(all, axis, 0, 2 * size), build.slice(all, axis, 2 * size, size)};
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

/// One step from a state to the next; gives the step's output. Sequences that have ended (`within`
/// is 0 and not 1, [batch, 1]) keep their state and give 0. Null means that all go on. These are
/// products, because every delegate has them: a select for each step would split a delegate.
Value* advance(const Builder& build, const Direction& direction, Parts parts, Value* within,
               RecurrentState& state) {
  RecurrentState next = kind_of(direction.layers.kind).step(build, parts, state, direction);
  if (within == nullptr) {
    state = next;
    return next.hidden;
  }
  Value* ended = build.add(Op::sub, {build.scalar(within->dtype(), 1), within});
  auto with_kept = [&](Value* reached, Value* before) {
    return build.add(Op::add, {reached, build.add(Op::mul, {ended, before})});
  };
  Value* output = build.add(Op::mul, {within, next.hidden});
  state.hidden = with_kept(output, state.hidden);
  if (state.cell != nullptr)
    state.cell = with_kept(build.add(Op::mul, {within, next.cell}), state.cell);
  return output;
}

/// 1 for the sequences that go on at each step and 0 for others, [steps, batch, 1]; null if all do.
Value* steps_within(const Builder& build, Value* lengths, const Dim& steps, DType dtype) {
  if (lengths == nullptr) return nullptr;
  Value* places = arange(build, {lengths->dtype(), {steps, 1, 1}}, 0, 1);
  Value* ends = build.view(lengths, {1, lengths->shape()[0], 1});
  return build.convert(build.add(Op::less, {places, ends}), dtype);
}

/// The weights of a step, in the graph of a loop's body.
RecurrentWeights copied(const Builder& build, const Builder& body, const Kind& kind,
                        const RecurrentWeights& weights) {
  RecurrentWeights own;
  own.hidden = copied(build, body, weights.hidden);
  if (kind.has_reset) own.hidden_bias = copied(build, body, weights.hidden_bias);
  own.projection = copied(build, body, weights.projection);
  own.peepholes = copied(build, body, weights.peepholes);
  own.functions = weights.functions;
  return own;
}

/// The steps of one layer as a loop over [steps, batch, gates * hidden]; `state` becomes the last.
Value* loop(const Builder& build, Value* all, const Direction& direction, bool backwards,
            RecurrentState& state) {
  auto graph = std::make_shared<Graph>("step");
  const Builder body(*graph, build.origin());
  std::vector<Value*> operands;
  auto input = [&](const char* name, Value* operand, bool is_sequence) {
    TensorType type = operand->type();
    if (is_sequence) type.shape.erase(type.shape.begin());
    operands.push_back(operand);
    return graph->add_input(name, std::move(type));
  };
  RecurrentState carried{input("hidden", state.hidden, false)};
  if (state.cell != nullptr) carried.cell = input("cell", state.cell, false);
  const Kind& kind = kind_of(direction.layers.kind);
  std::vector<Value*> parts;
  for (Value* part : divided(build, kind, all)) parts.push_back(input("x", part, true));
  Value* within = steps_within(build, direction.layers.lengths, all->shape()[0], all->dtype());
  if (within != nullptr) within = input("within", within, true);
  const RecurrentWeights own = copied(build, body, kind, direction.weights);
  graph->add_output("output", advance(body, {direction.layers, own}, parts, within, carried));
  graph->add_write(0, carried.hidden);
  if (state.cell != nullptr) graph->add_write(1, carried.cell);

  const BodyRef ref{std::move(graph)};
  const auto result = [&](int64_t output) {
    return build.add(Op::scan, operands, ScanAttrs{ref, output, backwards});
  };
  Value* outputs = result(0);
  Value* hidden = result(1);
  state = {hidden, state.cell != nullptr ? result(2) : nullptr};
  return outputs;
}

/// [batch, steps, features] from [steps, batch, features], and back.
Value* transposed(const Builder& build, Value* x) {
  static constexpr int kOrder[] = {1, 0, 2};
  return build.permute(x, kOrder);
}

/// Whether a value is computed from constants, none of which is quantised.
bool is_plain_constant(const Value* value) {
  if (value == nullptr) return true;
  const Node* node = value->def();
  return node != nullptr && !is_quantised(*node) && !node->is(Op::dequantize) &&
         std::ranges::all_of(node->operands(), is_plain_constant);
}

/// A dynamic number of steps is a loop. So is a large one, unless a batch stands before the steps:
/// a loop would have to move it behind them.
bool is_loop(const Direction& direction, const Value* x) {
  const auto time = static_cast<size_t>(direction.layers.time_axis);
  const Dim steps = x->shape()[time], batch = x->shape()[1 - time];
  if (!steps.is_static()) return true;
  const RecurrentWeights& weights = direction.weights;
  const bool in_order = time == 0 || batch.is_one();
  return steps.value() >= kManySteps && batch.is_static() && in_order &&
         is_plain_constant(weights.hidden) && is_plain_constant(weights.hidden_bias) &&
         is_plain_constant(weights.projection) && is_plain_constant(weights.peepholes);
}

/// One layer in one direction; `state` becomes the last one.
Value* run(const Builder& build, Value* x, const Direction& direction, bool backwards,
           RecurrentState& state) {
  const RecurrentLayers& layers = direction.layers;
  const int64_t time = layers.time_axis;
  const Kind& kind = kind_of(layers.kind);
  Value* all = input_part(build, kind, x, direction.weights);
  const Dim length = x->shape()[static_cast<size_t>(time)];
  if (is_loop(direction, x)) {
    if (time == 1) all = transposed(build, all);
    Value* outputs = loop(build, all, direction, backwards, state);
    return time == 1 ? transposed(build, outputs) : outputs;
  }
  const int64_t steps = length.value();
  Value* all_within = steps_within(build, layers.lengths, steps, x->dtype());
  std::vector<Value*> outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backwards ? steps - 1 - i : i;
    Value* own = without_axes(build, build.slice(all, time, t, 1), {time});
    const std::vector<Value*> parts = divided(build, kind, own);
    Value* within = nullptr;
    if (all_within != nullptr) within = without_axes(build, build.slice(all_within, 0, t, 1), {0});
    Value* output = advance(build, direction, parts, within, state);
    outputs[static_cast<size_t>(t)] = with_axis(build, output, time);
  }
  return build.concat(std::move(outputs), time);
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
      outputs.push_back(run(build, x, {layers, layers.weights[index]},
                            layers.backwards || direction == 1, state));
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
  const RecurrentLayers one{recurrence, {}};
  Value* all = input_part(build, kind, x, weights);
  return kind.step(build, divided(build, kind, all), before, {one, weights});
}

}  // namespace layline::ops

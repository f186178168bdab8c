#include "frontend/ops/recurrent.h"

#include <algorithm>
#include <limits>
#include <span>

#include "frontend/ops/creation.h"
#include "frontend/ops/loop.h"
#include "frontend/ops/shapes.h"
#include "ir/tensor.h"

namespace layline::ops {
namespace {

constexpr int64_t kMostSteps = 1 << 16;  // over all layers: ten to twenty ops each

/// The product with a weight, or of two directions at once with a weight for each.
Value* linear(const Builder& build, Value* x, Value* weight, Value* bias) {
  if (weight->type().rank() == 3) {
    Value* y = build.add(Op::matmul, {x, weight}, MatmulAttrs{true});
    return bias != nullptr ? build.add(Op::add, {y, bias}) : y;
  }
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

/// One layer in one direction: how it computes, and with which weights. Two directions that run as
/// one have one axis more in front, in states and weights; biases and peepholes are rows there.
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

/// A kind of layer: its states, its gates, and the step from one state to the next.
struct Kind {
  bool has_cell;
  /// A reset gate acts on the last gate, which is computed apart from the others.
  bool has_reset;
  RecurrentState (*step)(const Builder& build, Parts from_input, const RecurrentState& before,
                         Value* within, const Direction& direction);
};

/// Sequences that have ended (`within` is 0 and not 1, [batch, 1]) keep their state. Null means
/// that all go on. These are products, because every delegate has them: a select for each step
/// would split a delegate.
Value* unless_ended(const Builder& build, Value* next, Value* before, Value* within) {
  if (within == nullptr) return next;
  Value* ended = build.add(Op::sub, {build.scalar(within->dtype(), 1), within});
  return build.add(Op::add,
                   {build.add(Op::mul, {within, next}), build.add(Op::mul, {ended, before})});
}

RecurrentState lstm_step(const Builder& build, Parts from_input, const RecurrentState& before,
                         Value* within, const Direction& direction) {
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
  hidden = unless_ended(build, hidden, before.hidden, within);
  cell = unless_ended(build, cell, before.cell, within);
  return {hidden, cell};
}

/// The last of three gates along an axis, or the first two; null of null.
Value* gates_along(const Builder& build, Value* gates, int64_t axis, bool last) {
  if (gates == nullptr) return nullptr;
  const int64_t size = gate_size(build, gates->shape()[static_cast<size_t>(axis)], 3);
  return last ? build.slice(gates, axis, 2 * size, size) : build.slice(gates, axis, 0, 2 * size);
}

/// The reset gate multiplies what the hidden state contributes to the new one, its bias included,
/// or the hidden state itself.
RecurrentState gru_step(const Builder& build, Parts from_input, const RecurrentState& before,
                        Value* within, const Direction& direction) {
  const RecurrentWeights& weights = direction.weights;
  auto from_hidden = [&](Value* hidden, bool last) {
    Value* weight = gates_along(build, weights.hidden, weights.hidden->type().rank() - 2, last);
    return linear(build, hidden, weight, last ? weights.hidden_bias : nullptr);
  };
  Value* sums = build.add(Op::add, {from_input[0], from_hidden(before.hidden, false)});
  Value* gates = direction.gate(build, sums);
  Value* reset = gate(build, gates, 0, 2);
  Value* keep = gate(build, gates, 1, 2);
  Value* to_update = direction.layers.reset_first
                         ? from_hidden(build.add(Op::mul, {reset, before.hidden}), true)
                         : build.add(Op::mul, {reset, from_hidden(before.hidden, true)});
  Value* update = direction.update(build, build.add(Op::add, {from_input[1], to_update}));
  if (within == nullptr) {
    Value* difference = build.add(Op::sub, {before.hidden, update});
    return {build.add(Op::add, {update, build.add(Op::mul, {keep, difference})}), nullptr};
  }
  // A change of 0 keeps the state, whatever the gate says.
  Value* change = build.add(Op::mul, {within, build.add(Op::sub, {update, before.hidden})});
  Value* kept = build.add(Op::mul, {keep, change});
  return {build.add(Op::sub, {build.add(Op::add, {before.hidden, change}), kept}), nullptr};
}

RecurrentState rnn_step(const Builder& build, Parts from_input, const RecurrentState& before,
                        Value* within, const Direction& direction) {
  Value* from_hidden = linear(build, before.hidden, direction.weights.hidden, nullptr);
  Value* hidden = direction.update(build, build.add(Op::add, {from_input[0], from_hidden}));
  return {unless_ended(build, hidden, before.hidden, within), nullptr};
}

/// The kinds, in the order of Recurrence.
constexpr Kind kKinds[] = {
    {true, false, lstm_step},
    {false, true, gru_step},
    {false, false, rnn_step},
    {false, false, rnn_step},
};

const Kind& kind_of(Recurrence recurrence) { return kKinds[static_cast<size_t>(recurrence)]; }

/// The weights of a layer as its step takes them. What is added to gates is added with the input's
/// bias, for all steps at once. Only what a reset gate multiplies stays a bias of the hidden state.
RecurrentWeights for_steps(const Builder& build, const RecurrentLayers& layers,
                           RecurrentWeights weights) {
  if (weights.input_bias == nullptr) return weights;
  Value* with_input = weights.hidden_bias;
  weights.hidden_bias = nullptr;
  if (kind_of(layers.kind).has_reset && !layers.reset_first) {
    weights.hidden_bias = gates_along(build, with_input, 0, true);
    Value* none = filled(build, weights.hidden_bias->type(), 0);
    with_input = build.concat({gates_along(build, with_input, 0, false), none}, 0);
  }
  weights.input_bias = build.add(Op::add, {weights.input_bias, with_input});
  return weights;
}

/// What the input contributes to the gates, of one direction or of several side by side, in the
/// parts that a step takes: one, or two if the last gate is apart.
std::vector<Value*> input_parts(const Builder& build, const Kind& kind, Value* x,
                                std::span<const RecurrentWeights> weights) {
  const auto part = [&](bool divide, bool last) {
    const auto rows = [&](Value* RecurrentWeights::*member) -> Value* {
      std::vector<Value*> parts;
      for (const RecurrentWeights& own : weights)
        if (own.*member != nullptr)
          parts.push_back(divide ? gates_along(build, own.*member, 0, last) : own.*member);
      return parts.empty() ? nullptr : build.concat(std::move(parts), 0);
    };
    Value* weight = rows(&RecurrentWeights::input);
    return linear(build, x, weight, rows(&RecurrentWeights::input_bias));
  };
  if (!kind.has_reset) return {part(false, false)};
  return {part(true, false), part(true, true)};
}

/// 1 for the sequences that go on at each step and 0 for others, [steps, batch, 1]; null if all do.
Value* steps_within(const Builder& build, Value* lengths, const Dim& steps, DType dtype) {
  if (lengths == nullptr) return nullptr;
  Value* places = arange(build, {lengths->dtype(), {steps, 1, 1}}, 0, 1);
  Value* ends = build.view(lengths, {1, lengths->shape()[0], 1});
  return build.convert(build.add(Op::less, {places, ends}), dtype);
}

/// [steps, a, b, features] as [steps, b, a, features], where one of a and b is the direction. The
/// second direction, of the result's axis `direction`, is turned around: its first step is last.
Value* mirrored(const Builder& build, Value* x, int64_t direction) {
  const Shape& shape = x->shape();
  const Dim steps = shape[0], a = shape[1], b = shape[2], count = steps * a * b;
  Value* places = front_of_constant(build, {steps, b, a}, [&](const Shape& whole) {
    Tensor numbers({DType::i64, whole});
    const int64_t rows = a.value(), columns = b.value();
    for (int64_t i = 0; i < numbers.count(); ++i) {
      const int64_t step = i / (rows * columns), row = i % rows, column = i / rows % columns;
      numbers.set_int(i, (step * rows + row) * columns + column);
    }
    return Constant::of(numbers);
  });
  Value* forwards = build.slice(places, direction, 0, 1);
  Value* backwards = build.add(Op::flip, {build.slice(places, direction, 1, 1)}, AxesAttrs{{0}});
  places = build.view(build.concat({forwards, backwards}, direction), {count});
  Value* rows = build.view(x, {count, shape[3]});
  rows = build.add(Op::gather, {rows, places}, AxisAttrs{0});
  return build.view(rows, {steps, b, a, shape[3]});
}

/// The steps of a layer as a loop, over parts [steps, ..., batch, gates * hidden]; `state` becomes
/// the last.
Value* loop(const Builder& build, Parts all, Value* within, const Direction& direction,
            bool backwards, RecurrentState& state) {
  const Kind& kind = kind_of(direction.layers.kind);
  Graph placeholders("step");
  Loop loop(build, placeholders);
  std::vector<Value*> parts;
  for (Value* part : all) parts.push_back(loop.element(part));
  if (within != nullptr) within = loop.element(within);
  RecurrentState carried{loop.carried(state.hidden)};
  if (kind.has_cell) carried.cell = loop.carried(state.cell);
  carried = kind.step(build, parts, carried, within, direction);
  loop.leave(carried.hidden);
  if (kind.has_cell) loop.leave(carried.cell);
  loop.give(carried.hidden);
  const Dim steps = all[0]->shape()[0];
  if (const std::string why = loop.refusal(steps); !why.empty())
    build.fail("cannot run in a loop: {}", why);
  const Loop::Results results = loop.build(steps, backwards);
  state = {results.left[0], kind.has_cell ? results.left[1] : nullptr};
  return results.given[0];
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

/// What a function makes of the parts of a state.
template <typename Change>
RecurrentState each(const RecurrentState& state, Change change) {
  Value* hidden = change(state.hidden);
  return {hidden, state.cell != nullptr ? change(state.cell) : nullptr};
}

bool has_plain_constants(const RecurrentWeights& weights) {
  return is_plain_constant(weights.hidden) && is_plain_constant(weights.hidden_bias) &&
         is_plain_constant(weights.projection) && is_plain_constant(weights.peepholes);
}

/// A dynamic number of steps is a loop. So is a large one, unless a batch stands before the steps:
/// a loop would have to move it behind them.
bool is_loop(const Direction& direction, const Value* x) {
  const auto time = static_cast<size_t>(direction.layers.time_axis);
  const Dim steps = x->shape()[time], batch = x->shape()[1 - time];
  if (!steps.is_static()) return true;
  const bool in_order = time == 0 || batch.is_one();
  return steps.value() >= kManySteps && batch.is_static() && in_order &&
         has_plain_constants(direction.weights);
}

/// The steps of a layer one after the other; `state` becomes the last.
Value* unrolled(const Builder& build, Parts all, Value* within, const Direction& direction,
                bool backwards, RecurrentState& state) {
  const Kind& kind = kind_of(direction.layers.kind);
  const int64_t time = direction.layers.time_axis;
  const int64_t steps = all[0]->shape()[static_cast<size_t>(time)].value();
  std::vector<Value*> outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backwards ? steps - 1 - i : i;
    auto at_step = [&](Value* sequence, int64_t axis) {
      return without_axes(build, build.slice(sequence, axis, t, 1), {axis});
    };
    std::vector<Value*> parts;
    for (Value* part : all) parts.push_back(at_step(part, time));
    Value* own = within != nullptr ? at_step(within, 0) : nullptr;
    state = kind.step(build, parts, state, own, direction);
    outputs[static_cast<size_t>(t)] = with_axis(build, state.hidden, time);
  }
  return build.concat(std::move(outputs), time);
}

/// Both directions of a layer as one loop, which has half the steps. `state` is [2, batch, hidden].
Value* run_both(const Builder& build, std::vector<Value*> all, Value* within,
                const RecurrentLayers& layers, std::span<const RecurrentWeights> weights,
                RecurrentState& state) {
  for (Value*& part : all) {
    const Shape& shape = part->shape();  // [steps, batch, 2 * gates]
    const int64_t size = gate_size(build, shape[2], 2);
    part = mirrored(build, build.view(part, {shape[0], shape[1], 2, size}), 1);
  }
  if (within != nullptr) {
    within = with_axis(build, within, 2);
    within = mirrored(build, build.concat({within, within}, 2), 1);
  }
  const auto stacked = [&](Value* RecurrentWeights::*member) -> Value* {
    if (weights[0].*member == nullptr) return nullptr;
    Value* rows = build.concat(
        {with_axis(build, weights[0].*member, 0), with_axis(build, weights[1].*member, 0)}, 0);
    return rows->type().rank() == 2 ? with_axis(build, rows, 1) : rows;
  };
  RecurrentWeights own;
  own.hidden = stacked(&RecurrentWeights::hidden);
  own.hidden_bias = stacked(&RecurrentWeights::hidden_bias);
  own.projection = stacked(&RecurrentWeights::projection);
  own.peepholes = stacked(&RecurrentWeights::peepholes);
  Value* outputs = mirrored(build, loop(build, all, within, {layers, own}, false, state), 2);
  const Shape& shape = outputs->shape();
  return build.view(outputs, {shape[0], shape[1], shape[2] * shape[3]});
}

/// Weights of one direction, of which there are twice as many in each step if two run as one. They
/// should stay in a core's cache from step to step: an LSTM with 128 units is a fifth faster as one
/// loop, and one with 256 a twentieth slower.
constexpr int64_t kMostWeights = 1 << 17;

/// Whether two directions run as one: both are loops, and compute in the same way.
bool can_run_both(const RecurrentLayers& layers, std::span<const RecurrentWeights> weights,
                  const Value* x) {
  return weights.size() == 2 && std::ranges::all_of(weights, [&](const RecurrentWeights& own) {
           const RecurrentFunctions& functions = own.functions;
           return !functions.gate && !functions.update && !functions.output &&
                  element_count(own.hidden->shape()).value() <= kMostWeights &&
                  has_plain_constants(own) && is_loop({layers, own}, x);
         });
}

/// States one after the other, along their first axis.
RecurrentState joined(const Builder& build, std::span<const RecurrentState> states) {
  const auto all = [&](Value* RecurrentState::*member) {
    std::vector<Value*> parts;
    for (const RecurrentState& state : states) parts.push_back(state.*member);
    return build.concat(std::move(parts), 0);
  };
  Value* hidden = all(&RecurrentState::hidden);
  return {hidden, states[0].cell != nullptr ? all(&RecurrentState::cell) : nullptr};
}

/// `count` rows of states [rows, batch, hidden].
RecurrentState rows_of(const Builder& build, const RecurrentState& states, size_t first,
                       int64_t count) {
  return each(states, [&](Value* value) {
    return build.slice(value, 0, static_cast<int64_t>(first), count);
  });
}

/// One layer in its directions; `states` [directions, batch, hidden] become the last ones.
Value* run(const Builder& build, Value* x, const RecurrentLayers& layers,
           std::span<const RecurrentWeights> weights, RecurrentState& states) {
  const Kind& kind = kind_of(layers.kind);
  const auto turned = [&](Value* value) {
    return layers.time_axis == 1 ? transposed(build, value) : value;
  };
  const auto steps_first = [&](std::vector<Value*> parts) {
    for (Value*& part : parts) part = turned(part);
    return parts;
  };
  Value* within = steps_within(build, layers.lengths,
                               x->shape()[static_cast<size_t>(layers.time_axis)], x->dtype());
  Value* outputs = nullptr;
  if (can_run_both(layers, weights, x)) {
    const std::vector<Value*> all = steps_first(input_parts(build, kind, x, weights));
    outputs = turned(run_both(build, all, within, layers, weights, states));
  } else {
    std::vector<Value*> side_by_side;
    std::vector<RecurrentState> last;
    for (size_t i = 0; i < weights.size(); ++i) {
      const Direction direction{layers, weights[i]};
      const bool backwards = layers.backwards || i == 1;
      RecurrentState state = each(rows_of(build, states, i, 1),
                                  [&](Value* row) { return without_axes(build, row, {0}); });
      const std::vector<Value*> all = input_parts(build, kind, x, weights.subspan(i, 1));
      side_by_side.push_back(
          is_loop(direction, x)
              ? turned(loop(build, steps_first(all), within, direction, backwards, state))
              : unrolled(build, all, within, direction, backwards, state));
      last.push_back(each(state, [&](Value* own) { return with_axis(build, own, 0); }));
    }
    outputs = build.concat(std::move(side_by_side), 2);
    states = joined(build, last);
  }
  return within != nullptr ? build.add(Op::mul, {turned(within), outputs}) : outputs;
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
  const auto directions = static_cast<size_t>(layers.directions);
  std::vector<RecurrentState> last;
  for (size_t first = 0; first < layers.weights.size(); first += directions) {
    std::vector<RecurrentWeights> weights;
    for (size_t i = first; i < first + directions; ++i)
      weights.push_back(for_steps(build, layers, layers.weights[i]));
    last.push_back(rows_of(build, initial, first, layers.directions));
    x = run(build, x, layers, weights, last.back());
  }
  return {x, joined(build, last)};
}

RecurrentState recurrent_step(const Builder& build, Recurrence recurrence, Value* x,
                              const RecurrentState& before, const RecurrentWeights& weights) {
  const RecurrentLayers one{recurrence, {}};
  const Kind& kind = kind_of(recurrence);
  const RecurrentWeights own = for_steps(build, one, weights);
  const std::vector<Value*> parts = input_parts(build, kind, x, std::span(&own, 1));
  return kind.step(build, parts, before, nullptr, {one, own});
}

}  // namespace layline::ops

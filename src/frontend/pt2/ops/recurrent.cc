// Recurrent layers, unrolled: the inputs of all steps go through one linear, then step follows
// step. Time is the axis that the model has it on, so a batch-first model needs no transpose.
#include <limits>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

constexpr int64_t kMostSteps = 1 << 16;  // over all layers: ten to twenty ops each

/// What one step of a layer computes: h, and for an LSTM the cell c.
struct State {
  Value* hidden = nullptr;
  Value* cell = nullptr;
};

/// The parameters of one layer in one direction. A weight is [gates * hidden, features].
struct Weights {
  Value* input = nullptr;
  Value* hidden = nullptr;
  Value* input_bias = nullptr;   // null without biases
  Value* hidden_bias = nullptr;  // likewise
  Value* projection = nullptr;   // of the hidden state of an LSTM; usually null
};

Value* linear(const Call& call, Value* x, Value* weight, Value* bias) {
  std::vector<Value*> operands = {x, weight};
  if (bias != nullptr) operands.push_back(bias);
  return call.add(Op::linear, std::move(operands), LinearAttrs{});
}

Value* gate(const Call& call, Value* gates, int64_t index, int64_t count) {
  const auto parts = divide(gates->shape().back(), count);
  if (!parts || !parts->is_static())
    call.fail("a weight has {} rows, expected {} gates of equal size",
              to_string(gates->shape().back()), count);
  const int64_t size = parts->value();
  return call.slice(gates, gates->type().rank() - 1, index * size, size);
}

Value* sigmoid(const Call& call, Value* x) { return call.add(Op::sigmoid, {x}); }
Value* tanh(const Call& call, Value* x) { return call.add(Op::tanh, {x}); }

/// A kind of layer: the part of its gates that the input makes, for all steps at once, and the step
/// from one state to the next.
struct Kind {
  bool has_cell;
  bool separate_biases;  // the hidden bias is added inside the step, and not with the input's
  State (*step)(const Call& call, Value* from_input, const State& before, const Weights& weights);
};

State lstm_step(const Call& call, Value* from_input, const State& before, const Weights& weights) {
  Value* gates =
      call.add(Op::add, {from_input, linear(call, before.hidden, weights.hidden, nullptr)});
  Value* input = sigmoid(call, gate(call, gates, 0, 4));
  Value* forget = sigmoid(call, gate(call, gates, 1, 4));
  Value* update = tanh(call, gate(call, gates, 2, 4));
  Value* output = sigmoid(call, gate(call, gates, 3, 4));
  Value* cell = call.add(
      Op::add, {call.add(Op::mul, {forget, before.cell}), call.add(Op::mul, {input, update})});
  Value* hidden = call.add(Op::mul, {output, tanh(call, cell)});
  if (weights.projection != nullptr) hidden = linear(call, hidden, weights.projection, nullptr);
  return {hidden, cell};
}

/// The reset gate multiplies what the hidden state contributes to the new one, its bias included.
State gru_step(const Call& call, Value* from_input, const State& before, const Weights& weights) {
  Value* from_hidden = linear(call, before.hidden, weights.hidden, weights.hidden_bias);
  auto sum = [&](int64_t index) {
    return call.add(Op::add, {gate(call, from_input, index, 3), gate(call, from_hidden, index, 3)});
  };
  Value* reset = sigmoid(call, sum(0));
  Value* keep = sigmoid(call, sum(1));
  Value* update =
      tanh(call, call.add(Op::add, {gate(call, from_input, 2, 3),
                                    call.add(Op::mul, {reset, gate(call, from_hidden, 2, 3)})}));
  Value* difference = call.add(Op::sub, {before.hidden, update});
  return {call.add(Op::add, {update, call.add(Op::mul, {keep, difference})}), nullptr};
}

Value* rnn_sum(const Call& call, Value* from_input, const State& before, const Weights& weights) {
  return call.add(Op::add, {from_input, linear(call, before.hidden, weights.hidden, nullptr)});
}

State rnn_tanh_step(const Call& call, Value* from_input, const State& before,
                    const Weights& weights) {
  return {tanh(call, rnn_sum(call, from_input, before, weights)), nullptr};
}

State rnn_relu_step(const Call& call, Value* from_input, const State& before,
                    const Weights& weights) {
  Value* sum = rnn_sum(call, from_input, before, weights);
  return {call.clamp(sum, 0, std::numeric_limits<double>::infinity()), nullptr};
}

constexpr Kind kLstm = {true, false, lstm_step};
constexpr Kind kGru = {false, true, gru_step};
constexpr Kind kRnnTanh = {false, false, rnn_tanh_step};
constexpr Kind kRnnRelu = {false, false, rnn_relu_step};

Value* input_part(const Call& call, const Kind& kind, Value* x, const Weights& weights) {
  Value* bias = weights.input_bias;
  if (bias != nullptr && !kind.separate_biases)
    bias = call.add(Op::add, {bias, weights.hidden_bias});
  return linear(call, x, weights.input, bias);
}

/// Row `index` of a state [layers * directions, batch, hidden].
Value* row(const Call& call, Value* states, int64_t index) {
  return call.view(call.slice(states, 0, index, 1), {states->shape()[1], states->shape()[2]});
}

Value* stacked(const Call& call, const std::vector<Value*>& rows) {
  std::vector<Value*> parts;
  for (Value* value : rows) {
    Shape shape = value->shape();
    shape.insert(shape.begin(), Dim(1));
    parts.push_back(call.view(value, shape));
  }
  return call.concat(std::move(parts), 0);
}

class Layers {
 public:
  Layers(Call& call, const Kind& kind)
      : call_(call), kind_(kind), x_(call.tensor("input")), parameters_(call.tensors("params")) {
    if (kind.has_cell) {
      const std::vector<Value*> states = call.tensors("hx");
      if (states.size() != 2) call.fail("has {} initial states, expected 2", states.size());
      hidden_ = states[0];
      cell_ = states[1];
    } else {
      hidden_ = call.tensor("hx");
    }
    if (x_->shape().size() != 3)
      call.fail("packed sequences are not supported; give a padded tensor with three axes");
    if (call.flag("train", false) && call.number("dropout", 0) > 0)
      call.fail("has dropout; call .eval() before the export");
    time_ = call.flag("batch_first", false) ? 1 : 0;
    layers_ = call.integer("num_layers", 1);
    directions_ = call.flag("bidirectional", false) ? 2 : 1;
    check();
  }

  void import() {
    std::vector<Value*> hidden, cells;
    Value* x = x_;
    for (int64_t layer = 0; layer < layers_; ++layer) {
      std::vector<Value*> outputs;
      for (int64_t direction = 0; direction < directions_; ++direction) {
        const int64_t index = layer * directions_ + direction;
        State state{row(call_, hidden_, index), cell_ ? row(call_, cell_, index) : nullptr};
        outputs.push_back(run(x, weights(index), direction == 1, state));
        hidden.push_back(state.hidden);
        cells.push_back(state.cell);
      }
      x = outputs.size() == 1 ? outputs[0] : call_.concat(std::move(outputs), 2);
    }
    call_.result(x);
    call_.result(stacked(call_, hidden));
    if (kind_.has_cell) call_.result(stacked(call_, cells));
  }

 private:
  void check() {
    if (layers_ < 1 || layers_ > 1024) call_.fail("has {} layers", layers_);
    for (const Value* states : {hidden_, cell_})
      if (states != nullptr &&
          (states->shape().size() != 3 || states->shape()[0] != Dim(layers_ * directions_)))
        call_.fail("the initial state is {}, expected {} rows", to_string(states->type()),
                   layers_ * directions_);
    const Dim steps = x_->shape()[static_cast<size_t>(time_)];
    if (!steps.is_static())
      call_.fail("the number of steps is dynamic, which is not supported; export a fixed length");
    if (steps.value() > kMostSteps / (layers_ * directions_))
      call_.fail("{} steps are too many to unroll; run shorter pieces and carry the state over",
                 steps.value());
    const auto count = static_cast<int64_t>(parameters_.size());
    per_layer_ = count / (layers_ * directions_);
    const int64_t plain = call_.flag("has_biases", true) ? 4 : 2;
    projected_ = kind_.has_cell && per_layer_ == plain + 1;
    if (count != per_layer_ * layers_ * directions_ || per_layer_ != plain + (projected_ ? 1 : 0))
      call_.fail("has {} parameters for {} layers in {} directions", count, layers_, directions_);
  }

  Weights weights(int64_t index) const {
    const auto* first = parameters_.data() + index * per_layer_;
    Weights result{first[0], first[1]};
    if (per_layer_ >= 4) result.input_bias = first[2], result.hidden_bias = first[3];
    if (projected_) result.projection = first[per_layer_ - 1];
    return result;
  }

  /// One layer in one direction; `state` becomes the last one.
  Value* run(Value* x, const Weights& weights, bool backwards, State& state) const {
    Value* parts = input_part(call_, kind_, x, weights);
    const auto time = static_cast<size_t>(time_);
    const int64_t steps = x->shape()[time].value();
    if (steps == 0) call_.fail("there are no steps");
    std::vector<Value*> outputs(static_cast<size_t>(steps));
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = backwards ? steps - 1 - i : i;
      Value* part = call_.slice(parts, time_, t, 1);
      part = call_.view(part, {x->shape()[1 - time], parts->shape()[2]});
      state = kind_.step(call_, part, state, weights);
      Shape one = x->shape();
      one[time] = 1;
      one[2] = state.hidden->shape()[1];
      outputs[static_cast<size_t>(t)] = call_.view(state.hidden, one);
    }
    return call_.concat(std::move(outputs), time_);
  }

  Call& call_;
  const Kind& kind_;
  Value* x_;
  std::vector<Value*> parameters_;
  Value* hidden_ = nullptr;
  Value* cell_ = nullptr;
  int64_t time_ = 0, layers_ = 1, directions_ = 1, per_layer_ = 0;
  bool projected_ = false;
};

template <const Kind& kind>
void layers(Call& call) {
  Layers(call, kind).import();
}

template <const Kind& kind>
void cell(Call& call) {
  State before;
  if (kind.has_cell) {
    const std::vector<Value*> states = call.tensors("hx");
    if (states.size() != 2) call.fail("has {} states, expected 2", states.size());
    before = {states[0], states[1]};
  } else {
    before.hidden = call.tensor("hx");
  }
  const Weights weights{call.tensor("w_ih"), call.tensor("w_hh"), call.optional_tensor("b_ih"),
                        call.optional_tensor("b_hh")};
  Value* part = input_part(call, kind, call.tensor("input"), weights);
  const State after = kind.step(call, part, before, weights);
  call.result(after.hidden);
  if (kind.has_cell) call.result(after.cell);
}

constexpr OpRule kRules[] = {
    {"aten.lstm.input", layers<kLstm>},
    {"aten.gru.input", layers<kGru>},
    {"aten.rnn_tanh.input", layers<kRnnTanh>},
    {"aten.rnn_relu.input", layers<kRnnRelu>},
    {"aten.lstm_cell.default", cell<kLstm>},
    {"aten.gru_cell.default", cell<kGru>},
    {"aten.rnn_tanh_cell.default", cell<kRnnTanh>},
    {"aten.rnn_relu_cell.default", cell<kRnnRelu>},
};

}  // namespace

std::span<const OpRule> recurrent_rules() { return kRules; }

}  // namespace layline::pt2

// Recurrent layers and cells.
#include "frontend/ops/recurrent.h"

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

using ops::Recurrence;

/// The state given as `hx`; an LSTM has two.
ops::RecurrentState state(const Call& call, Recurrence kind, std::string_view what) {
  if (kind != Recurrence::lstm) return {call.tensor("hx"), nullptr};
  const std::vector<Value*> states = call.tensors("hx");
  if (states.size() != 2) call.fail("has {} {}, expected 2", states.size(), what);
  return {states[0], states[1]};
}

/// torch lists, for each layer and direction, the two weights, then the two biases and an LSTM's
/// projection where there are such.
std::vector<ops::RecurrentWeights> weights(const Call& call, Recurrence kind, int64_t layers,
                                           int64_t directions) {
  const std::vector<Value*> parameters = call.tensors("params");
  const auto count = static_cast<int64_t>(parameters.size());
  const int64_t each = count / (layers * directions);
  const int64_t plain = call.flag("has_biases", true) ? 4 : 2;
  const bool projected = kind == Recurrence::lstm && each == plain + 1;
  if (count != each * layers * directions || each != plain + (projected ? 1 : 0))
    call.fail("has {} parameters for {} layers in {} directions", count, layers, directions);
  std::vector<ops::RecurrentWeights> result;
  for (auto* first = parameters.data(); first != parameters.data() + count; first += each) {
    ops::RecurrentWeights& next = result.emplace_back();
    next.input = first[0];
    next.hidden = first[1];
    if (plain == 4) next.input_bias = first[2], next.hidden_bias = first[3];
    if (projected) next.projection = first[each - 1];
  }
  return result;
}

template <Recurrence kind>
void layers(Call& call) {
  Value* x = call.tensor("input");
  const ops::RecurrentState initial = state(call, kind, "initial states");
  if (call.flag("train", false) && call.number("dropout", 0) > 0)
    call.fail("has dropout; call .eval() before the export");
  const int64_t count = call.integer("num_layers", 1);
  if (count < 1 || count > 1024) call.fail("has {} layers", count);
  ops::RecurrentLayers layers{kind, {}};
  layers.directions = call.flag("bidirectional", false) ? 2 : 1;
  layers.time_axis = call.flag("batch_first", false) ? 1 : 0;
  ops::check_sequence(call, x, initial, count * layers.directions, layers.time_axis);
  layers.weights = weights(call, kind, count, layers.directions);
  const auto [output, last] = ops::recurrent(call, layers, x, initial);
  call.result(output);
  call.result(last.hidden);
  if (last.cell != nullptr) call.result(last.cell);
}

template <Recurrence kind>
void cell(Call& call) {
  const ops::RecurrentState before = state(call, kind, "states");
  const ops::RecurrentWeights weights{call.tensor("w_ih"), call.tensor("w_hh"),
                                      call.optional_tensor("b_ih"), call.optional_tensor("b_hh")};
  const auto [hidden, cell] =
      ops::recurrent_step(call, kind, call.tensor("input"), before, weights);
  call.result(hidden);
  if (cell != nullptr) call.result(cell);
}

constexpr OpRule kRules[] = {
    {"aten.lstm.input", layers<Recurrence::lstm>},
    {"aten.gru.input", layers<Recurrence::gru>},
    {"aten.rnn_tanh.input", layers<Recurrence::rnn_tanh>},
    {"aten.rnn_relu.input", layers<Recurrence::rnn_relu>},
    {"aten.lstm_cell.default", cell<Recurrence::lstm>},
    {"aten.gru_cell.default", cell<Recurrence::gru>},
    {"aten.rnn_tanh_cell.default", cell<Recurrence::rnn_tanh>},
    {"aten.rnn_relu_cell.default", cell<Recurrence::rnn_relu>},
};

}  // namespace

std::span<const OpRule> recurrent_rules() { return kRules; }

}  // namespace layline::pt2

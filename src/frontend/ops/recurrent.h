// Recurrent layers: the inputs of all steps go through one linear, then step follows step. A fixed
// number of steps is unrolled; a dynamic one is a loop.
#pragma once

#include <vector>

#include "ir/builder.h"

namespace layline::ops {

/// Gates stand one after the other in weights and biases. An LSTM's are input, forget, cell,
/// output. A GRU's are reset, update, new; its reset gate multiplies the hidden part with its bias.
enum class Recurrence : uint8_t { lstm, gru, rnn_tanh, rnn_relu };

/// The state that is handed on from step to step. Only an LSTM has a cell.
struct RecurrentState {
  Value* hidden = nullptr;
  Value* cell = nullptr;
};

/// The parameters of one layer in one direction. A weight is [gates * hidden, features].
struct RecurrentWeights {
  Value* input = nullptr;
  Value* hidden = nullptr;
  Value* input_bias = nullptr;   // null if there are no biases
  Value* hidden_bias = nullptr;  // likewise
  Value* projection = nullptr;   // projects an LSTM's hidden state; usually null
};

struct RecurrentLayers {
  Recurrence kind;
  /// For each layer, the weights forwards, then those backwards if there are two directions.
  std::vector<RecurrentWeights> weights;
  int64_t directions = 1;
  int64_t time_axis = 0;  // 0 or 1; the other is the batch
};

struct RecurrentResults {
  Value* output;         // the last layer's, all steps, both directions side by side
  RecurrentState state;  // the last one: [layers * directions, batch, hidden]
};

/// Runs all layers. x has three axes; `initial` is [layers * directions, batch, hidden].
RecurrentResults recurrent(const Builder& build, const RecurrentLayers& layers, Value* x,
                           const RecurrentState& initial);

/// Refuses what `recurrent` cannot build; `rows` is layers * directions. A front end that has yet
/// to take parameters apart may ask first.
void check_sequence(const Builder& build, const Value* x, const RecurrentState& initial,
                    int64_t rows, int64_t time_axis);

/// Runs one step. x is [batch, features], the state [batch, hidden].
RecurrentState recurrent_step(const Builder& build, Recurrence kind, Value* x,
                              const RecurrentState& before, const RecurrentWeights& weights);

}  // namespace layline::ops

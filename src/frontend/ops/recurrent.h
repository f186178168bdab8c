// Recurrent layers: the inputs of all steps are multiplied at once, then step follows step. A few
// steps are unrolled. Many, or a dynamic number, are a loop, which runs both directions of a layer.
#pragma once

#include <functional>
#include <limits>
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

using Activation = std::function<Value*(const Builder& build, Value* x)>;

/// The functions of one layer in one direction, where they are not the kind's own.
struct RecurrentFunctions {
  Activation gate = nullptr;    // sigmoid if not given
  Activation update = nullptr;  // tanh if not given; the only one of rnn_tanh and rnn_relu
  Activation output = nullptr;  // what an LSTM does with its cell: tanh if not given
};

/// The parameters of one layer in one direction. A weight is [gates * hidden, features].
struct RecurrentWeights {
  Value* input = nullptr;
  Value* hidden = nullptr;
  Value* input_bias = nullptr;   // null if there are no biases
  Value* hidden_bias = nullptr;  // likewise
  Value* projection = nullptr;   // projects an LSTM's hidden state; usually null
  /// [3 * hidden]: what an LSTM's input, forget and output gates multiply the cell with; usually
  /// null.
  Value* peepholes = nullptr;
  RecurrentFunctions functions = {};
};

struct RecurrentLayers {
  Recurrence kind;
  /// For each layer, the weights forwards, then those backwards if there are two directions.
  std::vector<RecurrentWeights> weights;
  int64_t directions = 1;
  int64_t time_axis = 0;   // 0 or 1; the other is the batch
  bool backwards = false;  // the only direction runs from the last step to the first
  /// The number of steps of each sequence, i64[batch]; null if all have all. A state stays what it
  /// is beside the sequence, and the output is 0 there.
  Value* lengths = nullptr;
  /// The sums that go into gates and updates are kept within [-clip, clip].
  double clip = std::numeric_limits<double>::infinity();
  bool coupled = false;      // an LSTM forgets as much as it does not take in
  bool reset_first = false;  // a GRU's reset gate multiplies the hidden state, and not its part
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

// Recurrent layers.
#include "frontend/ops/recurrent.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/activation.h"
#include "frontend/ops/arithmetic.h"
#include "frontend/ops/creation.h"
#include "frontend/ops/shapes.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

using ops::Recurrence;

/// What ONNX has otherwise than the op library: the places of the library's gates in ONNX's
/// weights, and the functions that each direction has if it names none.
struct Kind {
  Recurrence recurrence;
  std::span<const int64_t> gates;
  std::span<const std::string_view> functions;
};

constexpr int64_t kLstmGates[] = {0, 2, 3, 1};  // ONNX: input, output, forget, cell
constexpr int64_t kGruGates[] = {1, 0, 2};      // ONNX: update, reset, new
constexpr int64_t kRnnGates[] = {0};
constexpr int64_t kPeepholes[] = {0, 2, 1};  // ONNX: input, output, forget
constexpr std::string_view kLstmFunctions[] = {"sigmoid", "tanh", "tanh"};
constexpr std::string_view kGruFunctions[] = {"sigmoid", "tanh"};
constexpr std::string_view kRnnFunctions[] = {"tanh"};
constexpr Kind kLstm = {Recurrence::lstm, kLstmGates, kLstmFunctions};
constexpr Kind kGru = {Recurrence::gru, kGruGates, kGruFunctions};
constexpr Kind kRnn = {Recurrence::rnn_tanh, kRnnGates, kRnnFunctions};

/// One function by its name, with up to two numbers and what they are if the model has none.
struct NamedFunction {
  std::string_view name;
  int numbers;
  double alpha, beta;
  Value* (*build)(const Builder& build, Value* x, double alpha, double beta);
};

Value* affine(const Builder& build, Value* x, double alpha, double beta) {
  return build.add(Op::add, {ops::times(build, x, alpha), build.scalar(x->dtype(), beta)});
}

constexpr NamedFunction kFunctions[] = {
    {"sigmoid", 0, 0, 0,
     [](const Builder& build, Value* x, double, double) { return build.add(Op::sigmoid, {x}); }},
    {"tanh", 0, 0, 0,
     [](const Builder& build, Value* x, double, double) { return build.add(Op::tanh, {x}); }},
    {"relu", 0, 0, 0,
     [](const Builder& build, Value* x, double, double) { return ops::relu(build, x); }},
    {"softsign", 0, 0, 0,
     [](const Builder& build, Value* x, double, double) { return ops::softsign(build, x); }},
    {"softplus", 0, 0, 0,
     [](const Builder& build, Value* x, double, double) { return ops::softplus(build, x); }},
    {"elu", 1, 1, 0,
     [](const Builder& build, Value* x, double alpha, double) {
       return ops::elu(build, x, alpha);
     }},
    {"leakyrelu", 1, 0.01, 0,
     [](const Builder& build, Value* x, double alpha, double) {
       return build.add(Op::leaky_relu, {x}, AlphaAttrs{alpha});
     }},
    {"thresholdedrelu", 1, 1, 0,
     [](const Builder& build, Value* x, double alpha, double) {
       return ops::threshold(build, x, alpha, 0);
     }},
    {"affine", 2, 1, 0, affine},
    {"scaledtanh", 2, 1, 1,
     [](const Builder& build, Value* x, double alpha, double beta) {
       return ops::times(build, build.add(Op::tanh, {ops::times(build, x, beta)}), alpha);
     }},
    {"hardsigmoid", 2, 0.2, 0.5, ops::hardsigmoid},
};

/// The functions that the model names, for all directions; null for one that the kind has anyway.
/// The numbers are two lists, in which each function that has such a number takes the next one.
std::vector<ops::Activation> functions(const Call& call, const Kind& kind) {
  const std::vector<double> alphas = call.numbers("activation_alpha");
  const std::vector<double> betas = call.numbers("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<ops::Activation> result;
  for (const std::string_view given : call.strings("activations")) {
    std::string name(given);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto* function = std::ranges::find(kFunctions, name, &NamedFunction::name);
    if (function == std::end(kFunctions)) call.fail("there is no activation `{}`", given);
    double alpha = function->alpha, beta = function->beta;
    if (function->numbers >= 1 && next_alpha < alphas.size()) alpha = alphas[next_alpha++];
    if (function->numbers >= 2 && next_beta < betas.size()) beta = betas[next_beta++];
    if (name == kind.functions[result.size() % kind.functions.size()])
      result.emplace_back(nullptr);
    else
      result.emplace_back([function, alpha, beta](const Builder& build, Value* x) {
        return function->build(build, x, alpha, beta);
      });
  }
  return result;
}

/// The parts of axis 0 in the library's order.
Value* reordered(const Call& call, Value* x, std::span<const int64_t> places) {
  const int64_t size = ops::static_length(call, x, 0) / std::ssize(places);
  if (places.size() == 1) return x;
  std::vector<Value*> parts;
  for (const int64_t place : places) parts.push_back(call.slice(x, 0, place * size, size));
  return call.concat(std::move(parts), 0);
}

/// The parameters of one direction, without the axis of directions.
Value* of_direction(const Call& call, Value* x, int64_t direction, size_t rank) {
  if (x->shape().size() != rank || !x->shape()[0].is_static() || direction >= x->shape()[0].value())
    call.fail("its weights are {}", to_string(x->type()));
  return ops::without_axes(call, call.slice(x, 0, direction, 1), {0});
}

ops::RecurrentWeights weights(const Call& call, const Kind& kind, int64_t direction,
                              std::span<const ops::Activation> functions) {
  ops::RecurrentWeights result;
  result.input = reordered(call, of_direction(call, call.input(1), direction, 3), kind.gates);
  result.hidden = reordered(call, of_direction(call, call.input(2), direction, 3), kind.gates);
  if (Value* given = call.optional(3)) {
    Value* biases = of_direction(call, given, direction, 2);
    const int64_t half = ops::static_length(call, biases, 0) / 2;
    result.input_bias = reordered(call, call.slice(biases, 0, 0, half), kind.gates);
    result.hidden_bias = reordered(call, call.slice(biases, 0, half, half), kind.gates);
  }
  if (Value* given = call.optional(7))
    result.peepholes = reordered(call, of_direction(call, given, direction, 2), kPeepholes);
  if (!functions.empty()) {
    const bool has_gates = kind.functions.size() > 1;
    if (has_gates) result.functions.gate = functions[0];
    result.functions.update = functions[has_gates ? 1 : 0];
    if (kind.functions.size() > 2) result.functions.output = functions[2];
  }
  return result;
}

/// The lengths of the sequences; null if they are known to be all of it.
Value* lengths(const Call& call, Value* given, const Dim& steps) {
  if (given == nullptr) return nullptr;
  const Fraction whole{call.graph().symbol_table().expand(steps)};
  const Numbers* known = call.numbers(given);
  if (known == nullptr) return given;
  const auto is_shorter = [&](const Fraction& length) { return length != whole; };
  return std::ranges::any_of(known->elements, is_shorter) ? given : nullptr;
}

/// The initial state [directions, batch, hidden], which is 0 if the model gives none.
Value* initial(const Call& call, Value* given, const TensorType& type, bool batch_first) {
  if (given == nullptr) return ops::filled(call, type, 0);
  return batch_first ? ops::swap_axes(call, given, 0, 1) : given;
}

void recurrent(Call& call, const Kind& kind) {
  Value* x = call.input(0);
  if (x->shape().size() != 3) call.fail("takes no {}", to_string(x->type()));
  const std::string_view direction = call.string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    call.fail("there is no direction `{}`", direction);
  const bool batch_first = call.flag("layout", false);

  ops::RecurrentLayers layers{kind.recurrence, {}};
  layers.directions = direction == "bidirectional" ? 2 : 1;
  layers.backwards = direction == "reverse";
  layers.time_axis = batch_first ? 1 : 0;
  const Dim steps = x->shape()[batch_first ? 1 : 0];
  const Dim batch = x->shape()[batch_first ? 0 : 1];
  layers.lengths = lengths(call, call.optional(4), steps);
  if (call.has("clip")) layers.clip = call.number("clip", 0);
  layers.coupled = call.flag("input_forget", false);
  layers.reset_first = !call.flag("linear_before_reset", false);

  const std::vector<ops::Activation> all = functions(call, kind);
  const size_t directions = static_cast<size_t>(layers.directions);
  const size_t each = kind.functions.size();
  if (!all.empty() && all.size() != directions * each)
    call.fail("has {} activations, expected {}", all.size(), directions * each);
  for (size_t i = 0; i < directions; ++i) {
    std::span<const ops::Activation> own = all;
    if (!all.empty()) own = own.subspan(i * each, each);
    layers.weights.push_back(weights(call, kind, static_cast<int64_t>(i), own));
  }

  const Dim hidden = layers.weights[0].hidden->shape()[1];
  const TensorType state{x->dtype(), {layers.directions, batch, hidden}};
  ops::RecurrentState before;
  before.hidden = initial(call, call.optional(5), state, batch_first);
  if (kind.recurrence == Recurrence::lstm)
    before.cell = initial(call, call.optional(6), state, batch_first);
  const auto [output, last] = ops::recurrent(call, layers, x, before);

  // Directions are an axis of their own in front of the batch, or, batch first, after the steps.
  Shape shape = output->shape();
  shape.back() = layers.directions;
  shape.push_back(hidden);
  Value* y = call.view(output, shape);
  call.result(batch_first ? y : ops::swap_axes(call, y, 1, 2));
  for (Value* value : {last.hidden, last.cell})
    if (value != nullptr) call.result(batch_first ? ops::swap_axes(call, value, 0, 1) : value);
}

template <const Kind& kind>
void layer(Call& call) {
  recurrent(call, kind);
}

constexpr OpRule kRules[] = {
    {"LSTM", layer<kLstm>},
    {"GRU", layer<kGru>},
    {"RNN", layer<kRnn>},
};

}  // namespace

std::span<const OpRule> recurrent_rules() { return kRules; }

}  // namespace layline::onnx

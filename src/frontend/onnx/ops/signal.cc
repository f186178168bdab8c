// Fourier transforms, and the windows and matrices that go with them.
#include "frontend/ops/signal.h"

#include <cmath>
#include <numbers>

#include "frontend/onnx/ops/rules.h"
#include "frontend/ops/view.h"

namespace layline::onnx {
namespace {

/// The last axis holds a real number, or its real and imaginary part. Up to opset 19 the axis is an
/// attribute.
void dft(Call& call) {
  Value* x = call.input(0);
  const int64_t rank = x->type().rank();
  if (rank < 2) call.fail("takes no {}", to_string(x->type()));
  int64_t axis = call.opset() < 20 ? call.integer("axis", 1) : -2;
  if (call.opset() >= 20 && call.has(2)) axis = call.integer_at(2, "the axis");
  axis = call.axis(axis, rank - 1 + (axis < 0 ? 1 : 0));
  ops::Dft dft;
  dft.inverse = call.flag("inverse", false);
  dft.one_sided = call.flag("onesided", false);
  if (call.has(1)) dft.length = call.integer_at(1, "`dft_length`");
  Value* y = ops::dft(call, ops::move_axes(call, x, {axis}, {rank - 2}), dft);
  call.result(ops::move_axes(call, y, {rank - 2}, {axis}));
}

void stft(Call& call) {
  Value* x = call.input(0);
  if (x->shape().size() == 2) x = call.view(x, {x->shape()[0], x->shape()[1], 1});
  if (x->shape().size() != 3) call.fail("takes no {}", to_string(x->type()));
  Value* window = call.optional(2);
  int64_t length = 0;
  if (call.has(3))
    length = call.integer_at(3, "`frame_length`");
  else if (window != nullptr && is_static(window->shape()))
    length = element_count(window->shape()).value();
  else
    call.fail("has neither a window of fixed length nor `frame_length`");
  call.result(ops::stft(call, x, window, length, call.integer_at(1, "`frame_step`"),
                        call.flag("onesided", true)));
}

/// A sum of cosines: the sum of amplitudes[i] * cos(2 pi i n / length).
Value* cosine_window(const Call& call, std::initializer_list<double> amplitudes) {
  const int64_t size = call.integer_at(0, "the size");
  if (size < 0 || size > 1 << 24) call.fail("has {} elements", size);
  const auto length = static_cast<double>(call.flag("periodic", true) ? size : size - 1);
  Tensor window({call.dtype("output_datatype", DType::f32), {size}});
  for (int64_t n = 0; n < size; ++n) {
    double sum = 0, i = 0;
    for (const double amplitude : amplitudes)
      sum += amplitude * std::cos(2 * std::numbers::pi * i++ * static_cast<double>(n) / length);
    window.set(n, sum);
  }
  return call.constant(window);
}

void hann_window(Call& call) { call.result(cosine_window(call, {0.5, -0.5})); }
void hamming_window(Call& call) { call.result(cosine_window(call, {25. / 46, -21. / 46})); }
void blackman_window(Call& call) { call.result(cosine_window(call, {0.42, -0.5, 0.08})); }

/// The frequencies of a spectrum, spread over triangles that are equally wide on the mel scale.
void mel_weight_matrix(Call& call) {
  const int64_t bands = call.integer_at(0, "`num_mel_bins`");
  const int64_t length = call.integer_at(1, "`dft_length`");
  const auto rate = static_cast<double>(call.integer_at(2, "`sample_rate`"));
  if (bands < 1 || length < 1 || rate <= 0 || bands > 1 << 16 || length > 1 << 16)
    call.fail("has {} bands of {} frequencies", bands, length);
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(call.number_at(3, "`lower_edge_hertz`"));
  const double step =
      (mel(call.number_at(4, "`upper_edge_hertz`")) - low) / static_cast<double>(bands + 2);
  const int64_t rows = length / 2 + 1;
  // The row at which a triangle begins; its peak is where the next begins, its end one further on.
  auto edge = [&](int64_t band) {
    const double hertz = 700 * (std::pow(10, (low + static_cast<double>(band) * step) / 2595) - 1);
    return static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate));
  };
  Tensor weights({call.dtype("output_datatype", DType::f32), {rows, bands}});
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t begin = edge(band), peak = edge(band + 1), end = edge(band + 2);
    if (begin < 0 || peak >= rows || end > rows)
      call.fail("a band ends above half of the sample rate");
    for (int64_t row = begin; row < peak; ++row)
      weights.set(row * bands + band,
                  static_cast<double>(row - begin) / static_cast<double>(peak - begin));
    weights.set(peak * bands + band, 1);
    for (int64_t row = peak + 1; row < end; ++row)
      weights.set(row * bands + band,
                  static_cast<double>(end - row) / static_cast<double>(end - peak));
  }
  call.result(call.constant(weights));
}

constexpr OpRule kRules[] = {
    {"DFT", dft},
    {"STFT", stft},
    {"HannWindow", hann_window},
    {"HammingWindow", hamming_window},
    {"BlackmanWindow", blackman_window},
    {"MelWeightMatrix", mel_weight_matrix},
};

}  // namespace

std::span<const OpRule> signal_rules() { return kRules; }

}  // namespace layline::onnx

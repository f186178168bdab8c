#include "frontend/onnx/ops/axis_samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace layline::onnx {
namespace {

template <typename Choice, size_t count>
Choice choose(const Call& call, std::string_view attribute, std::string_view otherwise,
              const std::pair<std::string_view, Choice> (&choices)[count]) {
  const std::string_view given = call.string(attribute, otherwise);
  for (const auto& [name, choice] : choices)
    if (name == given) return choice;
  call.fail("`{}` is `{}`, which is not supported", attribute, given);
}

/// Computed in single precision, as other runtimes do: rounding decides which element is nearest.
std::optional<float> place(const Sampling& sampling, const ResizedAxis& axis, int64_t element) {
  const auto i = static_cast<float>(element), in = static_cast<float>(axis.in);
  const float out = axis.scale * in;  // before it is rounded to a whole size
  const float centre = (i + 0.5F) / axis.scale - 0.5F;
  switch (sampling.coordinates) {
    case Coordinates::half_pixel:
      return centre;
    case Coordinates::half_pixel_symmetric:
      return in / 2 * (1 - static_cast<float>(axis.out) / out) + centre;
    case Coordinates::pytorch_half_pixel:
      return axis.out > 1 ? centre : 0;
    case Coordinates::align_corners:
      return out == 1 ? 0 : i * (in - 1) / (out - 1);
    case Coordinates::asymmetric:
      return i / axis.scale;
    case Coordinates::crop: {
      const float length = (axis.end - axis.start) * (in - 1);
      const float inside =
          axis.out > 1 ? i * length / static_cast<float>(axis.out - 1) : length / 2;
      const float found = axis.start * (in - 1) + inside;
      if (found < 0 || found > in - 1) return std::nullopt;
      return found;
    }
  }
  return centre;
}

double triangle(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

/// Cubic convolution, Keys 1981.
double cubic(double distance, double a) {
  const double d = std::abs(distance);
  if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

}  // namespace

Sampling read_sampling(const Call& call) {
  static constexpr std::pair<std::string_view, Interpolation> kInterpolations[] = {
      {"nearest", Interpolation::nearest},
      {"linear", Interpolation::linear},
      {"bilinear", Interpolation::linear},
      {"cubic", Interpolation::cubic}};
  static constexpr std::pair<std::string_view, Coordinates> kCoordinates[] = {
      {"half_pixel", Coordinates::half_pixel},
      {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
      {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
      {"align_corners", Coordinates::align_corners},
      {"asymmetric", Coordinates::asymmetric},
      {"tf_crop_and_resize", Coordinates::crop}};
  static constexpr std::pair<std::string_view, Rounding> kRoundings[] = {
      {"round_prefer_floor", Rounding::prefer_floor},
      {"round_prefer_ceil", Rounding::prefer_ceil},
      {"floor", Rounding::floor},
      {"ceil", Rounding::ceil}};
  const bool chooses = call.opset() >= 11;  // before, places are i / scale, rounded down
  Sampling sampling;
  sampling.interpolation = choose(call, "mode", "nearest", kInterpolations);
  sampling.coordinates = choose(call, "coordinate_transformation_mode",
                                chooses ? "half_pixel" : "asymmetric", kCoordinates);
  sampling.rounding =
      choose(call, "nearest_mode", chooses ? "round_prefer_floor" : "floor", kRoundings);
  sampling.cubic = call.number("cubic_coeff_a", -0.75);
  sampling.exclude_outside = call.flag("exclude_outside", false);
  sampling.antialias = call.flag("antialias", false);
  return sampling;
}

std::vector<std::optional<float>> places(const Sampling& sampling, const ResizedAxis& axis) {
  std::vector<std::optional<float>> found;
  for (int64_t i = 0; i < axis.out; ++i) found.push_back(place(sampling, axis, i));
  return found;
}

int64_t nearest(const Sampling& sampling, const ResizedAxis& axis, float place) {
  const float below = std::floor(place), part = place - below;
  bool above = false;
  switch (sampling.rounding) {
    case Rounding::prefer_floor:
      above = part > 0.5F;
      break;
    case Rounding::prefer_ceil:
      above = part >= 0.5F;
      break;
    case Rounding::floor:
      break;
    case Rounding::ceil:
      above = part > 0;
      break;
  }
  return std::clamp<int64_t>(static_cast<int64_t>(below) + (above ? 1 : 0), 0, axis.in - 1);
}

Tensor weights(const Sampling& sampling, const ResizedAxis& axis, DType dtype) {
  const bool is_cubic = sampling.interpolation == Interpolation::cubic;
  const double widen =
      sampling.antialias ? std::max(1.0, 1.0 / static_cast<double>(axis.scale)) : 1;
  const double radius = (is_cubic ? 2 : 1) * widen;
  Tensor matrix({dtype, {axis.out, axis.in}});
  for (int64_t i = 0; i < axis.out; ++i) {
    const std::optional<float> centre = place(sampling, axis, i);
    if (!centre) continue;
    const double at = *centre;
    std::vector<double> row(static_cast<size_t>(axis.in), 0);
    double total = 0;
    for (auto j = static_cast<int64_t>(std::floor(at - radius));
         j <= static_cast<int64_t>(std::ceil(at + radius)); ++j) {
      if (sampling.exclude_outside && (j < 0 || j >= axis.in)) continue;
      const double distance = (static_cast<double>(j) - at) / widen;
      const double weight = is_cubic ? cubic(distance, sampling.cubic) : triangle(distance);
      row[static_cast<size_t>(std::clamp<int64_t>(j, 0, axis.in - 1))] += weight;
      total += weight;
    }
    for (int64_t j = 0; j < axis.in; ++j)
      matrix.set(i * axis.in + j, row[static_cast<size_t>(j)] / total);
  }
  return matrix;
}

}  // namespace layline::onnx

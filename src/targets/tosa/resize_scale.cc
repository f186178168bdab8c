#include "targets/tosa/resize_scale.h"

#include <cmath>
#include <utility>

namespace layline::tosa {
namespace {

struct Fraction {
  int64_t numerator, denominator;
};

/// The simplest fraction that differs so little from `value` that no one of `count` multiples of it
/// is off by more than a millionth; by the convergents of its continued fraction.
std::optional<Fraction> simple_fraction(double value, int64_t count) {
  constexpr int64_t kMost = 2048;
  const double tolerance = 1e-6 / static_cast<double>(count);
  int64_t p = 1, q = 0, last_p = 0, last_q = 1;
  double rest = value;
  for (int i = 0; i < 24; ++i) {
    const double whole = std::floor(rest);
    if (whole > kMost) return std::nullopt;
    const auto a = static_cast<int64_t>(whole);
    const int64_t next_p = a * p + last_p, next_q = a * q + last_q;
    if (next_p > kMost * 16 || next_q > kMost) return std::nullopt;
    last_p = std::exchange(p, next_p);
    last_q = std::exchange(q, next_q);
    if (std::abs(static_cast<double>(p) / static_cast<double>(q) - value) <= tolerance)
      return Fraction{p, q};
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

/// What TOSA 1.0 demands of RESIZE (section 2.11.1 of its specification, level 8K).
bool is_legal(const ResizeScale& scale) {
  constexpr int64_t kMostNumerator = 2048, kMostScale = 256;
  return scale.numerator <= kMostNumerator && scale.denominator > 0 &&
         scale.denominator < 16 * scale.numerator &&
         scale.numerator <= kMostScale * scale.denominator && scale.offset >= -scale.numerator &&
         scale.offset < 16 * scale.numerator && scale.border >= -16 * scale.numerator &&
         scale.border < scale.numerator;
}

}  // namespace

std::optional<ResizeScale> resize_scale(const ResizeAttrs& attrs, size_t axis, int64_t in) {
  const int64_t out = attrs.size[axis].value();
  // A single output stands at the start of the axis, whatever the step.
  const std::optional<Fraction> step =
      out == 1 && attrs.step[axis] == 0 ? Fraction{1, 1} : simple_fraction(attrs.step[axis], out);
  if (!step || step->numerator == 0) return std::nullopt;
  ResizeScale scale{};
  if (attrs.mode == ResizeMode::nearest) {
    // TOSA rounds half up; half an element less makes it torch's floor. Where an element is shown a
    // whole number of times, so does less, which is the form that Vela takes on U55 and U65.
    const int64_t offset = step->numerator == 1 ? 1 - step->denominator : -step->denominator;
    scale = {2 * step->denominator, 2 * step->numerator, offset, 0};
    // torch computes in single precision, and which element is nearest can depend on it.
    for (int64_t i = 0; i < out; ++i)
      if (std::floor(static_cast<float>(i) * static_cast<float>(attrs.step[axis])) !=
          static_cast<float>(i * step->numerator / step->denominator))
        return std::nullopt;
  } else if (attrs.align_corners) {
    scale = {step->denominator, step->numerator, 0, 0};
  } else {
    // (i + 1/2) step - 1/2
    scale = {2 * step->denominator, 2 * step->numerator, step->numerator - step->denominator, 0};
  }
  scale.border = (out - 1) * scale.denominator - (in - 1) * scale.numerator + scale.offset;
  if (!is_legal(scale)) return std::nullopt;
  return scale;
}

}  // namespace layline::tosa

#include "ir/quantised_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/ops/op_rules.h"

namespace layline {

Tensor real_tensor(const Tensor& tensor) {
  if (!tensor.type().quantisation) return tensor;
  return rules::evaluate_dequantize(std::array{tensor}, NoAttrs{}, real_type(tensor.type()));
}

Tensor quantised_tensor(const Tensor& real, const QuantisationRef& quantisation) {
  return rules::evaluate_quantize(std::array{real}, QuantisationAttrs{quantisation},
                                  {quantisation->dtype, real.type().shape, quantisation});
}

namespace {

/// Quantises and dequantises the elements from `begin` to `end` with one scale.
void quantise_group(Tensor& tensor, int64_t begin, int64_t end) {
  constexpr float kMin = -128, kMax = 127;
  float least = 0, greatest = 0;
  for (int64_t i = begin; i < end; ++i) {
    least = std::min(least, static_cast<float>(tensor.get(i)));
    greatest = std::max(greatest, static_cast<float>(tensor.get(i)));
  }
  const float per_unit = least == greatest ? 1 : (kMax - kMin) / (greatest - least);
  const float low = least * per_unit, high = greatest * per_unit;
  const float exact = (kMin + low) + (kMax + high) > 0 ? kMin - low : kMax - high;
  const float zero_point = std::nearbyint(std::clamp(exact, kMin, kMax));
  const float scale = 1 / per_unit;
  for (int64_t i = begin; i < end; ++i) {
    const float integer = std::nearbyint(static_cast<float>(tensor.get(i)) * per_unit) + zero_point;
    tensor.set(i, (std::clamp(integer, kMin, kMax) - zero_point) * scale);
  }
}

}  // namespace

Tensor dynamically_quantised(const Tensor& real, int64_t outer) {
  int64_t groups = 1;
  for (int64_t axis = 0; axis < outer; ++axis) groups *= real.dim(axis);
  Tensor result = real;
  for (int64_t g = 0; g < groups; ++g)
    quantise_group(result, g * (real.count() / groups), (g + 1) * (real.count() / groups));
  return result;
}

}  // namespace layline

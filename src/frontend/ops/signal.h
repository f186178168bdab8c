// Fourier transforms of a fixed length, as products with a constant matrix.
//
// The last axis holds a real number, or its real and imaginary part.
#pragma once

#include <optional>

#include "ir/builder.h"

namespace layline::ops {

struct Dft {
  std::optional<int64_t> length;  // that of the signal if not given: zeros follow, or the rest goes
  bool inverse = false;
  /// Only the first length / 2 + 1 frequencies, which the others follow from if the signal is real.
  /// The inverse gives that real signal.
  bool one_sided = false;
};

/// Transforms the second last axis.
Value* dft(const Builder& build, Value* x, const Dft& how);

/// Transforms pieces of `length` elements, one every `step` elements of x, [batch, elements, 1 or
/// 2], and gives [batch, pieces, frequencies, 2]. The window, [elements], multiplies each piece; it
/// may be null.
Value* stft(const Builder& build, Value* x, Value* window, int64_t length, int64_t step,
            bool one_sided);

}  // namespace layline::ops

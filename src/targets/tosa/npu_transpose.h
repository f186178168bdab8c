// The form in which a relayout is a TRANSPOSE on an NPU: which axes are merged and which are split
// decides whether it runs, and what it costs.
#pragma once

#include <optional>

#include "algebra/relayout.h"
#include "targets/tosa/accelerator.h"

namespace layline::tosa {

/// Nothing if no one TRANSPOSE moves the elements so within the NPU's limits.
std::optional<Relayout::Transpose> npu_transpose(const Relayout& relayout, size_t element_bytes,
                                                 const Accelerator& accelerator);

}  // namespace layline::tosa

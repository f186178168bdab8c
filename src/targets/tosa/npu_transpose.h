// Chooses the form of a relayout's TRANSPOSE on an NPU: which axes are merged and which are split
// decides whether it runs, and what it costs.
#pragma once

#include <optional>

#include "algebra/relayout.h"
#include "targets/tosa/accelerator.h"

namespace layline::tosa {

/// The TRANSPOSE; nothing if no single one moves the elements so within the NPU's limits.
std::optional<Relayout::Transpose> npu_transpose(const Relayout& relayout, size_t element_bytes,
                                                 const Accelerator& accelerator);

}  // namespace layline::tosa

// Loop and Scan as loops in the program.
#pragma once

#include "frontend/onnx/call.h"

namespace layline::onnx {

/// Imports the Loop or Scan as a loop in the program, and says whether it did. It does not where
/// unrolled rounds are better, or where only they can be imported. Refuses the node if the number
/// of rounds is dynamic, so that it cannot be unrolled either.
bool loop_in_program(Call& call);
bool scan_in_program(Call& call, const std::vector<Value*>& state,
                     const std::vector<Value*>& sequences);

}  // namespace layline::onnx

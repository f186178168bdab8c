// How a program is checked against the reference evaluator. Targets compare; what runs the program
// is handed to them, since the compiler links no runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace layline {

/// Runs a method once: its tensors in, its results out, as the format has them. A .pte has both in
/// logical shape, and its states go on from call to call; TOSA has both as they lie in memory.
using RunMethod = std::function<std::vector<Tensor>(std::span<const Tensor> arguments)>;
/// Loads a method of a program that was written.
using LoadMethod =
    std::function<RunMethod(std::span<const std::byte> program, const std::string& method)>;

struct VerifiedMethod {
  std::string name;
  size_t passes = 0;   // runs of passes that changed the graph, each checked
  size_t results = 0;  // checked results of the program
  size_t steps = 0;    // runs of the program: several if it has states
  // Whether quantised numbers were rounded differently and later ops passed that on. Each op of the
  // program was then right for the operands that it had, within a unit.
  bool op_by_op = false;
  int64_t units = 0;  // how far a quantised result is off, while each op is within its limit
};

}  // namespace layline

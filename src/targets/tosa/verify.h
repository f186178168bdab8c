// A TOSA program checked against the reference evaluator, in whatever runs TOSA.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "targets/target.h"

namespace layline::tosa {

/// Target::verify for TOSA. If a quantised output is more than a unit off, the program runs again
/// and shows every result: each op must be right for the operands that it had, within a unit, or
/// within what lines between the entries of a 16-bit table may stray (docs/quantisation.md).
std::vector<VerifiedMethod> verify(std::vector<Graph>& graphs,
                                   std::span<const std::vector<Tensor>> inputs,
                                   const TargetOptions& options, const LoadMethod& load);

}  // namespace layline::tosa

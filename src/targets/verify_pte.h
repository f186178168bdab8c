// A .pte checked on a runtime against the reference evaluator.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "targets/target.h"

namespace layline {

/// Target::verify for a target whose programs run on ExecuTorch. If a quantised output differs, the
/// program runs again and shows every result: each op must be right for the operands that it had,
/// within a unit.
std::vector<VerifiedMethod> verify_pte(std::vector<Graph>& graphs,
                                       std::span<const std::vector<Tensor>> inputs,
                                       const TargetOptions& options, const LoadMethod& load,
                                       decltype(Target::lower) lower);

}  // namespace layline

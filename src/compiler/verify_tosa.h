// The TOSA target checked on one model: every pass against the reference evaluator, and the program
// in whatever runs TOSA.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/verify.h"

namespace layline {

/// Runs a program once: inputs as they lie in memory in, outputs likewise.
using RunTosa = std::function<std::vector<Tensor>(const tosa::Program& program,
                                                  std::span<const Tensor> inputs)>;

/// As verify_model. Where a quantised output is more than a unit off, the program runs again and
/// shows every result: each op must be right for the operands that it had, within a unit, or within
/// what lines between the entries of a 16-bit table may stray (docs/quantisation.md).
VerifiedMethod verify_tosa(const std::string& path, const CompileOptions& options,
                           const std::map<std::string, Tensor>& inputs, const RunTosa& run);

}  // namespace layline

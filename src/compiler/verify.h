// The compiler checked on one model: every pass, and the program that comes out, against the
// reference evaluator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "ir/tensor.h"

namespace layline {

/// Verifies the model on `inputs`, which are given by name and in logical shape; missing ones are
/// made up. Throws InternalError, naming the pass or the program, and the first node that diverges;
/// UserError for what the user can mend.
std::vector<VerifiedMethod> verify_model(const std::string& path, const CompileOptions& options,
                                         const std::map<std::string, Tensor>& inputs,
                                         const LoadMethod& load);

}  // namespace layline

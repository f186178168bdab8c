// The compiler checked on one model: every pass, and the program that comes out, against the
// reference evaluator.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "ir/tensor.h"

namespace layline {

/// Runs a loaded method once: its arguments in, its results out, both in logical shape. States go
/// on from call to call.
using RunMethod = std::function<std::vector<Tensor>(std::span<const Tensor> arguments)>;
using LoadMethod = std::function<RunMethod(const pte::Program& program, const std::string& method)>;

struct VerifiedMethod {
  std::string name;
  size_t passes = 0;   // runs of passes that changed the graph, each checked
  size_t results = 0;  // of the program, checked
  size_t steps = 0;    // runs of the program: several if it has states
  // Numbers that are quantised were rounded otherwise, and ops after that passed it on: each op of
  // the program was right for the operands that it had, within a unit.
  bool op_by_op = false;
  int64_t units = 0;  // by which a quantised result of a TOSA program is off, each op by less
};

/// `inputs` by name, in logical shape; what is not given is made up. Throws InternalError, naming
/// the pass or the program, and the first node that diverges; UserError for what the user can mend.
std::vector<VerifiedMethod> verify_model(const std::string& path, const CompileOptions& options,
                                         const std::map<std::string, Tensor>& inputs,
                                         const LoadMethod& load);

}  // namespace layline

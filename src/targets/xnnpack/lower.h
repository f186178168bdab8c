// Lowers legalised graphs to an ExecuTorch program with XNNPACK delegates.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "pte/program.h"
#include "report/report.h"

namespace layline::xnnpack {

/// One method for each graph. Adds to `report` what the program contains. Throws UserError, naming
/// every node at once, if the runtime has no kernel for something.
///
/// Without `delegate` everything runs on the runtime's own kernels. With `strip` the program does
/// not say where in the model its parts come from. `kernels` names a library of kernels that the
/// program may use, though not every runtime has it.
struct LowerOptions {
  bool delegate = true;
  bool strip = false;
  std::string_view kernels = {};
};
pte::Program lower(const std::vector<Graph>& graphs, Report& report,
                   const LowerOptions& options = {});

}  // namespace layline::xnnpack

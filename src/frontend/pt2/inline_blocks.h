// Blocks of a program that only set a mode of torch: `with torch.no_grad()`, and `torch.autocast`
// where it is off. torch.export keeps them as nested graphs; here they are spliced into the graph
// around them, so that views and writes reach across their borders.
#pragma once

#include "frontend/pt2/exported_program.h"

namespace layline::pt2 {

/// Splices such blocks. Leaves other nested graphs, and blocks that do not have the expected form,
/// unchanged.
ExportedProgram inline_blocks(ExportedProgram program);

}  // namespace layline::pt2

// From a legalised graph to a TOSA program.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "report/report.h"
#include "targets/tosa/accelerator.h"
#include "targets/tosa/program.h"

namespace layline::tosa {

/// TOSA holds one graph: a model with several methods is refused. Adds to `report` what the program
/// contains, and which nodes the NPU cannot run if there is one. Throws UserError, naming every
/// node at once, if TOSA cannot express something.
Program lower(const std::vector<Graph>& graphs, Report& report,
              const Accelerator* accelerator = nullptr);

/// The nodes that the program has operators for: not what the caller does at the boundary, nor what
/// a table holds.
std::unordered_set<const Node*> computed_nodes(const Graph& graph);

}  // namespace layline::tosa

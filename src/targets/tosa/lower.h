// Lowers a legalised graph to a TOSA program.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "report/report.h"
#include "targets/tosa/accelerator.h"
#include "targets/tosa/program.h"

namespace layline::tosa {

/// Lowers the one graph that TOSA can hold; a model with several methods is refused. Adds to
/// `report` what the program contains, and which nodes the NPU, if there is one, cannot run. Throws
/// UserError, naming every node at once, if TOSA cannot express something.
Program lower(const std::vector<Graph>& graphs, Report& report,
              const Accelerator* accelerator = nullptr);

/// The nodes that the program has operators for, without those that the caller does at the boundary
/// or that a table holds.
std::unordered_set<const Node*> computed_nodes(const Graph& graph);

}  // namespace layline::tosa
